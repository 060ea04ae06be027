"""One of the processes of a run is killed with SIGKILL at a random instant of its life.

The outcome, if there still is somebody to tell one, is honest: what we killed is never the program's
fault, and `ok` means that all of it was done. Nothing is left: at once when the warden lives, after
the next start when it was the one that died.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import remains
from e2e.conftest import Casemate
from family import Family, find_family

SEED = int(os.environ.get("CASEMATE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ROUNDS = 20

# Prints, leaves a child in a session of its own, computes, declares a product, prints.
PROGRAM = """
import os, time
print("one", flush=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
import casemate
with open("out/product.bin", "wb") as product:
    product.write(b"p" * 300_000)
casemate.artifact("out/product.bin", summary="a product")
end = time.monotonic() + 0.04
while time.monotonic() < end:
    pass
print("two", flush=True)
"""
WHOLE = "one\ntwo\n"


@dataclass
class Life:
    """How long an undisturbed run takes here, in seconds."""

    seconds: float


@pytest.fixture(scope="module")
def life(casemate: Casemate, binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Measures it."""
    out = tmp_path_factory.mktemp("out")
    return Life(min(casemate.python(PROGRAM, "--out", str(out)).seconds for _ in range(5)))


def kill_at(process: subprocess.Popen[bytes], victim: str, instant: float) -> Family | None:
    """Kills one member of the run's family at the instant, or as soon after as it is there."""
    time.sleep(max(0.0, instant - time.monotonic()))
    while process.poll() is None:
        family = find_family(process.pid)
        pid = getattr(family, victim)
        if pid is not None:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return None
            return family
    return None


def check_honest(victim: str, outcome: dict[str, Any], out: Path) -> None:
    """What an outcome may say when this process was killed."""
    status, text = outcome["status"], outcome["stdout"]["text"]
    assert WHOLE.startswith(text), outcome
    stored = [artifact for artifact in outcome["artifacts"] if artifact["state"] == "stored"]
    for artifact in stored:
        assert (out / "product.bin").stat().st_size == artifact["bytes"] == 300_000
    if status == "ok":
        assert text == WHOLE and len(stored) == 1, outcome
        return
    if victim == "guest" and status == "error":
        # To the kernel, and so to us, it is a program that was killed: said as it is.
        assert outcome["signal"] == "SIGKILL" and "exit_code" not in outcome, outcome
        return
    assert status == "unavailable", outcome
    assert outcome["reason"]["code"] in ("sandbox_unavailable", "isolation_unavailable", "artifact_not_stored"), outcome
    assert "Do not change the program" in outcome["report"], outcome
    assert not {"signal", "limit", "exception"} & outcome.keys(), outcome
    # What is not shown to be gone is not called destroyed.
    if victim == "warden":
        assert outcome["teardown"]["verdict"] != "destroyed", outcome


def one_round(casemate: Casemate, victim: str, delay: float, out: Path) -> str:
    """Runs, kills, checks the outcome. A word for what happened."""
    begun = time.monotonic()
    process = casemate.start("run", "--json", "--trust", "trusted", "--out", out, "-c", PROGRAM)
    found = kill_at(process, victim, begun + delay)
    stdout, stderr = process.communicate(timeout=30)
    if victim == "engine" and process.returncode == -9:
        # It is the last thing that it writes.
        assert stdout == b"" or json.loads(stdout)["status"] == "ok"
        return "killed"
    assert stdout, (process.returncode, stderr)
    outcome = json.loads(stdout)
    assert process.returncode == {"ok": 0, "error": 1, "unavailable": 4}[outcome["status"]], outcome
    check_honest(victim, outcome, out)
    return str(outcome["status"]) + ("" if found else " (untouched)")


@pytest.mark.parametrize("victim", ["engine", "warden", "init", "guest"])
def test_killed_at_any_instant(
    casemate: Casemate,
    binaries: Path,
    before: remains.Picture,
    life: Life,
    tmp_path: Path,
    victim: str,
) -> None:
    print(f"CASEMATE_SEED={SEED}, a run takes {life.seconds * 1000:.0f} ms")
    chance = random.Random(f"{SEED} {victim}")
    for number in range(ROUNDS):
        # One instant in each part of its life, so that every part is met.
        delay = (number + chance.random()) / ROUNDS * life.seconds
        happened = one_round(casemate, victim, delay, tmp_path)
        print(f"{victim} after {delay * 1000:.1f} ms: {happened}")
        # Without a warden the groups stay, empty, until the next start; processes never do.
        kinds = {"processes", "mounts"} if victim == "warden" else None
        assert remains.wait_until_gone(before, binaries, seconds=5.0, kinds=kinds) == {}, f"after {delay} s"
        if victim == "warden":
            assert casemate.python("print(1)").outcome["status"] == "ok"
            assert remains.left(before, remains.look(binaries)) == {}, f"after {delay} s"


@pytest.mark.parametrize("to_group", [False, True], ids=["engine", "group"])
def test_interrupted_at_any_instant(
    casemate: Casemate, binaries: Path, before: remains.Picture, life: Life, tmp_path: Path, to_group: bool
) -> None:
    """Ctrl-C, to the engine alone and as a terminal sends it, to the whole group."""
    print(f"CASEMATE_SEED={SEED}")
    chance = random.Random(f"{SEED} interrupt {to_group}")
    for number in range(10):
        delay = (number + chance.random()) / 10 * life.seconds
        command = [str(casemate.binary), "run", "--json", "--trust", "trusted", "--out", str(tmp_path), "-c", PROGRAM]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(delay)
        if process.poll() is None:
            (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        print(f"after {delay * 1000:.1f} ms: {process.returncode}")
        if process.returncode == -signal.SIGINT:
            assert stdout == b""  # before there was anything to cancel
        else:
            outcome = json.loads(stdout)
            assert (process.returncode, outcome["status"]) in [(0, "ok"), (6, "cancelled")], (outcome, stderr)
            assert WHOLE.startswith(outcome["stdout"]["text"])
            assert outcome["teardown"]["verdict"] == "destroyed"
        assert remains.wait_until_gone(before, binaries, seconds=5.0) == {}, f"after {delay} s"
