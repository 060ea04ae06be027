"""Runs guests: one outer box for each, in which it meets any number of boxes.

    with OuterBox(casemate) as outer:
        seen = outer.run(guest, off=("Seccomp",))

`seen.evidence` is what the observer outside saw of a successful attack, None for a contained one.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from guest_file import HERE, MAKING, SLOW, Guest, bits_of
from who import WHO

ROOT = HERE.parents[1]
# Debian's own: a python3 on PATH may lie where the outer box does not look.
PYTHON = "/usr/bin/python3"
STORES = (Path("/var/lib/casemate/images"),)
# One outer box for many guests, where making one costs much: each is contained, so that it leaves nothing to the
# next. One that was not, or that left something, is the last in its box.
SHARED = bool(os.environ.get("CASEMATE_ESCAPE_SHARED"))
_SHARED_RUNS = 40
BOX_SECONDS = 7200.0 if SHARED else 120.0 * SLOW
# Those that look at what the kernel counts for the whole host: one run at a time, whoever else tests here.
_HOST_WIDE = ("sockets_taken", "datagrams_taken", "locks_taken", "programs_compiled")
_ANSWER_SECONDS = 45.0 * SLOW + MAKING
_START_SECONDS = 15.0 * SLOW
# How boxes are started: "hot" sends every guest into a slot (watch.py).
START = os.environ.get("CASEMATE_TEST_START", "")


class BrokenError(Exception):
    """The harness, and not the guest, failed."""


@dataclass(frozen=True)
class Seen:
    """What one run of a guest showed."""

    evidence: str | None
    control: str | None
    status: str
    limit: str | None
    reason: Any
    exit_code: int
    teardown: str | None
    seconds: float
    leaks: list[str]
    start: str | None  # hot, cold; None when no box was started
    isolation: str | None
    text: str

    @property
    def elsewhere(self) -> bool:
        """It was not in the kind of box that CASEMATE_TEST_START asks for, although in one."""
        return START != "" and self.start is not None and self.start != START

    @property
    def made(self) -> bool:
        """A box was made: what was contained was a guest, and not our own set-up."""
        return self.status not in ("unavailable", "none") or self.evidence is not None


def casemate_binary() -> Path:
    """CASEMATE_BIN, or the newest program below build/."""
    named = os.environ.get("CASEMATE_BIN")
    if named:
        return Path(named).resolve()
    built = sorted(ROOT.glob("build/*/bin/casemate"), key=lambda path: path.stat().st_mtime)
    assert built, "no casemate is built"
    return built[-1]


def missing_privilege() -> str | None:
    """What the outer box needs and this process does not have, by name."""
    if os.geteuid() != 0:
        return "root: the outer box makes namespaces and control groups outside any user namespace"
    if WHO.uid != 0 and "CASEMATE_ESCAPE_GROUP" not in os.environ:
        return "CASEMATE_ESCAPE_GROUP: a control group that is delegated to the user (who.py)"
    if WHO.uid != 0 and not Path("/usr/bin/systemd-run").exists():
        return "systemd-run, in whose place a user's boxes get their groups"
    for store in STORES:
        if store.exists() and _file_system(store) == "overlay":
            return "an image store that is not on an overlay: the kernel stacks two and no more"
    return None


def _file_system(path: Path) -> str:
    """The kind of file system that a path is on."""
    best, kind = "", ""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4]
        if path.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, after.split(" ")[0]
    return kind


def image_store(binary: Path) -> Path:
    """The store with the Python image; it is made when there is none."""
    for store in STORES:
        if (store / "names/python").exists():
            return store
    subprocess.run([binary, "run", "--trust", "trusted", "--quiet", "-c", "pass"], check=True, timeout=600)
    return STORES[0]


class OuterBox:
    """One outer box. Ended by leaving the `with`, or by its own time limit."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self.runs = 0

    def __enter__(self) -> OuterBox:
        command = [PYTHON, "-B", "-S", "-E", str(HERE / "outer_box.py")]
        command += [str(self._binary.parent.parent), str(image_store(self._binary)), str(BOX_SECONDS)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer = self._answer(_START_SECONDS)
        if not answer.get("ready"):
            self.__exit__(None, None, None)
            raise BrokenError(f"no outer box: {answer}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process and self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def run(self, guest: Guest, off: Sequence[str] | None = None, released: bool = False) -> Seen:
        """One run: as released (`off` is None), or the test build with these walls off.

        `released`: they are asked for of the program as released, which knows no such thing.
        """
        assert self._process and self._process.stdin
        request = {"guest": guest.name, "off": bits_of(tuple(off or ())), "test_build": off is not None and not released}
        request["pair"] = guest.first != ""
        with open("/run/casemate-escape.lock", "w") as lock:
            if guest.observer in _HOST_WIDE:
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer(_ANSWER_SECONDS)
        self.runs += 1
        if "error" in answer:
            raise BrokenError(f"{guest.name}, off {off}: {answer['error']}\n{answer.get('trace', '')}")
        return Seen(**answer)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process and self._process.stdout
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return {"error": f"no answer after {seconds} s"}
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return {"error": "the outer box ended"}
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        found = json.loads(line)
        assert isinstance(found, dict)
        return found


_shared: list[OuterBox] = []  # one or none


def shared_box() -> OuterBox:
    """The outer box of many guests. It is made when there is none, or when this one has served enough."""
    if _shared and _shared[0].runs >= _SHARED_RUNS:
        end_shared_box()
    if not _shared:
        _shared.append(OuterBox(casemate_binary()).__enter__())
    return _shared[0]


def end_shared_box() -> None:
    """Ends it; the next guest has a new one."""
    while _shared:
        _shared.pop().__exit__(None, None, None)
