"""Observers of what a box takes: memory, processor, processes, disk, time, output."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from guest_file import SLOW
from observers.base import Observer, box_processes, links_of, status_of

if TYPE_CHECKING:
    from watch import Run

_TICKS = os.sysconf("SC_CLK_TCK")


def number(text: str) -> int:
    """The leading number of a field of /proc/PID/status."""
    return int(text.split()[0].split("/")[0])


def state_of(pid: int) -> tuple[str, int]:
    """The state of a process and its parent."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[1])


class StatusAbove(Observer):
    """A field of /proc/PID/status above what the box grants."""

    name = ""
    limit = 0

    def held(self, pid: int, label: str) -> None:
        value = number(status_of(pid)[self.name])
        if value > self.limit:
            self.seen.append(f"{self.name} is {value}, granted {self.limit}")


class MemoryTaken(StatusAbove):
    """Resident memory, in KiB."""

    name, limit = "VmRSS", 48 << 10


class MemoryLocked(StatusAbove):
    """Locked memory, in KiB."""

    name, limit = "VmLck", 64


class SignalsQueued(StatusAbove):
    """Queued signals of the user id."""

    name, limit = "SigQ", 256


class ThreadsMade(StatusAbove):
    """Threads."""

    name, limit = "Threads", 16


class StackGrown(StatusAbove):
    """The stack, in KiB."""

    name, limit = "VmStk", 8 << 10


class ShmTaken(Observer):
    """What /dev/shm of the box holds."""

    def held(self, pid: int, label: str) -> None:
        space = os.statvfs(f"/proc/{pid}/root/dev/shm")
        mib = (space.f_blocks - space.f_bfree) * space.f_frsize >> 20
        if mib > 48:
            self.seen.append(f"{mib} MiB of memory in files, granted 48")


class MemfdTaken(Observer):
    """What an anonymous file of the guest's holds."""

    def held(self, pid: int, label: str) -> None:
        for entry in os.listdir(f"/proc/{pid}/fd"):
            if "memfd:hidden" in os.readlink(f"/proc/{pid}/fd/{entry}"):
                mib = os.stat(f"/proc/{pid}/fd/{entry}").st_blocks * 512 >> 20
                if mib > 48:
                    self.seen.append(f"{mib} MiB of memory in a file, granted 48")


class ProcessesMade(Observer):
    """Processes of the box, which are those of one pid namespace. Its init is not counted: it is ours."""

    limit = 16

    def prepare(self) -> None:
        self._most = 0

    def tick(self) -> None:
        spaces: Counter[int] = Counter()
        for pid in box_processes():
            try:
                spaces[os.stat(f"/proc/{pid}/ns/pid").st_ino] += 1
            except OSError:
                pass  # it has ended
        self._most = max(self._most, max(spaces.values(), default=0) - 1)

    def verdict(self, run: Run) -> str | None:
        return f"{self._most} processes, granted {self.limit}" if self._most > self.limit else None


class ZombiesMade(Observer):
    """Dead children of the guest."""

    def held(self, pid: int, label: str) -> None:
        dead = 0
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    dead += state_of(int(entry)) == ("Z", pid)
                except OSError:
                    pass
        if dead > 16:
            self.seen.append(f"{dead} dead children, granted 16 processes")


