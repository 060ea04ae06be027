"""A driver that speaks the warden's protocol to one warden, and looks at what that warden holds."""

from __future__ import annotations

import array
import os
import select
import socket
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import protocol

GUEST_PATH = "/usr/lib/casemate/python"
TIMEOUT_S = 30.0


class Box:
    """The engine's side of one box: the read ends of its output and the runner's control socket."""

    def __init__(self, number: int, out: int, err: int, control: socket.socket) -> None:
        self.number = number
        self.out = out
        self.err = err
        self.control = control

    def output(self) -> bytes:
        """What the program wrote to its standard output, once nobody can write any more."""
        parts = []
        while part := os.read(self.out, 65536):
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Lets go of the engine's ends."""
        os.close(self.out)
        os.close(self.err)
        self.control.close()


class Warden:
    """One running warden and the engine's end of its socket. A context manager: leaving ends it."""

    def __init__(self, program: Path, image: Path, guest: Path, arguments: Sequence[str] = ()) -> None:
        self.image = image
        self.guest = guest
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = ours
        # The shell puts the socket where the warden looks for it; everything else stays closed.
        line = f'exec 3<&{theirs.fileno()} {theirs.fileno()}<&-; exec "$0" "$@"'
        self.process = subprocess.Popen(["/bin/bash", "-c", line, program, *arguments], pass_fds=[theirs.fileno()])
        theirs.close()
        self.boxes: dict[int, Box] = {}
        self.hello = self.receive("Hello")

    def __enter__(self) -> Warden:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def end(self) -> int:
        """Closes the socket, which makes the warden clean up and exit. Its exit code."""
        self.socket.close()
        for box in self.boxes.values():
            box.close()
        self.boxes.clear()
        return self.process.wait(TIMEOUT_S)

    def send(self, name: str, box: int, fds: Sequence[int] = (), **values: Any) -> None:
        """Sends one message with descriptors."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([bytes(protocol.message(name, box, **values))], rights)

    def receive(self, *wanted: str, fds: list[int] | None = None) -> Any:
        """The next message, which must be of one of these kinds. Descriptors go to `fds`, or are closed."""
        assert select.select([self.socket], [], [], TIMEOUT_S)[0], f"no {wanted} in time"
        data, came, flags, _ = socket.recv_fds(self.socket, protocol.sizes()["kMessageMax"], 8)
        assert data, f"the warden went away instead of sending {wanted}"
        assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
        if fds is None:
            for fd in came:
                os.close(fd)
        else:
            fds += came
        name, value = protocol.parse(data)
        assert name in wanted, f"{name} came where {wanted} should: {protocol.shown(value)}"
        return value

    def answers(self) -> bool:
        """Whether it has said something that was not received."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def receive_end(self) -> Any:
        """The end of a box that may or may not have been started."""
        message = self.receive("BoxStarted", "BoxEnded")
        return message if hasattr(message, "cause") else self.receive("BoxEnded")

    def make(self, number: int, command: Sequence[str], *, out: int | None = None, **values: Any) -> Box:
        """Asks for a box that executes `command` (a path in the image first). `out` replaces its stdout."""
        limits = {
            "memory_max_bytes": 256 << 20,
            "disk_max_bytes": 16 << 20,
            "disk_inodes_max": 1024,
            "file_size_max_bytes": 16 << 20,
            "wall_max_ms": 20_000,
            "cpu_time_max_ms": 10_000,
            "cpus_milli": 1000,
            "pids_max": 32,
            "open_files_max": 256,
        }
        environment = ["PATH=/usr/bin", f"PYTHONPATH={GUEST_PATH}"]
        counts = {
            "strings": b"".join(text.encode() + b"\0" for text in [*command, *environment]),
            "argument_count": len(command),
            "environment_count": len(environment),
        }
        image = os.open(self.image, os.O_PATH | os.O_DIRECTORY)
        guest = os.open(self.guest, os.O_PATH | os.O_DIRECTORY)
        null = os.open("/dev/null", os.O_RDONLY)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        ours, theirs = socket.socketpair()
        trees = [] if values.get("nest") else [image, guest]
        self.send(
            "MakeBox",
            number,
            [*trees, null, out_write if out is None else out, err_write, theirs.fileno()],
            **(counts | limits | values),
        )
        for fd in (image, guest, null, out_write, err_write):
            os.close(fd)
        theirs.close()
        self.boxes[number] = Box(number, out_read, err_read, ours)
        return self.boxes[number]

    def make_nest(self, number: int) -> None:
        """A nest whose zygote has loaded the bare set."""
        code = (
            f"import sys; sys.path.insert(0, '{GUEST_PATH}');"
            " from casemate import _zygote; _zygote.main('bare', 3)()"
        )
        strings = ["/usr/bin/python3", "-I", "-B", "-X", "faulthandler", "-c", code, "PATH=/usr/bin"]
        image = os.open(self.image, os.O_PATH | os.O_DIRECTORY)
        guest = os.open(self.guest, os.O_PATH | os.O_DIRECTORY)
        self.send(
            "MakeNest",
            number,
            [image, guest],
            memory_max_bytes=1 << 30,
            ready_max_ms=20_000,
            strings=b"".join(text.encode() + b"\0" for text in strings),
            argument_count=len(strings) - 1,
            environment_count=1,
        )
        os.close(image)
        os.close(guest)
        self.receive("NestReady")

    def make_slot(self, number: int, nest: int, **values: Any) -> tuple[Box, list[int]]:
        """A parked box of a nest, and the descriptors of its BoxParked; the first is its timer."""
        box = self.make(number, ["/usr/bin/python3"], nest=nest, **values)
        fds: list[int] = []
        self.receive("BoxParked", fds=fds)
        return box, fds

    def destroy(self, number: int, *, started: bool = True) -> Any:
        """The death record of a box. Not `started`: nothing was waited for, so that events may still come."""
        self.send("DestroyBox", number)
        gone = self.receive("BoxGone", *([] if started else ["BoxStarted", "BoxEnded"]))
        while not hasattr(gone, "destroyed"):
            gone = self.receive("BoxGone", "BoxStarted", "BoxEnded")
        self.boxes.pop(number).close()
        return gone

    def open_file(self, number: int, path: str) -> tuple[int, list[int]]:
        """(errno, descriptors) of the answer to OpenFile."""
        self.send("OpenFile", number, path=path.encode())
        fds: list[int] = []
        answer = self.receive("FileOpened", fds=fds)
        return answer.errno_value, fds

    def descriptors(self) -> Counter[str]:
        """What the warden has open, by what it is; anonymous things lose their numbers."""
        return open_things(self.process.pid)

    def children(self) -> list[int]:
        """The inits of the boxes that live, oldest first."""
        return children_of(self.process.pid)


def children_of(pid: int) -> list[int]:
    """Children of a process, by start."""
    found: list[tuple[int, int]] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            rest = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == pid and rest[0] not in "ZX":
            found.append((int(rest[19]), int(folder.name)))
    return [child for _, child in sorted(found)]


def open_things(pid: int) -> Counter[str]:
    """The targets of /proc/PID/fd, sockets and pipes without their inode numbers."""
    things: Counter[str] = Counter()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        kind, _, number = target.partition(":[")
        things[kind if number else target] += 1
    return things
