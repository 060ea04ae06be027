"""Hints for ValueError, ZeroDivisionError, decimal's signals and failed assertions."""

from __future__ import annotations

import _ast

from casemate import _look
from casemate._failure import text_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from casemate._failure import Failure

_NUMBERS = ("int", "float", "Decimal", "Fraction", "complex")
_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
    "%Y/%m/%d %H:%M:%S", "%H:%M:%S", "%H:%M", "%I:%M %p", "%d/%m/%y", "%m/%d/%y", "%y-%m-%d", "%b %Y",
    "%B %Y", "%Y-%m",
)  # fmt: skip


def values(failure: Failure) -> Iterator[str]:
    """By the class of the exception, then by what its message begins with."""
    message = failure.message
    if failure.derives(ZeroDivisionError) or _look.type_name(failure.error) in (
        "DivisionByZero",
        "DivisionUndefined",
    ):
        yield from _zero(failure)
    elif failure.derives(AssertionError):
        yield from _assertion(failure)
    elif (
        "ConversionSyntax" in message
        or "invalid literal for" in message
        or message.startswith("could not convert string")
    ):
        yield from _number(failure)
    elif message.startswith("time data ") or "unconverted data remains" in message:
        yield from _date(failure)
    elif "to unpack" in message:
        yield from _unpack(failure)
    elif (
        message.endswith("is not in list")
        or "not in list" in message
        or "substring not found" in message
    ):
        yield from _not_in(failure)
    elif any(
        mark in message
        for mark in (
            "empty sequence",
            "empty iterable",
            "arg is empty",
            "argument is empty",
        )
    ):
        yield from _empty(failure)


def _known(failure: Failure, node: Optional[_ast.AST]) -> Any:
    """The value of an expression, or Unknown itself where it cannot be had."""
    try:
        return failure.value(node) if node is not None else _look.Unknown
    except _look.Unknown:
        return _look.Unknown


def named_values(failure: Failure, node: _ast.AST, count: int = 6) -> Iterator[str]:
    """`name = value` for the names and subscripts in an expression."""
    seen: set[str] = set()
    for inner in walk(node):
        if (
            isinstance(inner, (_ast.Name, _ast.Attribute, _ast.Subscript))
            and len(seen) < count
        ):
            text, value = text_of(inner), _known(failure, inner)
            if (
                text
                and text not in seen
                and value is not _look.Unknown
                and not callable_or_module(value)
            ):
                seen.add(text)
                yield f"{text} = {_look.show(value)}"


def callable_or_module(value: object) -> bool:
    """Functions, classes and modules: what nobody wants to see the value of."""
    return _look.type_name(value) in (
        "module",
        "function",
        "builtin_function_or_method",
        "type",
        "method",
        "ABCMeta",
        "EnumMeta",
        "EnumType",
    )


