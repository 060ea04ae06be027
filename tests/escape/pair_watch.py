"""Two slots of one nest, a hostile program in one and an innocent one in the other: inside the outer box.

`casemate` runs one program at a time, so this speaks to a warden itself, by the driver of tests/cleanup.
A pair is one file that is run twice: role=hostile, and role=innocent with a secret that only that one is
told. Which comes `first` holds still while the other runs. What counts: the secret in what the hostile
one printed, `harmed: …` in what the innocent one printed, or an innocent one that did not come to its end.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from guest_file import HERE, SLOW, Guest
from outer_box import STORE

sys.path.insert(0, "/tests/cleanup")
from warden import Warden

_BASE = Path("/casemate")
_PYTHON_PATH = "usr/lib/casemate/python"
_ZYGOTE = ["/usr/bin/python3", "-I", "-B", "-X", "faulthandler", "-c",
           f"import sys; sys.path.insert(0, '/{_PYTHON_PATH}'); from casemate import _zygote; _zygote.main('bare', 3)()"]  # fmt: skip
_STEP_SECONDS = 10.0 * SLOW
_NEST, _BOXES = 1, {"hostile": 2, "innocent": 3}
_LIMITS = {
    "memory_max_bytes": 128 << 20, "disk_max_bytes": 16 << 20, "disk_inodes_max": 1024, "file_size_max_bytes": 16 << 20,
    "wall_max_ms": 30_000, "cpu_time_max_ms": 10_000, "cpus_milli": 1000, "pids_max": 32, "open_files_max": 256,
}  # fmt: skip


def _strings(arguments: list[str]) -> dict[str, Any]:
    """A command and no environment, as they cross to the warden."""
    joined = b"".join(text.encode() + b"\0" for text in arguments)
    return {"strings": joined, "argument_count": len(arguments), "environment_count": 0}


def held(label: str = "") -> int:
    """The process that stands still to be looked at; 0: there is none."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and Path("/proc", entry, "comm").read_text().startswith("esc:" + label):
                return int(entry)
        except OSError:
            pass
    return 0


class _Slot:
    """One slot, with our ends."""

    def __init__(self, warden: Warden, role: str, off: int) -> None:
        self.role, self.text, self._control, self.done, self.gone = role, "", b"", False, False
        self.number = _BOXES[role]
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.control, control = socket.socketpair()
        null = os.open("/dev/null", os.O_RDONLY)
        warden.send("MakeBox", self.number, [null, out, err, control.fileno()], nest=_NEST, rehearse=1, walls_off=off,
                    **_LIMITS, **_strings(["/usr/bin/python3"]))  # fmt: skip
        for fd in (null, out, err):
            os.close(fd)
        control.close()
        for fd in (self.out, self.err, self.control.fileno()):
            os.set_blocking(fd, False)

    def start(self, warden: Warden, frames: bytes) -> None:
        self.control.setblocking(True)
        self.control.sendall(frames)
        self.control.setblocking(False)
        warden.send(
            "StartBox", self.number, wall_max_ms=_LIMITS["wall_max_ms"], cpu_time_max_ms=_LIMITS["cpu_time_max_ms"]
        )

    def look(self, wire: Any) -> None:
        """Takes what it printed and said by now."""
        for fd in (self.out, self.err):
            try:
                while data := os.read(fd, 65536):
                    self.text += data.decode(errors="replace")
            except BlockingIOError:
                pass
        try:
            while data := self.control.recv(65536):
                self._control += data
            self.gone = True
        except BlockingIOError:
            pass
        except OSError:
            self.gone = True
        while len(self._control) >= 8:
            size, kind = (int.from_bytes(self._control[at : at + 4], "little") for at in (0, 4))
            if len(self._control) < 8 + size:
                break
            self._control = self._control[8 + size :]
            self.done = self.done or kind == wire.DONE

    def close(self) -> None:
        os.close(self.out)
        os.close(self.err)
        self.control.close()


