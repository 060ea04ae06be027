"""Looking at the objects of a failed program without running any of its code.

A program may be hostile, or just odd: a __repr__, __getattr__, __eq__, property or metaclass of its
own may raise, hang or lie. So values are found through dictionaries and type slots alone, shown only
when they are of an exact builtin type, and compared only with keys of the same exact builtin type.
"""

from __future__ import annotations

import _ast
from types import FrameType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

TEXT_MAX = 120  # characters that one shown value may have
ITEMS_MAX = 24  # items that one shown container may have
_DEPTH_MAX = 3
_SCAN_MAX = 100_000  # keys that are compared with a missing one
_STEPS_MAX = 60  # nodes of one expression

PLAIN = (int, float, bool, str, bytes, type(None), complex)

# The descriptors of type and of modules themselves: a metaclass or a subclass cannot come between.
_of_type: Any = vars(type)
name_of: Callable[[type], str] = _of_type["__name__"].__get__
mro_of: Callable[[type], tuple[type, ...]] = _of_type["__mro__"].__get__
dict_of: Callable[[type], Mapping[str, Any]] = _of_type["__dict__"].__get__
module_dict: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)[
    "__dict__"
].__get__
MISSING: Any = object()


class Unknown(Exception):
    """The value cannot be had without running code of the program."""


def type_name(value: object) -> str:
    """The name of the value's class, as the class has it; no metaclass is asked."""
    return str(name_of(type(value)))


def class_name(kind: type) -> str:
    """The same for a class, with its module unless that is builtins or __main__."""
    module = module_of(kind)
    name = _of_type["__qualname__"].__get__(kind)
    if module not in ("", "builtins", "__main__"):
        return f"{module}.{name}"
    return str(name)


def module_of(kind: type) -> str:
    """The name of the module that a class says it is of; "" when that is no str."""
    try:
        module = _of_type["__module__"].__get__(kind)
    except Exception:
        return ""
    return module if type(module) is str else ""


def derives(value: object, kind: type) -> bool:
    """isinstance() by the real class. isinstance() itself asks for __class__, which may be a property
    of the program, unless the real class already says yes."""
    return any(base is kind for base in mro_of(type(value)))


def show(value: object, size: int = TEXT_MAX) -> str:
    """The value on one line of at most `size` characters: a repr if that is safe, else the class."""
    return one_line(_shown(value, 0), size)


def _shown(value: object, depth: int) -> str:
    kind = type(value)
    if kind is str or kind is bytes:
        text = value if len(value) <= TEXT_MAX * 2 else value[: TEXT_MAX * 2]  # type: ignore[arg-type,index]
        return repr(text)
    if kind is int:
        bits = int.bit_length(value)  # type: ignore[arg-type]
        return repr(value) if bits < 1000 else f"<int of {bits} bits>"
    if kind in PLAIN:
        return repr(value)
    if kind in (list, tuple, set, frozenset, dict):
        return _shown_items(value, depth)
    if kind is range:
        return repr(value)
    return f"<{type_name(value)}>"


def _shown_items(value: Any, depth: int) -> str:
    kind = type(value)
    ends = "[]" if kind is list else "()" if kind is tuple else "{}"
    if not value:
        return "set()" if kind is set else "frozenset()" if kind is frozenset else ends
    if depth >= _DEPTH_MAX:
        return f"{ends[0]}...{ends[1]}"
    shown: list[str] = []
    for item in value.items() if kind is dict else value:
        if len(shown) >= ITEMS_MAX:
            shown.append(f"... {len(value) - ITEMS_MAX} more")
            break
        if kind is dict:
            shown.append(f"{_shown(item[0], depth + 1)}: {_shown(item[1], depth + 1)}")
        else:
            shown.append(_shown(item, depth + 1))
    comma = "," if kind is tuple and len(value) == 1 else ""
    return f"{ends[0]}{', '.join(shown)}{comma}{ends[1]}"


def show_names(names: Iterable[object], size: int = 360) -> str:
    """A list of values, cut after whole items to about `size` characters: ['a', 'b', ... 7 more]."""
    shown: list[str] = []
    left = size
    total = 0
    for name in names:
        total += 1
        if left > 0:
            text = show(name, 60)
            left -= len(text) + 2
            if left > 0:
                shown.append(text)
        if total >= _SCAN_MAX:
            break
    if total > len(shown):
        shown.append(f"... {total - len(shown)} more")
    return f"[{', '.join(shown)}]"


