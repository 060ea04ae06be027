"""Hints for TypeError: wrong arguments, operands that do not go together, things that are None."""

from __future__ import annotations

import _ast
import builtins
from types import FunctionType, MethodType, ModuleType

from casemate import _look
from casemate._failure import text_of, walk
from casemate._hints_names import none_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any, Optional

    from casemate._failure import Failure

_ARGUMENTS = ("missing", "takes", "unexpected keyword argument", "multiple values for")
_DEPTH_MAX = 6
_JSON_TYPES = (str, int, float, bool, type(None), list, tuple, dict)


def types(failure: Failure) -> Iterator[str]:
    """By what the message says."""
    message = failure.message
    if "()" in message and any(mark in message for mark in _ARGUMENTS):
        yield from _arguments(failure)
    elif "NoneType" in message:
        yield from _none(failure)
        yield from _operands(failure)
    elif "not callable" in message:
        yield from _not_callable(failure)
    elif "not JSON serializable" in message:
        yield from _not_json(failure)
    elif "indices must be" in message or "not subscriptable" in message:
        yield from _indices(failure)
    elif (
        "unsupported operand" in message
        or "can only concatenate" in message
        or "can't multiply" in message
    ):
        yield from _operands(failure)
    elif (
        "not supported between" in message
        or "must be str, not" in message
        or "expected str instance" in message
    ):
        yield from _operands(failure)
        yield from _joined(failure)
    elif "unhashable type" in message:
        yield (
            "a list, dict or set cannot be a key or a member of a set; tuple(...) or frozenset(...) of it can"
        )
    elif "not iterable" in message:
        yield from _not_iterable(failure)


def _known(failure: Failure, node: Optional[_ast.AST]) -> Any:
    try:
        return failure.value(node) if node is not None else _look.Unknown
    except _look.Unknown:
        return _look.Unknown


def _described(failure: Failure, node: _ast.AST) -> str:
    """`text is value (type)` for an operand; "" when neither is known."""
    value, text = _known(failure, node), text_of(node)
    if value is _look.Unknown:
        return ""
    shown = _look.show(value, 80)
    kind = _look.type_name(value)
    return (
        f"{shown} ({kind})"
        if text == shown or not text
        else f"{text} = {shown} ({kind})"
    )


def _arguments(failure: Failure) -> Iterator[str]:
    function = _callee(failure)
    if function is None:
        return
    code, skipped, name = function
    yield f"signature: {signature(code, skipped, name, _defaults.get(id(code), (0, ())))}"
    if "unexpected keyword argument" in failure.message:
        given = failure.message.partition("keyword argument '")[2].partition("'")[0]
        names = code.co_varnames[skipped : code.co_argcount + code.co_kwonlyargcount]
        for candidate in _look.near(given, names):
            yield f"did you mean {candidate!r}?"


_defaults: dict[int, tuple[int, tuple[str, ...]]] = {}


def _callee(failure: Failure) -> Optional[tuple[CodeType, int, str]]:
    """(code, arguments that are bound already, name) of the function that was called wrongly."""
    called = failure.message.partition("()")[0].rpartition(".")[2]
    for node in failure.nodes():
        if not isinstance(node, _ast.Call):
            continue
        value = _known(failure, node.func)
        if value is _look.Unknown and isinstance(node.func, _ast.Attribute):
            value = _method(failure, node.func)
        found = _function_of(value)
        if found is not None and (found[0].__name__ == called or called == "__init__"):
            function, skipped, name = found
            keyword_defaults = tuple(function.__kwdefaults__ or ())
            _defaults[id(function.__code__)] = (
                len(function.__defaults__ or ()),
                keyword_defaults,
            )
            return function.__code__, skipped, name
    return None


def _method(failure: Failure, node: _ast.Attribute) -> Any:
    """A plain function in the class of the object before the dot: looked up, not bound."""
    owner = _known(failure, node.value)
    if owner is _look.Unknown:
        return owner
    is_class = _look.derives(owner, type)
    for base in _look.mro_of(owner if is_class else type(owner)):
        found = _look.dict_of(base).get(node.attr)
        if type(found) is FunctionType:
            return (
                found if is_class else MethodType(found, 0)
            )  # 0 stands for the object.
        if found is not None:
            break
    return _look.Unknown


def _function_of(value: Any) -> Optional[tuple[FunctionType, int, str]]:
    if type(value) is FunctionType:
        return value, 0, value.__name__
    if type(value) is MethodType:
        function = value.__func__
        return (
            (function, 1, function.__name__) if type(function) is FunctionType else None
        )
    if value is not _look.Unknown and _look.derives(value, type):
        for base in _look.mro_of(value):
            found = _look.dict_of(base).get("__init__")
            if type(found) is FunctionType:
                return found, 1, _look.name_of(value)
            if found is not None:
                return None
    return None


