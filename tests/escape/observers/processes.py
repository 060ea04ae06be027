"""Observers of processes, ids, namespaces and mounts."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from observers.base import Observer, box_processes, links_of, status_of
from outer_box import NEST_ID, SLOT_ID

if TYPE_CHECKING:
    from watch import Run

_LIBC = ctypes.CDLL(None, use_errno=True)


def inside(pid: int, kind: str, ask: Callable[[], str]) -> str:
    """What `ask` answers in a namespace of a process: asked by a child, since it does not come back."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if _LIBC.setns(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0) == 0:
                os.write(writer, ask().encode())
        finally:
            os._exit(0)
    os.close(writer)
    answer = os.read(reader, 1000).decode()
    os.close(reader)
    os.waitpid(child, 0)
    return answer


class NeighbourKilled(Observer):
    """An innocent process of the same outside user id."""

    uid = SLOT_ID

    def prepare(self) -> None:
        self._pid = self.neighbour(self.uid)
        self.arguments = {"pid": str(self._pid)}

    def verdict(self, run: Run) -> str | None:
        status = self.ended(self._pid)
        return None if status is None else f"the neighbour ended with wait status {status}"


class NestRootKilled(NeighbourKilled):
    """A process of the nest's root's outside id, as another box's init is."""

    uid = NEST_ID


class RootKilled(NeighbourKilled):
    """A process of the host's root."""

    uid = 0


class NeighbourSlowed(NeighbourKilled):
    """The priority of a process of the same outside id, which may be given one like everybody's."""

    def prepare(self) -> None:
        super().prepare()
        os.setpriority(os.PRIO_PROCESS, self._pid, 0)  # ours may be what the guest gives it
        self._before = os.getpriority(os.PRIO_PROCESS, self._pid)

    def verdict(self, run: Run) -> str | None:
        nice = os.getpriority(os.PRIO_PROCESS, self._pid)
        return f"the neighbour's priority is {nice}" if nice != self._before else None


class WardenLost(Observer):
    """Whether the engine still had its warden when the run ended."""

    def verdict(self, run: Run) -> str | None:
        reason = run.outcome.get("reason") or {}
        return f"the warden is gone: {reason['message']}" if "warden" in json.dumps(reason) else None


class CommandLineInOutput(Observer):
    """A secret on the command line of a neighbour."""

    def prepare(self) -> None:
        self._neighbour = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", self.secret])

    def verdict(self, run: Run) -> str | None:
        stdout = run.outcome.get("stdout", {}).get("text", "")
        return "a neighbour's command line came out" if self.secret in stdout else None

    def clean(self) -> None:
        self._neighbour.kill()
        self._neighbour.wait()
        super().clean()


class Traced(Observer):
    """Tracers of the box's processes."""

    def held(self, pid: int, label: str) -> None:
        for other in box_processes():
            if status_of(other)["TracerPid"] != "0":
                self.seen.append("a process of the box has a tracer")


class SetidRan(Observer):
    """A process named `setid` that runs as the nest's root."""

    def tick(self) -> None:
        for pid in box_processes():
            try:
                status = status_of(pid)
            except OSError:
                continue
            if status.get("Name") == "setid" and status["Uid"].split()[1] == str(NEST_ID) and not self.seen:
                self.seen.append("the program runs as the nest's root")


class NewUserNamespace(Observer):
    """The user namespace of a process that the guest made, against the guest's own."""

    def held(self, pid: int, label: str) -> None:
        if label == "first":
            self._first = os.stat(f"/proc/{pid}/ns/user").st_ino
        elif os.stat(f"/proc/{pid}/ns/user").st_ino != self._first and not self.seen:
            self.seen.append("a process in a user namespace of its own")


class HostNameChanged(Observer):
    """The host name in the guest's namespace."""

    def held(self, pid: int, label: str) -> None:
        name = inside(pid, "uts", lambda: os.uname().nodename)
        if name == "owned":
            self.seen.append(f"the host name is {name!r}")


class MountMade(Observer):
    """The guest's mount table."""

    def held(self, pid: int, label: str) -> None:
        for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
            if " /vol/work/mnt " in line:
                self.seen.append("a mount of its own: " + line.partition(" - ")[2].split(" ")[0])