class PairRun:
    """A warden with one nest, and the two slots in it."""

    def __init__(self, what: Guest, off: int, test_build: bool) -> None:
        self.what, self.off, self._test = what, off, test_build
        # As long as bits and the name of a process allow (pairs/watch.py, pairs/processes.py).
        self.secret = secrets.token_hex(5)
        digest = (STORE / "names/python").read_text().strip().removeprefix("sha256:")
        self._image = STORE / "sha256" / digest / "rootfs"
        self._guest = _BASE / "share/casemate" / ("guest_test_hooks" if test_build else "guest")
        sys.path.insert(0, str(_BASE / "share/casemate/guest" / _PYTHON_PATH))
        from casemate import _wire

        self._wire: Any = _wire

    def _frames(self, role: str) -> bytes:
        wire = self._wire

        def frame(kind: int, *fields: bytes) -> bytes:
            payload = b"".join(fields)
            return len(payload).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload

        arguments = [f"role={role}", f"patience={3 * SLOW:.0f}"]
        arguments += [f"secret={self.secret}"] if role == "innocent" else []
        return b"".join([
            frame(wire.PROGRAM, wire.field(wire.TAG_BYTES, self.what.path.read_bytes())),
            frame(wire.FILE, wire.field(wire.TAG_PATH, b"attack.py")),
            frame(wire.FILE_DATA, wire.field(wire.TAG_BYTES, (HERE / "attack.py").read_bytes())),
            frame(wire.START, *(wire.field(wire.TAG_ARGUMENT, argument.encode()) for argument in arguments)),
        ])  # fmt: skip

    def run(self) -> dict[str, Any]:
        """What Seen says of it."""
        program = _BASE / "bin" / ("casemate-warden-test" if self._test else "casemate-warden")
        begun = time.monotonic()
        answer: dict[str, Any] = {"evidence": None, "control": None, "status": "unavailable", "limit": None, "exit_code": 0,
                                  "reason": None, "teardown": None, "leaks": [], "start": "hot", "isolation": "jail", "text": ""}  # fmt: skip
        with Warden(program, self._image, self._guest) as warden:
            said = self._make_nest(warden)
            if hasattr(said, "destroyed"):
                return answer | {"reason": said.text.decode(), "seconds": 0.0}
            slots = {role: _Slot(warden, role, self.off) for role in _BOXES}
            for _ in slots:
                message = warden.receive("BoxParked", "BoxEnded")
                if hasattr(message, "cause"):
                    return answer | {"reason": message.text.decode(), "seconds": 0.0}
            answer |= {"status": "ok", "evidence": self._meet(warden, slots)}
            destroyed = [self._destroy(warden, slot) for slot in slots.values()]
            warden.send("EndNest", _NEST)
            ended = warden.receive("NestEnded", "ZygoteGone")
            while not hasattr(ended, "destroyed"):
                ended = warden.receive("NestEnded", "ZygoteGone")
            answer["teardown"] = "destroyed" if all([*destroyed, ended.destroyed]) else "quarantined"
            answer["text"] = "\n".join(slot.role + ":\n" + slot.text for slot in slots.values())
        if not self.what.walls and answer["evidence"] is None:
            answer["control"] = self._without_boxes()
        return answer | {"seconds": round(time.monotonic() - begun, 3)}

    def _make_nest(self, warden: Warden) -> Any:
        ends = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in (self._image, self._guest)]
        values = {"memory_max_bytes": 256 << 20, "ready_max_ms": int(_STEP_SECONDS * 1000), "walls_off": self.off}
        warden.send("MakeNest", _NEST, ends, **values, **_strings(_ZYGOTE))
        for end in ends:
            os.close(end)
        return warden.receive("NestReady", "NestEnded")

    def _meet(self, warden: Warden, slots: dict[str, _Slot]) -> str | None:
        """The first holds still while the second runs; then it goes on."""
        first = slots[self.what.first]
        second = next(slot for slot in slots.values() if slot is not first)
        first.start(warden, self._frames(first.role))
        self._wait(lambda: held() != 0 or first.done or first.gone, first)
        second.start(warden, self._frames(second.role))
        self._wait(lambda: second.done or second.gone, second)
        if waiting := held():
            os.kill(waiting, signal.SIGUSR1)
        self._wait(lambda: first.done or first.gone, first)
        if self.secret in slots["hostile"].text:
            return "the neighbour's secret came out"
        for line in slots["innocent"].text.splitlines():
            if line.startswith("harmed: "):
                return "the neighbour: " + line.removeprefix("harmed: ")
        return None if slots["innocent"].done else "the neighbour ended before its program did"

    def _wait(self, over: Any, slot: _Slot) -> None:
        end = time.monotonic() + _STEP_SECONDS
        while not over() and time.monotonic() < end:
            select.select([slot.out, slot.err, slot.control], [], [], 0.005)
            slot.look(self._wire)
        slot.look(self._wire)

    @staticmethod
    def _destroy(warden: Warden, slot: _Slot) -> int:
        slot.close()
        warden.send("DestroyBox", slot.number)
        gone = warden.receive("BoxGone", "BoxEnded", "ZygoteGone")
        while not (hasattr(gone, "init_reaped") and gone.header.box == slot.number):
            gone = warden.receive("BoxGone", "BoxEnded", "ZygoteGone")
        return int(gone.destroyed)

    def _without_boxes(self) -> str | None:
        """What the same two programs do to each other where there is no wall at all."""
        with tempfile.TemporaryDirectory() as folder:

            def start(role: str) -> subprocess.Popen[str]:
                command = [
                    sys.executable,
                    "-B",
                    str(self.what.path),
                    f"role={role}",
                    f"secret={self.secret}",
                    "patience=3",
                ]
                return subprocess.Popen(
                    command, stdout=subprocess.PIPE, text=True, cwd=folder, env={"PYTHONPATH": str(HERE)}
                )

            innocent = start("innocent")
            end = time.monotonic() + _STEP_SECONDS
            while held() == 0 and time.monotonic() < end:
                time.sleep(0.005)
            hostile = start("hostile").communicate()[0]
            innocent.communicate()
        return "the neighbour's secret came out" if self.secret in hostile else None


def run(what: Guest, off: int, test_build: bool) -> dict[str, Any]:
    """One pair with walls off (bits, test build) or as released; says what was seen, as Watch.run does."""
    return PairRun(what, off, test_build).run()
