"""What ends a run from outside: nothing is left of it, whoever is killed. The fixture looks."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from conftest import Casemate, descendants, wait_for

SLEEP = "import subprocess, time\nsubprocess.Popen(['sleep', '60'])\nprint('ready', flush=True)\ntime.sleep(60)"


def start(casemate: Casemate, *options: str) -> subprocess.Popen[bytes]:
    """A run that is under way: its program has said so."""
    process = casemate.start("run", "--trust", "trusted", *options, "-c", SLEEP)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_and_is_told(casemate: Casemate, number: signal.Signals) -> None:
    process = start(casemate)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 6, err


def test_a_cancelled_run_says_so_in_json(casemate: Casemate) -> None:
    process = casemate.start("run", "--json", "--trust", "trusted", "-c", SLEEP)
    # Its output comes with the outcome; that it runs is seen from its processes.
    while not any("sleep 60" in command for command in descendants().values()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    outcome = json.loads(out)
    assert outcome["status"] == "cancelled"
    assert outcome["teardown"]["verdict"] == "destroyed"
    assert outcome["stdout"]["text"] == "ready\n"


def test_killed_with_no_warning_nothing_is_left(casemate: Casemate) -> None:
    process = start(casemate)
    process.kill()
    process.communicate(timeout=20)


def test_a_killed_warden_is_our_failure_and_the_next_one_clears_up(casemate: Casemate) -> None:
    process = start(casemate)
    (warden,) = descendants(process.pid, generations=1)
    os.kill(warden, signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 4, err
    assert wait_for(lambda: not descendants(), seconds=5.0), descendants()
    # Its control groups are empty and cannot go by themselves: the next instance removes them.
    assert casemate.python("print(1)").outcome["status"] == "ok"