def one_line(text: str, size: int) -> str:
    """At most `size` characters on one line: what is not printable becomes an escape."""
    cut = text[: size + 1]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)
    return cut if len(cut) <= size else cut[: size - 3] + "..."


def equal(one: object, other: object) -> bool:
    """== for two values of the same exact builtin type; False for all others."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in PLAIN:
        return bool(one == other)
    if kind is tuple:
        first: Any = one
        second: Any = other
        return len(first) == len(second) and all(map(equal, first, second))
    return False


def keys(mapping: object) -> list[object]:
    """The keys of a dict or of a subclass, by dict's own iteration. Raises Unknown for others."""
    if not derives(mapping, dict):
        raise Unknown
    items: list[object] = list(dict.keys(mapping))  # type: ignore[arg-type]
    return items[:_SCAN_MAX]


def item(container: Any, key: object) -> Any:
    """container[key] for builtin containers. Raises Unknown when there is none or code would run."""
    kind = type(container)
    if kind in (list, tuple, str, bytes, range) and type(key) is int:
        if -len(container) <= key < len(container):
            return container[key]
    elif derives(container, dict):
        for found, value in list(dict.items(container))[:_SCAN_MAX]:
            if equal(found, key):
                return value
    raise Unknown


def attribute(owner: Any, name: str) -> Any:
    """owner.name where that is a plain entry of a module, an instance or a class. Raises Unknown."""
    if type(owner) is ModuleType:
        value = module_dict(owner).get(name, MISSING)
    elif derives(owner, type) and isinstance(owner, type):
        value = _in_classes(owner, name)
    else:
        if hasattr_static(type(owner), name, data_only=True):
            raise Unknown
        value = instance_dict(owner).get(name, MISSING)
        if value is MISSING:
            value = _in_classes(type(owner), name)
    if value is MISSING:
        raise Unknown
    return value


def _in_classes(kind: type, name: str) -> Any:
    for base in mro_of(kind):
        if name in dict_of(base):
            value = dict_of(base)[name]
            # Anything with __get__ would be bound or computed: the program's code, or not the value.
            if any("__get__" in dict_of(above) for above in mro_of(type(value))):
                raise Unknown
            return value
    return MISSING


def hasattr_static(kind: type, name: str, data_only: bool = False) -> bool:
    """Whether a class of the mro defines `name`; with data_only, as something that has __set__."""
    for base in mro_of(kind):
        if name in dict_of(base):
            value = dict_of(base)[name]
            return not data_only or any(
                "__set__" in dict_of(above) for above in mro_of(type(value))
            )
    return False


def instance_dict(owner: object) -> dict[str, Any]:
    """The instance's own dictionary; empty when it has none, or one that is not Python's own."""
    for base in mro_of(type(owner)):
        slot = dict_of(base).get("__dict__")
        if slot is not None:
            if type(slot).__name__ != "getset_descriptor":
                return {}
            try:
                found = slot.__get__(owner)
            except Exception:
                return {}
            return found if type(found) is dict else {}
    return {}


def attribute_names(owner: object) -> list[str]:
    """What dir() would say, without calling __dir__ or __getattr__."""
    names: dict[str, None] = {}
    if type(owner) is ModuleType:
        names.update(dict.fromkeys(module_dict(owner)))
    else:
        names.update(dict.fromkeys(instance_dict(owner)))
        kinds = [*mro_of(type(owner))]
        if derives(owner, type) and isinstance(owner, type):
            kinds = [*mro_of(owner), *kinds]
        for base in kinds:
            names.update(dict.fromkeys(dict_of(base)))
    return [name for name in names if type(name) is str][:5000]


def size(value: Any) -> int:
    """len() of a builtin container or of a subclass, by the builtin's own. Raises Unknown."""
    for kind in (list, tuple, dict, str, bytes, bytearray, set, frozenset, range):
        if derives(value, kind):
            return int(kind.__len__(value))  # type: ignore[attr-defined]
    raise Unknown


