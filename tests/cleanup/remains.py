"""What a run could leave on the host, and a wait until it is gone.

`look()` is a picture; `left()` says what a later picture has more. Processes are found by their
program, wherever they were reparented to: all that we start are the programs beside the one under
test, and what they fork. A guest lives only as long as its box's init, which is such a fork.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
ROOT_RUNTIME = Path("/run/casemate")


@dataclass(frozen=True)
class Picture:
    """Sets of names by kind."""

    kinds: dict[str, frozenset[str]]


def processes_of(binaries: Path) -> list[int]:
    """Living processes that execute a program in this folder, or were forked from one that does."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if Path(os.readlink(folder / "exe")).parent == binaries:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found.append(int(folder.name))
        except OSError:
            continue
    return found


def _identity(path: Path) -> str:
    """The device and inode of a file, as /proc/locks writes them."""
    status = path.stat()
    return f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"


def other_instances(runtimes: tuple[Path, ...], ours: list[int]) -> set[str]:
    """Numbers of instances that live and are not of our making: somebody else works on this machine."""
    names = {_identity(lock): lock.stem for base in runtimes for lock in base.glob("*.lock")}
    found = set()
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if "FLOCK" in fields and "->" not in fields:
            if fields[5] in names and int(fields[4]) not in ours:
                found.add(names[fields[5]])
    return found


def cgroups() -> list[Path]:
    """Groups of boxes in every hierarchy: casemate.i<instance>.b<box>."""
    return [
        Path(folder, name) for folder, names, _ in os.walk(CGROUPS) for name in names if name.startswith("casemate.i")
    ]


def instance_of(group: Path) -> str:
    """The number of the instance that a group belongs to."""
    return group.name.split(".")[1].removeprefix("i")


def mounts() -> set[str]:
    """Mount points in our namespace, without their numbers."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {" ".join(line.split(" ")[3:]) for line in lines}


def files(runtimes: tuple[Path, ...]) -> list[Path]:
    """What stands in the runtime directories beside the lock files, which stay by design."""
    found = [path for base in runtimes if base.is_dir() for path in base.iterdir()]
    return [path for path in found if path.suffix != ".lock"]


def look(binaries: Path, runtimes: tuple[Path, ...] = (ROOT_RUNTIME,)) -> Picture:
    """What there is now."""
    ours = processes_of(binaries)
    others = other_instances(runtimes, ours)
    groups, names = cgroups(), files(runtimes)
    # Again, for one that came while we looked.
    others |= other_instances(runtimes, processes_of(binaries))
    return Picture(
        {
            "processes": frozenset(str(pid) for pid in ours),
            "cgroups": frozenset(str(group) for group in groups if instance_of(group) not in others),
            "mounts": frozenset(mounts()),
            "files": frozenset(str(path) for path in names if path.stem not in others),
        }
    )


def left(before: Picture, now: Picture) -> dict[str, list[str]]:
    """What `now` has and `before` had not, by kind; only kinds with something in them."""
    more = {kind: sorted(names - before.kinds[kind]) for kind, names in now.kinds.items()}
    return {kind: names for kind, names in more.items() if names}


def wait_until_gone(
    before: Picture,
    binaries: Path,
    *,
    seconds: float,
    kinds: set[str] | None = None,
    runtimes: tuple[Path, ...] = (ROOT_RUNTIME,),
) -> dict[str, list[str]]:
    """Looks again until nothing of these kinds is left or the time is over. What is left then.

    Nothing tells the end of a process that is not our child, hence the pauses.
    """
    end = time.monotonic() + seconds
    while True:
        remains = {
            kind: names
            for kind, names in left(before, look(binaries, runtimes)).items()
            if kinds is None or kind in kinds
        }
        if not remains or time.monotonic() > end:
            return remains
        time.sleep(0.01)
