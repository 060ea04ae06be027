"""The form of an observer, and what many of them need."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watch import Run


class Observer:
    """Sets a scene before a run, looks during it and judges after it. One per run.

    `secret` is a word that nobody inside can know. `arguments` reach the guest as NAME=VALUE;
    `environment` is the supervisor's; `options` are more arguments of `casemate run`.
    """

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.arguments: dict[str, str] = {}
        self.environment: dict[str, str] = {}
        self.options: list[str] = []
        self.seen: list[str] = []  # evidence gathered during the run
        # For attacks on our own programs, which have no switch: what the same bait did to a careless one.
        self.control: str | None = None
        self._neighbours: list[int] = []

    def prepare(self) -> None:
        """Puts decoys in place."""

    def started(self, pid: int) -> None:
        """The supervisor runs."""

    def tick(self) -> None:
        """Called every few milliseconds of the run."""

    def held(self, pid: int, label: str) -> None:
        """A guest process stands still to be looked at."""

    def verdict(self, run: Run) -> str | None:
        """The evidence that the attack worked, or None."""
        return "; ".join(self.seen) or None

    def clean(self) -> None:
        """Takes away what prepare() made."""
        for pid in self._neighbours:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass

    def neighbour(self, uid: int) -> int:
        """Starts an innocent process of this user id that waits; returns its pid."""
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
                signal.signal(number, signal.SIG_DFL)
            while True:
                signal.pause()
        self._neighbours.append(pid)
        return pid

    @staticmethod
    def ended(pid: int) -> int | None:
        """The wait status of a neighbour that has ended."""
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return -1
        return status if done else None


def status_of(pid: int) -> dict[str, str]:
    """/proc/PID/status by field."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def links_of(pid: int) -> list[str]:
    """Where the descriptors of a process lead."""
    found = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except OSError:
            pass
    return found


def box_processes() -> list[int]:
    """Processes in a pid namespace of their own below ours, or of a box's outside ids."""
    ours = os.stat("/proc/self/ns/pid").st_ino
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat(f"/proc/{entry}/ns/pid").st_ino != ours:
                    found.append(int(entry))
            except OSError:
                pass
    return found