def _plain(space: Any) -> dict[str, Any]:
    """A namespace as a dict: exec() and metaclasses may bring one of the program's own making."""
    if type(space) is dict:
        return space
    if derives(space, dict):
        return dict(dict.items(space))
    # Since 3.13, what f_locals of a function gives.
    return dict(space) if type(space).__name__ == "FrameLocalsProxy" else {}


class Scope:
    """The names that a frame sees, and what expressions of them are worth."""

    def __init__(self, frame: FrameType) -> None:
        self.locals = _plain(frame.f_locals)
        self.globals = _plain(frame.f_globals)
        self.builtins = _plain(frame.f_builtins)

    def names(self) -> list[str]:
        """All of them, the nearest scope first."""
        found = {**self.locals, **self.globals, **self.builtins}
        return [name for name in found if type(name) is str]

    def lookup(self, name: str) -> Any:
        """The value of a name. Raises Unknown."""
        for space in (self.locals, self.globals, self.builtins):
            if name in space:
                return space[name]
        raise Unknown

    def value(self, node: _ast.AST, steps: list[int] | None = None) -> Any:
        """What an expression is worth, if no code of the program runs for it. Raises Unknown."""
        steps = [0] if steps is None else steps
        steps[0] += 1
        if steps[0] > _STEPS_MAX:
            raise Unknown
        if isinstance(node, _ast.Constant):
            return node.value
        if isinstance(node, _ast.Name):
            return self.lookup(node.id)
        if isinstance(node, _ast.Attribute):
            return attribute(self.value(node.value, steps), node.attr)
        if isinstance(node, _ast.Subscript):
            return item(
                self.value(node.value, steps), self.value(index_of(node), steps)
            )
        if isinstance(node, _ast.Tuple):
            return tuple([self.value(element, steps) for element in node.elts])
        if isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub):
            return -_small(self.value(node.operand, steps))
        if isinstance(node, _ast.BinOp) and isinstance(
            node.op, (_ast.Add, _ast.Sub, _ast.Mult)
        ):
            left, right = _small(self.value(node.left, steps)), _small(
                self.value(node.right, steps)
            )
            if isinstance(node.op, _ast.Add):
                return left + right
            return left - right if isinstance(node.op, _ast.Sub) else left * right
        if (
            isinstance(node, _ast.Call)
            and isinstance(node.func, _ast.Name)
            and len(node.args) == 1
        ):
            # Not a call of the program's code: the builtin len of a builtin container.
            if self.lookup(node.func.id) is len and not node.keywords:
                return size(self.value(node.args[0], steps))
        raise Unknown


def _small(value: object) -> int:
    if type(value) is int and int.bit_length(value) <= 64:
        return value
    raise Unknown


def index_of(node: _ast.Subscript) -> _ast.AST:
    """The expression in the brackets; Python 3.8's wrapper no longer exists in 3.9."""
    return node.slice


def near(word: str, candidates: Iterable[object], count: int = 3) -> list[str]:
    """The candidates that a slip of the hand or of the memory could have turned into `word`."""
    scored: list[tuple[float, str]] = []
    for number, candidate in enumerate(candidates):
        if number >= 20_000:
            break
        if type(candidate) is not str or not candidate or candidate == word:
            continue
        score = _distance(word, candidate)
        if score <= max(len(word), len(candidate)) / 3.0 or score < 0.5:
            scored.append((score, candidate))
    scored.sort(key=lambda pair: pair[0])
    best = scored[:count]
    # One that is much nearer than the others is the answer.
    return [text for score, text in best if score <= best[0][0] + 1.0]


def _distance(one: str, other: str) -> float:
    """Edits between two words, at most 40 characters of each; case, _ and spaces are cheap."""
    if abs(len(one) - len(other)) > max(len(one), len(other)) / 3.0 + 1:
        return 100.0
    one, other = one[:40], other[:40]
    if _squeezed(one) == _squeezed(other):
        return 0.25
    one, other = one.lower(), other.lower()
    before: list[float] = []
    row = [float(i) for i in range(len(other) + 1)]
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [float(i)]
        for j, b in enumerate(other, 1):
            cost = 0.0 if a == b else 1.0
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + cost)
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def _squeezed(word: str) -> str:
    return word.lower().replace("_", "").replace(" ", "").replace("-", "")
