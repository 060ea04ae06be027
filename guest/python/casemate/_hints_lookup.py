"""Hints for KeyError and IndexError: what is there instead."""

from __future__ import annotations

import _ast
import os
import sys
from types import ModuleType

from casemate import _look
from casemate._failure import text_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from casemate._failure import Failure

_REMOVERS = (
    "pop",
    "remove",
    "move_to_end",
)  # methods that raise KeyError for what is not there


def lookup(failure: Failure) -> Iterator[str]:
    """KeyError and IndexError."""
    if failure.derives(IndexError):
        yield from _index(failure)
        return
    arguments = failure.arguments
    key = arguments[0] if arguments else None
    for text, owner in _mappings(failure, key):
        present = _keys_of(owner)
        if present is None or any(_look.equal(key, other) for other in present):
            continue
        label = f"{text} " if text else ""
        noun = "columns" if _is_pandas(owner, "DataFrame") else "keys"
        if not present:
            yield f"{label}is empty: no {noun} are present"
        elif owner is os.environ:
            yield from _environment(key, present)
        else:
            yield f"{label}{noun} present: {_look.show_names(present)}"
            yield from _near_keys(text, key, present, failure.message)
            yield from _records(text, owner, key)
        return


def _mappings(failure: Failure, key: object) -> Iterator[tuple[str, Any]]:
    """(text, value) of what the failing expression looked up in."""
    for node in failure.nodes():
        owner: Optional[_ast.AST] = None
        if isinstance(node, _ast.Subscript) and not isinstance(node.ctx, _ast.Store):
            index = _known(failure, _look.index_of(node))
            if (
                failure.raised_here
                and type(index) in _look.PLAIN
                and index is not None
                and not _look.equal(index, key)
            ):
                continue  # Another lookup of the same line, with a key that is there.
            owner = node.value
        elif isinstance(node, _ast.Call) and isinstance(node.func, _ast.Attribute):
            if node.func.attr in _REMOVERS or not failure.raised_here:
                owner = node.func.value
        if owner is None:
            continue
        # df.loc[...] and df.groupby("x")["y"]: the frame is what the chain begins with.
        while isinstance(owner, (_ast.Attribute, _ast.Call, _ast.Subscript)):
            try:
                yield text_of(owner), failure.value(owner)
                break
            except _look.Unknown:
                inner = owner.func if isinstance(owner, _ast.Call) else owner.value
                if failure.raised_here and not isinstance(owner, _ast.Attribute):
                    break
                owner = inner
        else:
            try:
                yield text_of(owner), failure.value(owner)
            except _look.Unknown:
                yield from _loop_items(failure, owner, key)


def _loop_items(
    failure: Failure, owner: _ast.AST, key: object
) -> Iterator[tuple[str, Any]]:
    """`r` of `[r["k"] for r in rows]`, which no frame shows since 3.12: the first item without the key."""
    statement = failure.statement()
    for node in walk(statement) if statement is not None else ():
        if not isinstance(node, _ast.comprehension) or not isinstance(owner, _ast.Name):
            continue
        if isinstance(node.target, _ast.Name) and node.target.id == owner.id:
            items = _known(failure, node.iter)
            for item in items[:10_000] if type(items) in (list, tuple) else ():
                present = _keys_of(item)
                if present is not None and not any(
                    _look.equal(key, other) for other in present
                ):
                    yield owner.id, item
                    return


def _keys_of(owner: Any) -> Optional[list[object]]:
    if _look.derives(owner, dict):
        return _look.keys(owner)
    if type(owner) in (set, frozenset):
        return (
            sorted(owner, key=repr)[:1000]
            if all(type(x) in _look.PLAIN for x in owner)
            else None
        )
    if owner is os.environ:
        return list(sorted(os.environ))
    if _is_pandas(owner, "DataFrame"):
        return list(owner.columns)[:1000]
    if _is_pandas(owner, "Series"):
        return list(owner.index[:1000])
    return None


def _is_pandas(value: Any, name: str) -> bool:
    """True for pandas' own class, whose properties are pandas' code and not the program's."""
    module = sys.modules.get("pandas")
    return type(module) is ModuleType and type(value) is module.__dict__.get(name)


