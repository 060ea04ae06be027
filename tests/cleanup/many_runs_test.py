"""Runs, one after another: nothing grows."""

from __future__ import annotations

from pathlib import Path

import remains
from e2e.conftest import Casemate

RUNS = 200


def kernel_memory() -> dict[str, int]:
    """What the kernel says it uses for itself, in kB."""
    rows = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {
        row[0].rstrip(":"): int(row[1]) for row in rows if row[0] in ("Slab:", "SUnreclaim:", "Percpu:", "KernelStack:")
    }


def numbers(binaries: Path) -> dict[str, int]:
    """Everything that could grow by one with every run."""
    picture = remains.look(binaries)
    counted = {kind: len(names) for kind, names in picture.kinds.items()}
    counted["locks"] = len(list(remains.ROOT_RUNTIME.glob("*.lock")))
    counted["open files of the host"] = int(Path("/proc/sys/fs/file-nr").read_text().split()[0]) // 500
    counted["zombies"] = sum(1 for path in Path("/proc").glob("[0-9]*/stat") if is_zombie(path))
    for line in Path("/proc/cgroups").read_text().splitlines()[1:]:
        name, _, count, _ = line.split()
        if name in ("pids", "cpu"):
            counted[f"groups of {name}"] = int(count)
    return counted


def is_zombie(stat: Path) -> bool:
    """A dead child of ours that nobody reaped."""
    try:
        text = stat.read_text()
    except OSError:
        return False
    return "casemate" in text.partition(")")[0] and text.rpartition(")")[2].split()[0] == "Z"


def test_two_hundred_runs_in_sequence(casemate: Casemate, binaries: Path) -> None:
    for _ in range(5):  # what is made once is there after these
        casemate.python("print(0)")
    before, memory_before = numbers(binaries), kernel_memory()
    for number in range(RUNS):
        ended = casemate.python("import sys; print(len(sys.argv))", "--pids", str(16 + number % 3))
        assert ended.outcome["status"] == "ok", ended
        assert ended.outcome["teardown"]["verdict"] == "destroyed"
    after, memory_after = numbers(binaries), kernel_memory()
    drift = {name: memory_after[name] - memory_before[name] for name in memory_before}
    # Reported only: the kernel frees control groups and namespaces in its own time.
    print(f"after {RUNS} runs: {drift} kB, {({name: after[name] - before[name] for name in before})}")
    grown = {name: after[name] - before[name] for name in before if after[name] > before[name] + 20}
    assert not grown, grown
    for kind in ("processes", "cgroups", "mounts", "files", "locks", "zombies"):
        assert after[kind] <= before[kind], (kind, before, after)