def signature(
    code: CodeType, skipped: int, name: str, defaults: tuple[int, tuple[str, ...]]
) -> str:
    """name(a, b=..., *args, c, d=..., **kwargs), from the code object alone."""
    positional = code.co_varnames[: code.co_argcount]
    keyword = code.co_varnames[
        code.co_argcount : code.co_argcount + code.co_kwonlyargcount
    ]
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    parts = []
    for number, argument in enumerate(positional):
        if number >= skipped:
            optional = number >= len(positional) - defaults[0]
            parts.append(f"{argument}=..." if optional else argument)
        if (
            code.co_posonlyargcount
            and number == code.co_posonlyargcount - 1
            and number >= skipped
        ):
            parts.append("/")
    if code.co_flags & 0x04:
        parts.append("*" + rest.pop(0))
    elif keyword:
        parts.append("*")
    parts += [
        f"{argument}=..." if argument in defaults[1] else argument
        for argument in keyword
    ]
    if code.co_flags & 0x08:
        parts.append("**" + rest.pop(0))
    return f"{name}({', '.join(parts)})"


def _none(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        inner: Optional[_ast.AST] = None
        if isinstance(node, (_ast.Subscript, _ast.Attribute)):
            inner = node.value
        elif isinstance(node, (_ast.For, _ast.comprehension)):
            inner = node.iter
        elif isinstance(node, _ast.Call):
            inner = (
                node.func
                if "not callable" in failure.message
                else node.args[0]
                if node.args
                else None
            )
        elif isinstance(node, (_ast.Name, _ast.BinOp)):
            inner = node
        if isinstance(inner, _ast.BinOp):
            inner = next(
                (
                    side
                    for side in (inner.left, inner.right)
                    if _known(failure, side) is None
                ),
                None,
            )
        if inner is None or isinstance(inner, _ast.Constant):
            continue
        value = _known(failure, inner)
        if value is None or (
            value is _look.Unknown
            and isinstance(inner, _ast.Call)
            and not isinstance(node, _ast.Call)
        ):
            if text_of(inner):
                yield f"{text_of(inner)} is None here"
            yield from none_from(failure, inner)
            return


def _not_callable(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if not isinstance(node, _ast.Call):
            continue
        value, text = _known(failure, node.func), text_of(node.func)
        if value is _look.Unknown:
            continue
        if type(value) is ModuleType:
            short = value.__name__.rpartition(".")[2]
            if short in value.__dict__:
                yield f"{text} is a module; did you mean '{text}.{short}'?"
                yield f'did you forget "from {value.__name__} import {short}"?'
            else:
                yield f"{text} is a module, not a function"
        elif isinstance(node.func, _ast.Name) and hasattr(builtins, node.func.id):
            where = failure.assignments(node.func.id)
            at = f" at line {where[-1][0]}" if where else ""
            yield (
                f"{text!r} is a variable of this program{at}, {_look.show(value, 60)}, which hides Python's"
                f" own {text}; rename the variable"
            )
        elif not _look.hasattr_static(type(value), "__call__"):
            yield f"{text or 'it'} is {_look.show(value, 80)} ({_look.type_name(value)})"
            if _look.derives(value, dict) or type(value) in (list, tuple, str):
                yield f"square brackets select: {text}[...]" if text else "square brackets select"
        else:
            continue
        return


def _not_json(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if (
            isinstance(node, _ast.Call)
            and text_of(node.func).rpartition(".")[2] in ("dumps", "dump")
            and node.args
        ):
            path = _odd_path(_known(failure, node.args[0]), "", 0)
            if path:
                yield f"it is at {text_of(node.args[0])}{path}"
    yield "json.dumps(..., default=str) writes what JSON does not have as text"


def _odd_path(value: Any, path: str, depth: int) -> str:
    if value is _look.Unknown or depth > _DEPTH_MAX:
        return ""
    if type(value) not in _JSON_TYPES:
        return path if not _look.derives(value, dict) else ""
    if type(value) is dict:
        items: Any = list(value.items())[:1000]
    elif type(value) in (list, tuple):
        items = list(enumerate(value[:1000]))
    else:
        return ""
    for key, inner in items:
        found = _odd_path(inner, f"{path}[{_look.show(key, 60)}]", depth + 1)
        if found:
            return found
    return ""


def _indices(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if not isinstance(node, _ast.Subscript):
            continue
        value, text = _known(failure, node.value), text_of(node.value)
        index = _known(failure, _look.index_of(node))
        if value is _look.Unknown or (type(value) is dict):
            continue
        name = text or "it"
        if type(value) in (list, tuple):
            yield (
                f"{name} is a {_look.type_name(value)} of {len(value)} items; select one by its number, or"
                " loop over them"
            )
            if value and type(value[0]) is dict:
                yield f"{name}[0] keys present: {_look.show_names(value[0])}"
                if any(_look.equal(index, key) for key in value[0]):
                    yield f"did you mean {name}[0][{_look.show(index, 60)}]?"
        elif type(value) is str:
            yield f"{name} is a str: {_look.show(value)}"
            if value.lstrip()[:1] in ("{", "["):
                yield f"it looks like JSON: json.loads({name}) makes a dict or list of it"
        elif type(value) is FunctionType or _look.derives(value, type):
            yield f"{name} is a function or class; call it with round brackets: {name}(...)"
        elif not _look.hasattr_static(type(value), "__getitem__"):
            yield f"{name} is {_look.show(value)} ({_look.type_name(value)})"
            if type(value) in (set, frozenset):
                yield f"a set has no order; sorted({name}) or list({name}) makes a list"
        else:
            continue
        return


def _operands(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if isinstance(node, _ast.BinOp):
            pair: tuple[_ast.AST, _ast.AST] = (node.left, node.right)
        elif isinstance(node, _ast.Compare) and len(node.comparators) == 1:
            pair = (node.left, node.comparators[0])
        else:
            continue
        yield from _pair(failure, pair)
        return
    statement = failure.statement()
    if isinstance(statement, _ast.AugAssign):
        target = (
            _ast.Name(statement.target.id, _ast.Load())
            if isinstance(statement.target, _ast.Name)
            else statement.target
        )
        yield from _pair(failure, (target, statement.value))


def _pair(failure: Failure, pair: tuple[_ast.AST, _ast.AST]) -> Iterator[str]:
    told = [_described(failure, node) for node in pair]
    if any(told):
        yield "; ".join(
            f"{side}: {text}" for side, text in zip(("left", "right"), told) if text
        )
    message = failure.message
    if "not supported between" in message:
        yield (
            "both sides of a comparison must be of kinds that go together; convert one: int(...), float(...)"
            " or str(...)"
        )
    elif (
        '"int") to str' in message
        or '"float") to str' in message
        or "'str'" in message
        and ("'int'" in message or "'float'" in message)
    ):
        texts = [text_of(node) for node in pair]
        numbers = [
            text
            for text, node in zip(texts, pair)
            if type(_known(failure, node)) in (int, float) and text
        ]
        if numbers:
            yield f"did you mean 'str({numbers[0]})'? (or an f-string)"
        strings = [
            text
            for text, node in zip(texts, pair)
            if _digits(_known(failure, node)) and text
        ]
        if strings:
            yield f"did you mean 'int({strings[0]})'? (its text is a number)"
    elif "Decimal" in message and "float" in message:
        yield "Decimal and float do not mix: Decimal(str(x)) makes a Decimal of a float"


def _digits(value: object) -> bool:
    return type(value) is str and value.strip().lstrip("+-").isdigit()


def _joined(failure: Failure) -> Iterator[str]:
    """`", ".join(numbers)`"""
    for node in failure.nodes():
        if (
            isinstance(node, _ast.Call)
            and isinstance(node.func, _ast.Attribute)
            and node.func.attr == "join"
            and node.args
        ):
            text = text_of(node.args[0])
            value = _known(failure, node.args[0])
            if type(value) in (list, tuple):
                yield f"{text or 'it'} = {_look.show(value)}"
            yield f"join takes texts: map(str, {text or '...'}) makes them"
            return


def _not_iterable(failure: Failure) -> Iterator[str]:
    statement = failure.statement(_ast.For) or failure.statement()
    inner: Optional[_ast.AST] = (
        statement.iter if isinstance(statement, _ast.For) else None
    )
    for node in walk(statement) if inner is None and statement is not None else ():
        if isinstance(node, _ast.comprehension):
            inner = node.iter
            break
    if inner is None:
        return
    value, text = _known(failure, inner), text_of(inner)
    if type(value) is int:
        shown = f"{text} = {value}" if text != str(value) else text
        yield f"{shown or 'it'} is one number; range({text or '...'}) counts up to it"
    elif value is not _look.Unknown:
        yield f"{text or 'it'} is {_look.show(value)} ({_look.type_name(value)})"