def _zero(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if isinstance(node, _ast.BinOp) and isinstance(
            node.op, (_ast.Div, _ast.FloorDiv, _ast.Mod)
        ):
            divisor: _ast.AST = node.right
        elif isinstance(node, _ast.AugAssign) and isinstance(
            node.op, (_ast.Div, _ast.FloorDiv, _ast.Mod)
        ):
            divisor = node.value
        elif (
            isinstance(node, _ast.Call)
            and isinstance(node.func, _ast.Name)
            and node.func.id == "divmod"
            and len(node.args) == 2
        ):
            divisor = node.args[1]
        else:
            continue
        value = _known(failure, divisor)
        if value is not _look.Unknown and (
            type(value) not in (int, float, bool) or value != 0
        ):
            continue
        text = text_of(divisor)
        if text and text != "0":
            yield f"the divisor {text} is 0"
        yield from (
            told for told in named_values(failure, divisor) if told != f"{text} = 0"
        )
        for inner in walk(divisor):
            if (
                isinstance(inner, _ast.Call)
                and text_of(inner.func) in ("len", "sum")
                and inner.args
            ):
                argument = _known(failure, inner.args[0])
                if argument is not _look.Unknown and _has_size(argument) == 0:
                    yield f"{text_of(inner.args[0])} is empty"
        return


def _has_size(value: object) -> int:
    try:
        return _look.size(value)
    except _look.Unknown:
        return -1


def _assertion(failure: Failure) -> Iterator[str]:
    statement = failure.statement()
    if isinstance(statement, _ast.Assert):
        shown = [text for text in named_values(failure, statement.test)]
        if shown:
            yield "where " + ", ".join(shown)


def _number(failure: Failure) -> Iterator[str]:
    text: Any = None
    for node in failure.nodes():
        if (
            isinstance(node, _ast.Call)
            and text_of(node.func).rpartition(".")[2] in _NUMBERS
            and node.args
        ):
            value = _known(failure, node.args[0])
            if type(value) is str:
                text = value
                shown = text_of(node.args[0])
                if shown and shown != _look.show(value):
                    yield f"{shown} = {_look.show(value)}"
                break
    if text is None:
        # int() and float() put the repr of what they were given at the end of the message.
        quoted = failure.message.partition(": ")[2]
        text = (
            quoted[1:-1]
            if len(quoted) >= 2 and quoted[0] == quoted[-1] and quoted[0] in "'\""
            else None
        )
    if type(text) is str:
        yield from _number_advice(failure, text)


def _number_advice(failure: Failure, text: str) -> Iterator[str]:
    stripped = text.strip()
    if not stripped:
        yield "the text is empty; decide what an absent number means, such as 0, or skip it"
        return
    if stripped.lower() in (
        "n/a",
        "na",
        "null",
        "none",
        "nan",
        "-",
        "--",
        "?",
        "unknown",
    ):
        yield f"{stripped!r} stands for an absent number; test for it first"
        return
    bare = (
        stripped.strip("$\u20ac\u00a3\u00a5 %")
        .replace("_", "")
        .replace("'", "")
        .replace(" ", "")
        .replace("\u00a0", "")
    )
    bare = (
        bare.removeprefix("USD")
        .removeprefix("EUR")
        .removesuffix("USD")
        .removesuffix("EUR")
    )
    if _is_float(stripped) and "int()" in failure.message:
        yield (
            f"{stripped!r} has a fraction: int(float({stripped!r})) or round(float({stripped!r})) makes it"
            " whole"
        )
    elif _is_float(bare.replace(",", "")) and bare != text:
        removed = "".join(sorted(set(text) - set(bare.replace(",", ""))))
        yield f"without {removed!r} it is {bare.replace(',', '')!r}, a number"
    elif _is_float(bare.replace(",", "")):
        yield f"the text has commas: text.replace(',', '') is {bare.replace(',', '')!r}, a number"
    elif _is_float(bare.replace(".", "").replace(",", ".")):
        yield f"the text has a decimal comma: with a point it is {bare.replace('.', '').replace(',', '.')!r}"
    elif len(stripped) > 2 and stripped[:2].lower() in ("0x", "0b", "0o"):
        yield f"int(text, {dict(x=16, b=2, o=8)[stripped[1].lower()]}) reads that prefix"


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _date(failure: Failure) -> Iterator[str]:
    # "time data '01/02/2024' does not match format '%Y-%m-%d'"
    text = (
        failure.message.split("'")[1]
        if failure.message.startswith("time data '")
        else ""
    )
    for node in failure.nodes() if not text else ():
        if (
            isinstance(node, _ast.Call)
            and text_of(node.func).endswith("strptime")
            and node.args
        ):
            value = _known(failure, node.args[0])
            text = value if type(value) is str else ""
            break
    if not text or len(text) > 100:
        return
    from _strptime import _strptime  # Loaded already: it raised the exception.

    fits = []
    for form in _DATES:
        try:
            _strptime(text, form)
            fits.append(form)
        except (ValueError, KeyError):
            continue
    if fits:
        yield f"{text!r} fits {fits[0]!r}" + (
            f", and also {', '.join(map(repr, fits[1:4]))}" if fits[1:] else ""
        )


def _unpack(failure: Failure) -> Iterator[str]:
    statement = failure.statement(_ast.Assign, _ast.For, _ast.AsyncFor)
    value: Any = _look.Unknown
    text = ""
    if isinstance(statement, _ast.Assign):
        value, text = _known(failure, statement.value), text_of(statement.value)
    elif isinstance(statement, (_ast.For, _ast.AsyncFor)):
        whole = _known(failure, statement.iter)
        text = text_of(statement.iter)
        if _look.derives(whole, dict):
            yield f"a loop over {text or 'a dict'} gives its keys; {text or 'the dict'}.items() gives pairs"
            return
        if type(whole) in (list, tuple) and whole:
            wanted = (
                len(statement.target.elts)
                if isinstance(statement.target, _ast.Tuple)
                else 0
            )
            odd = [item for item in whole[:10_000] if _has_size(item) != wanted]
            if odd:
                value, text = odd[0], f"an item of {text}" if text else "an item"
    if value is not _look.Unknown and _has_size(value) >= 0:
        yield f"{text or 'the value'} has {_has_size(value)} items: {_look.show(value)}"


def _not_in(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if (
            isinstance(node, _ast.Call)
            and isinstance(node.func, _ast.Attribute)
            and node.func.attr in ("index", "remove", "rindex")
        ):
            owner = _known(failure, node.func.value)
            wanted = _known(failure, node.args[0]) if node.args else _look.Unknown
            text = text_of(node.func.value)
            if type(owner) in (list, tuple):
                yield f"{text or 'the list'} holds: {_look.show_names(owner)}"
                if type(wanted) is str:
                    for name in _look.near(wanted, owner):
                        yield f"did you mean {name!r}?"
            elif type(owner) is str:
                yield f"{text or 'the text'} is {_look.show(owner)}"
            return


def _empty(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if isinstance(node, _ast.Call) and node.args:
            value = _known(failure, node.args[0])
            if value is not _look.Unknown and _has_size(value) == 0:
                text = text_of(node.args[0])
                yield f"{text or 'what it was given'} is empty; test for that first, or give a default"
                if text_of(node.func) in ("max", "min"):
                    yield f"{text_of(node.func)}({text or '...'}, default=0) returns the default then"
                return