def _near_keys(
    text: str, key: object, present: list[object], message: str
) -> Iterator[str]:
    wanted = [key]
    if type(key) is not str or any(mark in key for mark in "[]'"):
        # pandas puts several into one text: "['amout'] not in index".
        wanted = [key, *message.split("'")[1::2]]
    for one in wanted:
        if type(one) is str:
            for name in _look.near(one, present)[:2]:
                yield (
                    f"did you mean {name!r}? ({_why(one, name)})"
                    if _why(one, name)
                    else f"did you mean {name!r}?"
                )
        other = _other_type(one, present)
        if other is not None:
            shown = _look.show(other, 60)
            yield (
                f"{shown} ({_look.type_name(other)}) is present; {_look.show(one, 60)} is of type"
                f" {_look.type_name(one)}"
            )
            yield f"did you mean {shown}?"


def _why(wanted: str, name: str) -> str:
    if name.strip() == wanted.strip():
        return "they differ in spaces"
    return "they differ in case" if name.lower() == wanted.lower() else ""


def _other_type(key: object, present: list[object]) -> object:
    """A key that looks the same and is of another type: 1 for "1"."""
    if type(key) not in (int, str):
        return None
    for other in present[:10_000]:
        if (
            type(other) in (int, str)
            and type(other) is not type(key)
            and str(other) == str(key)
        ):
            return other
    return None


def _records(text: str, owner: Any, key: object) -> Iterator[str]:
    """Where the key is one level down: {"data": {"rows": ...}}["rows"]."""
    if not _look.derives(owner, dict) or type(key) not in _look.PLAIN:
        return
    for outer, inner in list(dict.items(owner))[:200]:
        if type(inner) is list and inner and type(inner[0]) is dict:
            inner, where = inner[0], f"[{_look.show(outer, 60)}][0]"
        else:
            where = f"[{_look.show(outer, 60)}]"
        if type(inner) is dict and any(
            _look.equal(key, other) for other in list(inner)[:1000]
        ):
            yield f"{_look.show(key, 60)} is a key of {text or 'the mapping'}{where}"
            return


def _environment(key: object, present: list[object]) -> Iterator[str]:
    yield f"this box has only the environment that the request gave it: {_look.show_names(present)}"
    if type(key) is str:
        for name in _look.near(key, present)[:1]:
            yield f"did you mean {name!r}?"
        yield f"os.environ.get({key!r}) gives None, or a default of yours, where there is no such variable"


def _index(failure: Failure) -> Iterator[str]:
    for node in failure.nodes():
        if isinstance(node, _ast.Subscript):
            owner: _ast.AST = node.value
            index: Optional[_ast.AST] = _look.index_of(node)
        elif (
            isinstance(node, _ast.Call)
            and isinstance(node.func, _ast.Attribute)
            and node.func.attr == "pop"
        ):
            owner, index = node.func.value, node.args[0] if node.args else None
        else:
            continue
        try:
            value = failure.value(owner)
            length = _look.size(value)
        except _look.Unknown:
            continue
        if _look.derives(value, dict):
            continue
        wanted = _known(failure, index)
        if type(wanted) is int and -length <= wanted < length:
            continue
        text = text_of(owner) or f"the {_look.type_name(value)}"
        yield _length(text, value, length, wanted, index)
        if text == "sys.argv":
            yield (
                "no more arguments were given to the program than these; give a default, or pass arguments in"
                " the request"
            )
        elif isinstance(index, _ast.Name) and wanted == length and length:
            yield f"an index runs from 0 to len({text}) - 1, so range(len({text})) reaches them all"
        return


def _known(failure: Failure, node: Optional[_ast.AST]) -> Any:
    try:
        return failure.value(node) if node is not None else None
    except _look.Unknown:
        return None


def _length(
    text: str, value: object, length: int, wanted: object, index: Optional[_ast.AST]
) -> str:
    noun = (
        "characters"
        if type(value) is str
        else "bytes"
        if type(value) is bytes
        else "items"
    )
    if length == 0:
        had = f"{text} is empty"
    else:
        had = f"{text} has {length} {noun if length != 1 else noun[:-1] if noun != 'bytes' else 'byte'}"
    if type(wanted) is not int:
        return had
    shown = text_of(index) if index is not None else ""
    at = f"{shown} = {wanted}" if shown and shown != str(wanted) else str(wanted)
    last = f"; the last index is {length - 1}" if length else ""
    return f"{had}; index {at}{last}"
