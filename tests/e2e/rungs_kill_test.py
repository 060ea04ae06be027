"""A kill of any process of a stronger rung's box, at any instant of its life: nothing is left, and the outcome says
what happened.

What is left (processes, groups, mounts, files) is looked for by the fixture of conftest.py after each test."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SLOW, Casemate, descendants, wait_for
from rungs import needs

RUN = ("run", "--json", "--isolation", "gvisor", "--trust", "trusted")
# Descendants that live as long as the program; it does not end by itself in the time of this test.
CODE = "import subprocess, time\nsubprocess.Popen(['sleep', '300'])\nprint('up', flush=True)\ntime.sleep(300)"


def role_of(pid: int) -> str:
    """Which part of a run a process is; empty for one that has ended or is in between."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        status = Path(f"/proc/{pid}/status").read_text()
        parent = int(status.split("PPid:")[1].split()[0])
        above = Path(f"/proc/{parent}/cmdline").read_bytes()
    except (OSError, IndexError, ValueError):
        return ""
    if "TracerPid:\t0" not in status:
        return "stub"  # a guest's code runs in it, traced by the kernel in user space
    if b"warden" in command[0]:
        return "init" if b"warden" in above else "warden"
    if b"qemu-system" in command[0] or command[0].endswith(b"casemate-microvm"):
        return "qemu" if b"qemu-system" in command[0] else "launcher"
    words = {b"gofer": "gofer", b"boot": "kernel", b"run": "runsc"}
    return next((role for word, role in words.items() if word in command[1:]), "")


ROLES = ["casemate", "warden", "init", "runsc", "gofer", "kernel", "stub"]


def victims(above: int, role: str) -> list[int]:
    return [above] if role == "casemate" else [pid for pid in descendants(above) if role_of(pid) == role]


def end_of(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """The outcome; of a run that a kill did not end when it was asked to stop. None: there is none."""
    try:
        out, _ = process.communicate(timeout=3 * SLOW)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, _ = process.communicate(timeout=30 * SLOW)
    return json.loads(out) if out else None


def check(casemate: Casemate, role: str, outcome: dict[str, Any] | None) -> None:
    if role == "casemate":
        assert outcome is None
    else:
        assert outcome is not None
        # Not the program's fault, but where the kill was a guest's own process, or none that a guest needs.
        fits = {"stub": ("unavailable", "error", "cancelled"), "gofer": ("unavailable", "cancelled")}
        assert outcome["status"] in fits.get(role, ("unavailable",)), outcome
        if role != "warden":
            assert outcome["teardown"]["verdict"] == "destroyed", outcome
    if role in ("casemate", "warden"):  # what it left is removed by the next
        assert casemate.call("run", "--json", "--trust", "trusted", "-c", "1").outcome["status"] == "ok"


@needs("gvisor")
@pytest.mark.parametrize("role", ROLES)
def test_a_kill_while_the_program_runs(casemate: Casemate, role: str) -> None:
    process = casemate.start(*RUN, "-c", CODE)
    assert wait_for(lambda: len(victims(process.pid, "stub")) >= 3, 30 * SLOW)
    os.kill(victims(process.pid, role)[0], signal.SIGKILL)
    check(casemate, role, end_of(process))


@needs("gvisor")
@pytest.mark.parametrize("seed", range(50))
def test_a_kill_at_a_seeded_instant(casemate: Casemate, seed: int) -> None:
    """From the start of the box on, whatever is there by then."""
    choose = random.Random(seed)
    role = choose.choice(ROLES)
    process = casemate.start(*RUN, "-c", CODE)
    assert wait_for(lambda: bool(victims(process.pid, role)), 30 * SLOW)
    time.sleep(choose.uniform(0, 0.3) * SLOW)
    found = victims(process.pid, role)
    try:
        os.kill(choose.choice(found), signal.SIGKILL)
    except (ProcessLookupError, IndexError):  # one that lived for a moment alone
        process.terminate()
        assert (end_of(process) or {}).get("status") == "cancelled"
        return
    check(casemate, role, end_of(process))


# A machine takes some seconds to boot, a template as long again; then its runs are short. Seconds from the start of
# casemate on, in which all of that is over on a quiet host.
MACHINE: dict[str, tuple[list[str], float]] = {"cold": ([], 5.0), "hot": (["--start", "hot", "--repeat", "4"], 12.0)}
MACHINE_ROLES = ["casemate", "warden", "init", "launcher", "qemu"]
MACHINE_CODE = "import time\nprint('up', flush=True)\ntime.sleep(0.5)\nprint('done')"


def check_honest(outcome: dict[str, Any], role: str) -> None:
    """All of it was done, or none of it is called the program's fault; what is not shown to be gone is not said to be."""
    if outcome["status"] == "ok":
        assert outcome["stdout"]["text"] == "up\ndone\n", outcome
    else:
        assert outcome["status"] == "unavailable" and "up\ndone\n".startswith(outcome["stdout"]["text"]), outcome
        assert not {"exit_code", "signal", "exception", "limit"} & outcome.keys(), outcome
    if role != "warden":
        assert outcome["teardown"]["verdict"] == "destroyed", outcome
    elif outcome["status"] != "ok":
        assert outcome["teardown"]["verdict"] in ("destroyed", "quarantined"), outcome


@needs("microvm")
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("how", MACHINE)
def test_a_kill_of_a_machine_at_a_seeded_instant(casemate: Casemate, how: str, seed: int) -> None:
    """Of its boot, the making of a template, its restoring, the run and the end of all of them."""
    choose = random.Random(seed)
    role = MACHINE_ROLES[seed % len(MACHINE_ROLES)]
    options, seconds = MACHINE[how]
    process = casemate.start("run", "--json", "--isolation", "microvm", "--trust", "trusted", *options, "-c", MACHINE_CODE)
    begun = time.monotonic()
    time.sleep(choose.uniform(0, seconds) * SLOW)
    killed = 0
    while not killed and process.poll() is None:  # or as soon after as there is one
        for pid in choose.sample(found := victims(process.pid, role), len(found))[:1]:
            try:
                os.kill(pid, signal.SIGKILL)
                killed = pid
            except ProcessLookupError:
                pass
    print(f"{role} after {time.monotonic() - begun:.2f} s: {killed or 'it had ended'}")
    out, err = process.communicate(timeout=90 * SLOW)
    outcomes = [json.loads(line) for line in out.splitlines()]
    for outcome in outcomes:
        check_honest(outcome, role)
    hurt = [outcome for outcome in outcomes if outcome["status"] != "ok"]
    assert len(hurt) <= 1 and (outcomes or role == "casemate"), (outcomes, err)
    if role in ("casemate", "warden"):  # what it left is removed by the next
        assert casemate.call("run", "--json", "--trust", "trusted", "-c", "1").outcome["status"] == "ok"
