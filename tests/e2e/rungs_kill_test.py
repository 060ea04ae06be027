"""A kill of any process of a gvisor box, at any instant of its life: nothing is left, and the outcome says what happened.

What is left (processes, groups, mounts, files) is looked for by the fixture of conftest.py after each test."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SLOW, Casemate, descendants, wait_for

pytestmark = pytest.mark.skipif(shutil.which("runsc") is None, reason="needs runsc")
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


@pytest.mark.parametrize("role", ROLES)
def test_a_kill_while_the_program_runs(casemate: Casemate, role: str) -> None:
    process = casemate.start(*RUN, "-c", CODE)
    assert wait_for(lambda: len(victims(process.pid, "stub")) >= 3, 30 * SLOW)
    os.kill(victims(process.pid, role)[0], signal.SIGKILL)
    check(casemate, role, end_of(process))


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