class GroupLeft(Observer):
    """The guest's memory group."""

    def held(self, pid: int, label: str) -> None:
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            number, names, path = line.split(":", 2)
            if (names == "memory" or number == "0") and "casemate.i" not in path:
                self.seen.append(f"it is in {names or 'v2'}:{path}")


class SharedMemoryRead(Observer):
    """A System V segment of the host with a secret in it."""

    def prepare(self) -> None:
        self._segment = _LIBC.shmget(0x0DEC0, 4096, 0o1666)
        _LIBC.shmat.restype = ctypes.c_void_p
        place = _LIBC.shmat(self._segment, None, 0)
        ctypes.memmove(place, self.secret.encode(), len(self.secret))
        _LIBC.shmdt(ctypes.c_void_p(place))
        self.arguments = {"key": str(0x0DEC0)}

    def verdict(self, run: Run) -> str | None:
        return "the segment's secret came out" if self.secret in run.text else None

    def clean(self) -> None:
        _LIBC.shmctl(self._segment, 0, None)
        super().clean()


class QueueRead(Observer):
    """A POSIX message queue of the host with a secret in it."""

    def prepare(self) -> None:
        self._queue = _LIBC.syscall(240, b"decoy", os.O_CREAT | os.O_RDWR, 0o666, None)
        os.chmod("/dev/mqueue/decoy", 0o666)
        _LIBC.syscall(242, self._queue, self.secret.encode(), len(self.secret), 0, None)

    def verdict(self, run: Run) -> str | None:
        return "the queue's secret came out" if self.secret in run.text else None

    def clean(self) -> None:
        os.close(self._queue)
        os.unlink("/dev/mqueue/decoy")
        super().clean()


class LinkSeen(Observer):
    """What a descriptor of the guest is, by its link in /proc/PID/fd."""

    link = ""

    def held(self, pid: int, label: str) -> None:
        if any(self.link in link for link in links_of(pid)):
            self.seen.append(f"it holds a descriptor of {self.link}")


class FanotifyMade(LinkSeen):
    """fanotify."""

    link = "[fanotify]"


class RingMade(LinkSeen):
    """io_uring."""

    link = "[io_uring]"


class FaultsTaken(LinkSeen):
    """userfaultfd."""

    link = "[userfaultfd]"


class EventsOpened(LinkSeen):
    """perf_event_open."""

    link = "[perf_event]"


class ListenerMade(LinkSeen):
    """seccomp's listener."""

    link = "seccomp notify"


class SecretMemoryMade(LinkSeen):
    """memfd_secret."""

    link = "secretmem"


class QueueMade(LinkSeen):
    """A message queue of the guest's own."""

    link = "/flood"


class MountDescriptor(Observer):
    """A descriptor whose mount is not in the guest's mount table."""

    def held(self, pid: int, label: str) -> None:
        table = {line.split(" ")[0] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()}
        for entry, link in ((entry, os.readlink(f"/proc/{pid}/fd/{entry}")) for entry in os.listdir(f"/proc/{pid}/fd")):
            info = Path(f"/proc/{pid}/fdinfo/{entry}").read_text()
            number = info.partition("mnt_id:")[2].split()[0]
            if link == "/" and int(entry) > 3 and number not in table:
                self.seen.append("it holds a mount of its own")
            if link == "anon_inode:[fscontext]":
                self.seen.append("it holds a mount's context")


class KeyMade(Observer):
    """Keys of the guest's outside id, by the kernel's count."""

    def prepare(self) -> None:
        self._before = self._keys()

    @staticmethod
    def _keys() -> int:
        for line in Path("/proc/key-users").read_text().splitlines():
            uid, _, rest = line.strip().partition(":")
            if int(uid) == SLOT_ID:
                return int(rest.split()[1].split("/")[0])
        return 0

    def held(self, pid: int, label: str) -> None:
        if self._keys() > self._before:
            self.seen.append(f"{self._keys()} keys of its user id")


class PersonalityChanged(Observer):
    """The guest's personality."""

    def held(self, pid: int, label: str) -> None:
        word = Path(f"/proc/{pid}/personality").read_text().strip()
        if word != "00000000":
            self.seen.append(f"its personality is {word}")
