"""Hostile guests as files: what the header of each says, and the walls by name.

    # guest: what it is, in a few words
    # source: the CVE, the row or the report that it comes from
    # attacks: what it is after
    # walls: the walls that stop it, each alone; none where no switch turns its wall off. Landlock@6 is one
    #   that stops it where the kernel has at least that ABI of Landlock
    # also: walls that are off in every run with walls off, because they do not stand without one of these
    # observer: the name in the package `observers` of what looks from outside
    # oracle: what that sees when the attack works
    # status: what the outcome's status is when it is contained
    # credit: a regular expression that the outcome then has to match
    # options: more arguments for `casemate run`
    # open: why nothing here can contain it; a hole that is known
    # needs: capabilities of the harness without which it cannot be shown
    # note: what else a reader should know

A field may go on over further lines that start with `#   `.
"""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GUESTS = HERE / "guests"
_CAPABILITIES = {"CAP_SYS_RESOURCE": 24}
_REQUIRED = ("guest", "source", "attacks", "walls", "observer", "oracle", "status")
_FIELDS = (*_REQUIRED, "also", "open", "credit", "options", "needs", "note")


def wall_names() -> list[str]:
    """The walls of frame::Wall in their order: the index is the bit."""
    header = HERE.parents[1] / "src/frame/warden.h"
    body = re.search(r"enum class Wall : std::uint32_t \{(.*?)\};", header.read_text(), re.DOTALL)
    assert body, f"no enum Wall in {header}"
    names = re.findall(r"^\s*k(\w+),", body.group(1), re.MULTILINE)
    assert names[-1] == "Count", names
    return names[:-1]


def bits_of(walls: list[str] | tuple[str, ...]) -> int:
    """The argument of --test-walls-off for these walls."""
    order = wall_names()
    return sum(1 << order.index(wall) for wall in walls)


@dataclass(frozen=True)
class Guest:
    """One hostile guest."""

    name: str
    path: Path
    guest: str
    source: str
    attacks: str
    walls: tuple[str, ...]
    observer: str
    oracle: str
    status: str
    also: tuple[str, ...] = ()
    open: str = ""
    credit: str = ""
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    note: str = ""


@functools.cache
def landlock_abi() -> int:
    """The ABI of this kernel's Landlock; negative where there is none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))


def _there(wall: str) -> str:
    """The name of a wall; empty where this kernel's Landlock is too old for it."""
    name, _, abi = wall.partition("@")
    return name if not abi or landlock_abi() >= int(abi) else ""


def absent(needs: tuple[str, ...]) -> list[str]:
    """Those of these capabilities that this process does not have."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    held = int(found.group(1), 16) if found else 0
    return [name for name in needs if not held >> _CAPABILITIES[name] & 1]


def read_guest(path: Path) -> Guest:
    """Reads a guest's header. Raises AssertionError for one that lacks a field."""
    fields: dict[str, str] = {}
    last = ""
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        match = re.match(r"# ([a-z]+): (.*)", line)
        if match and match.group(1) in _FIELDS:
            last = match.group(1)
            fields[last] = match.group(2).strip()
        elif last and line.startswith("#   "):
            fields[last] += " " + line[4:].strip()

    def words(name: str) -> tuple[str, ...]:
        return tuple(word for word in re.split(r"[,\s]+", fields.get(name, "")) if word and word != "none")

    missing = [name for name in _REQUIRED if not fields.get(name)]
    assert not missing, f"{path.name}: its header lacks {missing}"
    return Guest(
        name=path.stem,
        path=path,
        guest=fields["guest"],
        source=fields["source"],
        attacks=fields["attacks"],
        walls=tuple(filter(None, map(_there, words("walls")))),
        observer=fields["observer"],
        oracle=fields["oracle"],
        status=fields["status"],
        also=words("also"),
        open=fields.get("open", ""),
        credit=fields.get("credit", ""),
        options=tuple(fields.get("options", "").split()),
        needs=words("needs"),
        note=fields.get("note", ""),
    )


def all_guests() -> list[Guest]:
    """Every guest, by name."""
    return [read_guest(path) for path in sorted(GUESTS.glob("*.py"))]
