"""An engine whose programs run in slots: a zygote with the fake extension, and forks of it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import subprocess
from typing import IO, Optional

import engine

FAKE = pathlib.Path(__file__).resolve().parent / "fake"
COMMAND = (
    "import sys; sys.path.insert(0, {package!r});"
    " from casemate import _zygote; _zygote.main({preload!r}, {link})()"
)


class Slot:
    """A slot's process, with what _pump() asks of one; it is the zygote's child, so that waits for it."""

    def __init__(self, zygote: "SlotEngine", root: pathlib.Path, control: int) -> None:
        self._zygote = zygote
        self._ended: Optional[list[int]] = None
        nothing = os.open(os.devnull, os.O_RDWR)
        out, err, park = os.pipe(), os.pipe(), os.pipe()
        try:
            order = {
                "what": "fork",
                "root": str(root),
                "environment": engine.environment(root),
                "rehearse": zygote.level == "hot",
            }
            self.pid = int(
                zygote.ask(order, [nothing, out[1], err[1], control, park[1]])  # type: ignore[call-overload]
            )
        finally:
            for number in (nothing, out[1], err[1], park[1]):
                os.close(number)
        self.stdout: IO[bytes] = os.fdopen(out[0], "rb", 0)
        self.stderr: IO[bytes] = os.fdopen(err[0], "rb", 0)
        told = os.read(park[0], 1)
        os.close(park[0])
        if told != b"p":
            raise AssertionError(f"not parked: {self.stderr.read()!r}")
        self.faults_parked = self._faults()

    def _faults(self) -> int:
        status = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        return int(status.rpartition(")")[2].split()[7])

    @property
    def faults(self) -> int:
        """Minor faults from parking to the very end."""
        assert self._ended is not None
        return self._ended[1] - self.faults_parked

    def poll(self) -> Optional[int]:
        if self._ended is None:
            self._ended = self._zygote.ask({"what": "poll", "pid": self.pid})  # type: ignore[assignment]
        return None if self._ended is None else self._ended[0]

    def wait(self) -> int:
        if self._ended is None:
            self._ended = self._zygote.ask({"what": "wait", "pid": self.pid})  # type: ignore[assignment]
        assert self._ended is not None
        return self._ended[0]

    def kill(self) -> None:
        self.send_signal(9)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


class SlotEngine(engine.Engine):
    """As Engine, but for what a zygote decides for all: flags and further paths are not for one run."""

    def __init__(
        self,
        python: str = engine.PYTHON,
        preload: str = "bare",
        level: str = "hot",
        variables: dict[str, str] = {},
    ) -> None:
        super().__init__(python)
        self.level = level
        # Where the image has the extension.
        shutil.copy(FAKE / "_casemate_slot.py", self._package)
        self.last: Optional[Slot] = None
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = COMMAND.format(
            package=str(self._package),
            preload=preload,
            link=theirs.fileno(),
        )
        self._zygote = subprocess.Popen(
            [python, "-I", "-B", "-X", "faulthandler", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if "CASEMATE_TEST_LOUD" in os.environ else subprocess.DEVNULL,
            env={**engine.environment(pathlib.Path("/vol")), **variables},
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        self.told = self._link.recv(1 << 16).decode()

    def close(self) -> None:
        self._link.close()
        self._zygote.wait()
        super().close()

    def status(self) -> int:
        """The exit code of the zygote, which must be ending."""
        return self._zygote.wait()

    def ask(self, order: dict[str, object], descriptors: list[int] = []) -> object:
        data = json.dumps(order).encode()
        if descriptors:
            socket.send_fds(self._link, [data], descriptors)
        else:
            self._link.sendall(data)
        answer: object = json.loads(self._link.recv(1 << 16))
        return answer

    def _start(
        self,
        root: pathlib.Path,
        number: int,
        flags: tuple[str, ...],
        extra_path: Optional[str],
    ) -> "subprocess.Popen[bytes]":
        if self.told != "ready":
            raise AssertionError(f"the zygote said {self.told!r}")
        self.last = Slot(self, root, number)
        return self.last  # type: ignore[return-value]
