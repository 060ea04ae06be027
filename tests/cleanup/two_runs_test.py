"""Two runs at once, one of them killed: the other, and what a third start clears up after the dead one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import remains
from e2e.conftest import Casemate
from family import Family, find_family

# Goes on when it is told to, by a signal.
PROGRAM = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("first", flush=True)
open("ready", "w").close()
signal.sigwait({signal.SIGUSR1})
print("last", flush=True)
"""


def start(casemate: Casemate) -> tuple[subprocess.Popen[bytes], Family]:
    """A run whose program has begun, and its processes."""
    process = casemate.start("run", "--json", "--trust", "trusted", "-c", PROGRAM)
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        family = find_family(process.pid)
        if family.guest is not None and Path(f"/proc/{family.guest}/root", "vol/work/ready").exists():
            return process, family
        time.sleep(0.005)
    pytest.fail("the run did not begin")


def let_go(family: Family) -> None:
    """Has the program of the run end."""
    assert family.guest is not None
    os.kill(family.guest, signal.SIGUSR1)


def groups_of(pid: int) -> list[Path]:
    """The groups of ours that hold this process."""
    return sorted(path for path in remains.cgroups() if str(pid) in members_of(path))


def members_of(group: Path) -> list[str]:
    """The processes in a group, which may go at any time when it is somebody else's."""
    try:
        return (group / "cgroup.procs").read_text().split()
    except OSError:
        return []


@pytest.mark.parametrize("victim", ["engine", "warden"])
def test_the_other_one_is_unharmed(casemate: Casemate, binaries: Path, before: remains.Picture, victim: str) -> None:
    survivor, kept = start(casemate)
    doomed, lost = start(casemate)
    assert kept.guest is not None and lost.guest is not None
    groups = groups_of(kept.guest)
    dead_groups = groups_of(lost.guest)
    assert groups and dead_groups and not set(groups) & set(dead_groups)

    os.kill(getattr(lost, victim), signal.SIGKILL)
    doomed.communicate(timeout=20)
    # A third one clears up after the dead and leaves the living alone.
    third = casemate.python("print('third')")
    assert third.outcome["stdout"]["text"] == "third\n"
    assert not [group for group in dead_groups if group.exists()]
    assert groups_of(kept.guest) == groups
    assert find_family(survivor.pid) == kept

    let_go(kept)
    out, _ = survivor.communicate(timeout=20)
    outcome = json.loads(out)
    assert (survivor.returncode, outcome["status"]) == (0, "ok"), outcome
    assert outcome["stdout"]["text"] == "first\nlast\n"
    assert outcome["teardown"]["verdict"] == "destroyed"
    assert remains.wait_until_gone(before, binaries, seconds=5.0) == {}


def test_what_cannot_be_removed_costs_a_number_and_not_the_service(
    casemate: Casemate, binaries: Path, before: remains.Picture
) -> None:
    process, family = start(casemate)
    assert family.guest is not None and family.warden is not None
    (memory,) = [group for group in groups_of(family.guest) if "memory" in str(group)]
    number = memory.name.split(".")[1].removeprefix("i")
    inside = memory / "stays"
    inside.mkdir()
    try:
        os.kill(family.warden, signal.SIGKILL)
        process.communicate(timeout=20)
        # The first start tries for a while, the second does not wait any more; both run.
        assert casemate.python("print(1)").outcome["status"] == "ok"
        again = casemate.python("print(2)")
        assert again.outcome["status"] == "ok"
        assert again.seconds < 5.0
        assert Path(f"/run/casemate/{number}.quarantined").exists()
        assert memory.exists()
    finally:
        inside.rmdir()
    # Once it can be removed, it is, and its number comes back.
    assert casemate.python("print(3)").outcome["status"] == "ok"
    assert remains.wait_until_gone(before, binaries, seconds=5.0) == {}


def test_a_box_that_cannot_be_removed_is_said_to_be_quarantined(
    casemate: Casemate, binaries: Path, before: remains.Picture
) -> None:
    process, family = start(casemate)
    assert family.guest is not None
    (memory,) = [group for group in groups_of(family.guest) if "memory" in str(group)]
    inside = memory / "stays"
    inside.mkdir()
    try:
        let_go(family)
        out, _ = process.communicate(timeout=40)
        outcome = json.loads(out)
        assert outcome["status"] == "ok" and outcome["stdout"]["text"] == "first\nlast\n"
        assert outcome["teardown"]["verdict"] == "quarantined", outcome
    finally:
        inside.rmdir()
    assert casemate.python("print(1)").outcome["status"] == "ok"
    assert remains.wait_until_gone(before, binaries, seconds=5.0) == {}
