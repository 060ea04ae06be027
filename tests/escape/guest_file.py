"""Hostile guests as files: what the header of each says, and the walls by name.

    # guest: what it is, in a few words
    # source: the CVE, the row or the report that it comes from
    # attacks: what it is after
    # walls: the walls that stop it, each alone; none where no switch turns its wall off. Landlock@6 is one
    #   that stops it where the kernel has at least that ABI of Landlock, Landlock@device one where Landlock
    #   takes a whiteout (mknod of 0:0) for a device, and @cold and @hot
    #   one that does so in cold boxes, or in slots, alone
    # also: walls that are off in every run with walls off, because they do not stand without one of these
    # observer: the name in the package `observers` of what looks from outside
    # oracle: what that sees when the attack works
    # status: what the outcome's status is when it is contained; several where that depends on the kernel
    # credit: a regular expression that the outcome then has to match
    # options: more arguments for `casemate run`
    # open: why nothing here can contain it; a hole that is known
    # unprivileged: why the boxes of an ordinary user do not contain it, where those of root do
    # needs: capabilities of the harness, and facilities of the kernel, without which it cannot be shown
    # first: of a pair (pairs/): who runs first and holds still while the other runs, hostile or innocent
    # note: what else a reader should know

A field may go on over further lines that start with `#   `.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import functools
import mmap
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from who import WHO

HERE = Path(__file__).resolve().parent
GUESTS = HERE / "guests"
# Programs for two slots of one nest (pair_watch.py).
PAIRS = HERE / "pairs"
# A machine that is emulated says how much longer its runs may take (tests/e2e/conftest.py).
SLOW = float(os.environ.get("CASEMATE_TEST_SLOW", "1"))
# How boxes are started: "hot" sends every guest into a slot.
START = os.environ.get("CASEMATE_TEST_START", "")
# On which rung: "gvisor" or "microvm"; empty is the jail.
ISOLATION = os.environ.get("CASEMATE_TEST_ISOLATION", "")
# How long it may take to make what a run is in, beside the run: a machine boots, and its template is saved.
MAKING = 60.0 * SLOW if ISOLATION == "microvm" else 0.0
_CAPABILITIES = {"CAP_SYS_RESOURCE": 24}
_REQUIRED = ("guest", "source", "attacks", "walls", "observer", "oracle", "status")
_FIELDS = (*_REQUIRED, "also", "open", "unprivileged", "credit", "options", "needs", "first", "note")


def wall_names() -> list[str]:
    """The walls of frame::Wall in their order: the index is the bit."""
    header = HERE.parents[1] / "src/frame/walls.h"
    body = re.search(r"#define CASEMATE_WALLS\(X\)(.*?)\n\n", header.read_text(), re.DOTALL)
    assert body, f"no CASEMATE_WALLS in {header}"
    return re.findall(r"\bX\((\w+),", body.group(1))


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
    status: tuple[str, ...]
    also: tuple[str, ...] = ()
    open: str = ""
    credit: str = ""
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    first: str = ""
    note: str = ""


@functools.cache
def landlock_abi() -> int:
    """The ABI of this kernel's Landlock; negative where there is none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))


@functools.cache
def whiteout_is_a_device() -> bool:
    """Whether Landlock refuses a whiteout to who may make no device. Kernels with the erratum of 2026 do not.

    Asked of a child that gives up that right alone, in a directory that goes with it.
    """
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            found = 2
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                make_char = ctypes.c_uint64(1 << 6)  # struct landlock_ruleset_attr of ABI 1
                ruleset = libc.syscall(444, ctypes.byref(make_char), 8, 0)
                libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
                if ruleset >= 0 and libc.syscall(446, ruleset, 0) == 0:
                    os.mknod(f"{folder}/whiteout", stat.S_IFCHR, os.makedev(0, 0))
                    found = 0
            except PermissionError as error:
                found = 1 if error.errno == errno.EACCES else 2
            finally:
                os._exit(found)
        answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert answer in (0, 1), "Landlock could not be asked"
    return answer == 1


def _there(wall: str) -> str:
    """The name of a wall; empty where this kernel's Landlock does not stop what it is named for."""
    name, _, what = wall.partition("@")
    if not what:
        return name
    if what in ("cold", "hot"):
        return name if (os.environ.get("CASEMATE_TEST_START", "") == "hot") == (what == "hot") else ""
    return name if (whiteout_is_a_device() if what == "device" else landlock_abi() >= int(what)) else ""


def _events_for_everybody() -> bool:
    """Whether perf_event_open(2) is there without a capability. Debian's kernels start at 3: it is not."""
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 3
    except OSError:
        return False


@functools.cache
def _secret_memory() -> bool:
    """Whether memfd_secret(2) is there. Before Linux 6.5 it was off unless asked for when booting."""
    fd = int(ctypes.CDLL(None).syscall(447, 0))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


@functools.cache
def _entry_of_32_bits() -> bool:
    """Whether int 0x80 is there. Some hypervisors have none: the processor then answers by itself."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("b814000000cd80c3"))  # getpid
    enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        enter()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


_FACILITIES = {
    "perf_events": _events_for_everybody,
    "secret_memory": _secret_memory,
    "32_bit_entry": _entry_of_32_bits,
}


def absent(needs: tuple[str, ...]) -> list[str]:
    """Those of these capabilities and facilities that this process and its kernel do not have."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    held = int(found.group(1), 16) if found else 0
    return [
        name
        for name in needs
        if not (_FACILITIES[name]() if name in _FACILITIES else held >> _CAPABILITIES[name] & 1)
    ]


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
        status=words("status"),
        also=tuple(filter(None, map(_there, words("also")))),
        open=fields.get("open", "") or (fields.get("unprivileged", "") if WHO.uid != 0 else ""),
        credit=fields.get("credit", ""),
        options=tuple(fields.get("options", "").split()),
        needs=words("needs"),
        first=fields.get("first", ""),
        note=fields.get("note", ""),
    )


def all_guests() -> list[Guest]:
    """Every guest, by name."""
    return [read_guest(path) for path in sorted(GUESTS.glob("*.py"))]


def all_pairs() -> list[Guest]:
    """Every pair, by name."""
    return [read_guest(path) for path in sorted(PAIRS.glob("*.py"))]
