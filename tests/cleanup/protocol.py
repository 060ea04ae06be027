"""The warden's protocol as Python structures, read from its header, so that the two cannot drift apart.

`structures()` has a ctypes.Structure per struct of src/frame/warden.h, `types()` and `causes()` the
numbers of its enumerations, `stages()` the steps of src/jail/stage.h in order (1 is the first).
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MAGIC = 0x43534D31

_SCALARS: dict[str, Any] = {
    "std::int32_t": ctypes.c_int32, "std::uint32_t": ctypes.c_uint32,
    "std::uint64_t": ctypes.c_uint64,
    "EndCause": ctypes.c_uint32,
    "Rung": ctypes.c_uint32,
    "WardenType": ctypes.c_uint32,
}
_MEMBER = re.compile(
    r"^  (?P<type>[A-Za-z_:0-9]+|std::array<char, (?P<count>\w+)>) (?P<name>\w+)(?:\{.*\}|(?: = [^;]+))?;", re.MULTILINE
)


def _header() -> str:
    return "".join((ROOT / "src" / "frame" / name).read_text() for name in ("message.h", "warden.h", "nest.h"))


@cache
def sizes() -> dict[str, int]:
    """The sizes that the header gives names, kStringsSize for example."""
    found = re.findall(r"^inline constexpr std::size_t (\w+) = (\d+)(?: << (\d+))?;", _header(), re.MULTILINE)
    return {name: int(number) << int(shift or 0) for name, number, shift in found}


def _size(name: str) -> int:
    """The value of a size constant: a number, or a number shifted."""
    if name.isdigit():
        return int(name)
    match = re.search(rf"constexpr std::size_t {name} = (\d+)(?: << (\d+))?;", _header())
    assert match, f"warden.h has no size {name}"
    return int(match[1]) << int(match[2] or 0)


def _enumeration(name: str) -> dict[str, int]:
    """The members of an enumeration that gives every number."""
    body = re.search(rf"enum class {name} : std::uint32_t \{{(.*?)\}};", _header(), re.DOTALL)
    assert body, f"warden.h has no enumeration {name}"
    return {match[1]: int(match[2]) for match in re.finditer(r"(k\w+) = (\d+),", body[1])}


@cache
def types() -> dict[str, int]:
    """Message types by name, kHello for example."""
    return _enumeration("WardenType")


@cache
def causes() -> dict[str, int]:
    """How a box ended, kProgram for example."""
    return _enumeration("EndCause")


@cache
def _stage_lines() -> list[tuple[str, str]]:
    text = (ROOT / "src" / "jail" / "stage.h").read_text()
    lines = re.findall(r"^  X\((k\w+), \"(.*?)\"\)", text, re.MULTILINE)
    assert len(lines) > 40 and len({name for name, _ in lines}) == len(lines), lines
    return lines


def stages() -> list[str]:
    """The names of the steps of making a box; the number of a step is its place, from 1."""
    return [name for name, _ in _stage_lines()]


def stage_texts() -> list[str]:
    """What each step is called in messages."""
    return [text for _, text in _stage_lines()]


@cache
def structures() -> dict[str, type[ctypes.Structure]]:
    """The structures by name. Each is packed as the compiler packs it: natural alignment."""
    found: dict[str, type[ctypes.Structure]] = {}
    for struct in re.finditer(r"^struct (\w+) \{\n(.*?)^\};", _header(), re.MULTILINE | re.DOTALL):
        fields: list[tuple[str, Any]] = []
        for member in _MEMBER.finditer(struct[2]):
            kind = member["type"]
            if member["count"]:
                count = sizes().get(member["count"]) or int(member["count"])
                fields.append((member["name"], ctypes.c_char * count))
            else:
                fields.append((member["name"], _SCALARS.get(kind) or found[kind]))
        lines = [line for line in struct[2].splitlines() if ";" in line.split("//")[0]]
        assert len(lines) == len(fields), f"a member of {struct[1]} was not understood: {lines}"
        found[struct[1]] = type(struct[1], (ctypes.Structure,), {"_fields_": fields})
    assert {"WardenHeader", "MakeBox", "Hello", "BoxEnded", "BoxGone"} <= set(found)
    assert ctypes.sizeof(found["WardenHeader"]) == 16
    return found


def message(name: str, box: int, **values: Any) -> ctypes.Structure:
    """A structure with its header filled in; the type is the structure's name with a k before it."""
    made = structures()[name]()
    made.header.magic = MAGIC
    made.header.type = types()["k" + name]
    made.header.box = box
    for field, value in values.items():
        if isinstance(value, bytes):
            # ctypes would stop at the first NUL.
            place = getattr(structures()[name], field)
            assert len(value) < place.size, field
            ctypes.memmove(ctypes.addressof(made) + place.offset, value, len(value))
        else:
            setattr(made, field, value)
    return made


def parse(data: bytes) -> tuple[str, Any]:
    """The structure that a message holds, with its name. Its size must be exactly the structure's."""
    header = structures()["WardenHeader"].from_buffer_copy(data[:16])
    assert header.magic == MAGIC, f"a message without the warden's magic: {data[:16]!r}"
    names = {number: kind.removeprefix("k") for kind, number in types().items()}
    name = names[header.type]
    assert len(data) == ctypes.sizeof(structures()[name]), f"{name} has {len(data)} bytes"
    return name, structures()[name].from_buffer_copy(data)


def shown(value: ctypes.Structure) -> dict[str, Any]:
    """The members of a message, for a failing test."""
    return {field[0]: getattr(value, field[0]) for field in value._fields_[1:]}