class ProcessorShare(Observer):
    """Processor time between two moments, where a tenth of one processor was granted."""

    @staticmethod
    def _used(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def held(self, pid: int, label: str) -> None:
        if label == "begin":
            os.setpriority(os.PRIO_PROCESS, pid, -19)
            self._begun, self._used_before = time.monotonic(), self._used(pid)
            return
        share = (self._used(pid) - self._used_before) / (time.monotonic() - self._begun)
        if share > 0.2:
            self.seen.append(f"it used {share:.2f} of a processor, granted 0.1")


class ProcessorTimeUsed(Observer):
    """Processor time of the box, by its control group."""

    def verdict(self, run: Run) -> str | None:
        used = run.outcome.get("usage", {}).get("cpu_ms", 0)
        return f"it used {used} ms of a processor, granted 300" if used > 700 else None


class LongRun(Observer):
    """The length of a run beyond its --wall of 500 ms."""

    def verdict(self, run: Run) -> str | None:
        ms = run.outcome.get("usage", {}).get("wall_ms", 0)
        return f"it ran for {ms} ms, granted 500" if ms > 2000 else None


class LateAnswer(Observer):
    """The time until the answer, of a program that ends at once."""

    def verdict(self, run: Run) -> str | None:
        seconds = run.answer_seconds
        return f"the answer took {seconds:.1f} s" if seconds > 2.2 * SLOW else None


class DaemonLived(Observer):
    """A process named `daemon` that lives on when `program` is gone."""

    def prepare(self) -> None:
        self._ended: float | None = None
        self._begun = self._lived = False

    def tick(self) -> None:
        names = set()
        for pid in box_processes():
            try:
                names.add(Path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:
                continue
        self._begun = self._begun or "program" in names
        if self._begun and "program" not in names and self._ended is None:
            self._ended = time.monotonic()
        if "daemon" in names and self._ended is not None and time.monotonic() - self._ended > 0.5:
            self._lived = True

    def verdict(self, run: Run) -> str | None:
        return "the daemon lived half a second after the program's end" if self._lived else None


class DiskTaken(Observer):
    """What the layer holds."""

    def held(self, pid: int, label: str) -> None:
        space = os.statvfs(f"/proc/{pid}/root/vol")
        used = (space.f_blocks - space.f_bfree) * space.f_frsize
        if used > 4 << 20:
            self.seen.append(f"{used} bytes on disk, granted {4 << 20}")


class InodesTaken(Observer):
    """The files of the layer."""

    def held(self, pid: int, label: str) -> None:
        count = len(os.listdir(f"/proc/{pid}/root/vol/work"))
        if count > 16384:
            self.seen.append(f"{count} files, granted 16384")


class FilesOpened(Observer):
    """Descriptors of the guest."""

    def held(self, pid: int, label: str) -> None:
        count = len(links_of(pid))
        if count > 64:
            self.seen.append(f"{count} open files, granted 64")


class PriorityRaised(Observer):
    """The guest's priority."""

    def held(self, pid: int, label: str) -> None:
        if os.getpriority(os.PRIO_PROCESS, pid) < 0 or os.sched_getscheduler(pid) != os.SCHED_OTHER:
            self.seen.append("its priority is above the ordinary")


class SupervisorGrown(Observer):
    """The peak of the engine's memory."""

    limit_kib = 48 << 10

    def verdict(self, run: Run) -> str | None:
        return f"the supervisor grew to {run.peak_kib >> 10} MiB" if run.peak_kib > self.limit_kib else None


class OutputKept(SupervisorGrown):
    """The same, or an answer that is much longer than the output that was asked for."""

    def verdict(self, run: Run) -> str | None:
        kept = len(run.raw)
        return super().verdict(run) or (f"the answer has {kept} bytes" if kept > 64 << 10 else None)


class ControlFlood(SupervisorGrown):
    """The same, for the control channel."""

    def verdict(self, run: Run) -> str | None:
        sent = re.search(r"sent: (\d+)", run.text)
        if sent and int(sent.group(1)) > 1 << 20:
            self.control = f"the channel took {int(sent.group(1)) >> 20} MiB"
        return super().verdict(run)


class DescriptorsPassed(Observer):
    """The engine's descriptors."""

    def started(self, pid: int) -> None:
        self._engine = pid
        self._most = 0

    def tick(self) -> None:
        try:
            self._most = max(self._most, len(os.listdir(f"/proc/{self._engine}/fd")))
        except OSError:
            pass

    def verdict(self, run: Run) -> str | None:
        passed = re.search(r"passed: (\d+)", run.text)
        if passed and int(passed.group(1)) >= 200:
            self.control = f"the channel took {passed.group(1)} descriptors"
        return f"the supervisor held {self._most} descriptors" if self._most > 60 else None


class SocketsTaken(Observer):
    """The kernel's count of memory in TCP's buffers."""

    @staticmethod
    def _mib() -> int:
        found = re.search(r"^TCP: .* mem (\d+)$", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
        return int(found.group(1)) * os.sysconf("SC_PAGE_SIZE") >> 20 if found else 0

    def prepare(self) -> None:
        end = time.monotonic() + 3
        while self._mib() > 16 and time.monotonic() < end:
            time.sleep(0.02)  # The kernel lets go of an earlier run's network namespace after its end.
        self._before = self._mib()

    def held(self, pid: int, label: str) -> None:
        taken = self._mib() - self._before
        if taken > 48:
            self.seen.append(f"{taken} MiB of memory in buffers, granted 48")


class DatagramsTaken(SocketsTaken):
    """The same for UDP."""

    @staticmethod
    def _mib() -> int:
        found = re.search(r"^UDP: .* mem (\d+)$", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
        return int(found.group(1)) * os.sysconf("SC_PAGE_SIZE") >> 20 if found else 0


class BuffersFilled(Observer):
    """The guest's word for bytes that nobody has read, and that it lived to say it."""

    def verdict(self, run: Run) -> str | None:
        held = re.search(r"held: (\d+)", run.text)
        mib = int(held.group(1)) >> 20 if held else 0
        return f"{mib} MiB in buffers, granted 48" if mib > 60 else None


def settled(ask: Callable[[], int]) -> int:
    """A count of the kernel's once an earlier run's share has gone from it."""
    count = ask()
    for _ in range(30):
        time.sleep(0.05)
        before, count = count, ask()
        if count >= before:
            break
    return count


class LocksTaken(Observer):
    """The kernel's memory in locks."""

    @staticmethod
    def _mib() -> int:
        found = re.search(r"^file_lock_cache +\d+ +(\d+) +(\d+)", Path("/proc/slabinfo").read_text(), re.MULTILINE)
        return int(found.group(1)) * int(found.group(2)) >> 20 if found else 0

    def prepare(self) -> None:
        self._before = settled(self._mib)

    def held(self, pid: int, label: str) -> None:
        taken = self._mib() - self._before
        if taken > 16:
            self.seen.append(f"{taken} MiB of memory in locks, granted 16 for everything")


class ProgramsCompiled(Observer):
    """The kernel's memory in compiled programs."""

    @staticmethod
    def _kib() -> int:
        lines = [line for line in Path("/proc/vmallocinfo").read_text().splitlines() if "bpf" in line]
        return sum(int(line.split()[1]) for line in lines) >> 10

    def prepare(self) -> None:
        self._before = settled(self._kib)

    def held(self, pid: int, label: str) -> None:
        taken = self._kib() - self._before
        if taken > 2048:
            self.seen.append(f"{taken >> 10} MiB in compiled programs")
