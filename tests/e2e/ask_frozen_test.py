"""A run that waits for a person stands still, with its clocks; whatever dies then, nothing is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from ask_kit import CATCH, POLICY, SCHEMA, Asking, ask_program, frozen_groups
from conftest import SLOW, Casemate, descendants, wait_for
from rungs import on
from tools_kit import Tools

STARTS = ["cold", "hot"]
FREEZES = bool(list(Path("/sys/fs/cgroup").glob("**/cgroup.controllers")))
needs_v2 = pytest.mark.skipif(not FREEZES, reason="needs cgroup v2")
# Counts in a thread while the other asks: what it counted is how long it ran.
COUNT = (
    "import threading, time\nrounds, over = 0, False\n"
    "def count():\n    global rounds\n    while not over: rounds += 1; time.sleep(0.01)\n"
    "thread = threading.Thread(target=count); thread.start()\n" + CATCH + "over = True; thread.join(); print(rounds)"
)


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    made = Tools(casemate, tmp_path)
    made.policy = POLICY
    made.tool("peer.echo", arguments=SCHEMA)
    made.tool("peer.slow")
    return made


def standing(kit: Tools, program: str, *options: str, start: str = "cold") -> tuple[Asking, str]:
    """A run that waits, its box frozen, and the id of the call."""
    run = Asking(kit, program, "--start", start, *options)
    (ask,) = run.asks()
    if FREEZES:
        assert wait_for(lambda: len(frozen_groups()) == 1, seconds=10 * SLOW), "no box stands still"
    return run, ask["id"]


@needs_v2
@pytest.mark.parametrize("start", STARTS)
def test_it_stands_still_and_goes_on(kit: Tools, start: str) -> None:
    run, call = standing(kit, COUNT, start=start)
    time.sleep(2)
    run.approvals("allow", call)
    outcome = run.ended()
    first, rounds = outcome["stdout"]["text"].splitlines()
    assert first == "{'to': 'a'}" and int(rounds) < 100, "it ran while it should have stood still"
    assert outcome["waited"]["frozen"] is True and outcome["waited"]["ms"] >= 1900
    assert outcome["timing"]["start"] == start and frozen_groups() == []


@pytest.mark.parametrize("start", STARTS)
def test_waiting_is_not_the_run_s_time(kit: Tools, start: str) -> None:
    run, call = standing(kit, CATCH, "--wall", "3s", start=start)
    time.sleep(5 * SLOW)
    run.approvals("allow", call)
    outcome = run.ended()
    assert outcome["status"] == "ok", outcome["report"]
    assert outcome["usage"]["wall_ms"] < 3000 * SLOW and outcome["waited"]["ms"] >= 4500


@pytest.mark.parametrize("start", STARTS)
def test_its_time_goes_on_afterwards(kit: Tools, start: str) -> None:
    run, call = standing(kit, CATCH + "import time\ntime.sleep(60)", "--wall", "3s", start=start)
    time.sleep(2)
    run.approvals("allow", call)
    outcome = run.ended(20)
    assert (outcome["status"], outcome["limit"]["name"]) == ("limit", "wall"), outcome


@pytest.mark.parametrize("start", STARTS)
def test_cancelled_while_it_stands_still(kit: Tools, start: str) -> None:
    run, _ = standing(kit, CATCH, start=start)
    begun = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    assert run.ended(20)["status"] == "cancelled" and time.monotonic() - begun < 5 * SLOW
    assert frozen_groups() == []


@pytest.mark.parametrize("start", STARTS)
def test_the_engine_dies_while_it_stands_still(kit: Tools, start: str) -> None:
    run, _ = standing(kit, CATCH, start=start)
    run.process.kill()
    run.process.communicate(timeout=20)
    assert wait_for(lambda: not descendants() and not frozen_groups(), seconds=20 * SLOW), descendants()
    assert run.listed() == []  # which removes its socket


@pytest.mark.parametrize("start", STARTS)
def test_the_warden_dies_while_it_stands_still(kit: Tools, start: str) -> None:
    run, _ = standing(kit, CATCH, start=start)
    (warden,) = [pid for pid, command in descendants(run.process.pid, generations=1).items() if "warden" in command]
    os.kill(warden, signal.SIGKILL)
    run.process.communicate(timeout=30 * SLOW)
    # What stands still cannot see that its link has closed: the kernel tells it.
    assert wait_for(lambda: not descendants(), seconds=10 * SLOW), descendants()
    assert kit.casemate.python("print(1)").outcome["status"] == "ok"  # which removes the groups
    assert frozen_groups() == []


def test_answers_that_are_given_one_by_one(kit: Tools) -> None:
    run = Asking(kit, ask_program(3))
    asks = run.asks(3)
    run.approvals("allow", asks[0]["id"])
    assert wait_for(lambda: len(kit.effects) == 1, seconds=5 * SLOW), "what is answered is made"
    assert len(run.asks(2)) == 2
    for ask in asks[1:]:
        run.approvals("allow", ask["id"])
    assert run.ended()["stdout"]["text"] == "['0', '1', '2']\n"


def test_without_control_groups_its_clock_alone_stands_still(kit: Tools) -> None:
    run = Asking(kit, CATCH, "--weaken", "no-cgroup", "--wall", "3s")
    (ask,) = run.asks()
    time.sleep(5 * SLOW)
    run.approvals("allow", ask["id"])
    outcome = run.ended()
    assert outcome["status"] == "ok" and outcome["waited"]["frozen"] is False, outcome


@pytest.mark.parametrize("rung", on("gvisor", "gvisor hot", "microvm hot"))
def test_the_same_on_the_other_rungs(kit: Tools, rung: str) -> None:
    name, _, start = rung.partition(" ")
    wall = 8 * SLOW
    run, call = standing(kit, COUNT, "--isolation", name, "--wall", f"{wall}s", start=start or "cold")
    time.sleep(wall)
    run.approvals("allow", call, "--arguments", '{"to": "b"}')
    outcome = run.ended(120)
    assert outcome["status"] == "ok" and outcome["stdout"]["text"].startswith("{'to': 'b'}\n"), outcome["report"]
    assert (outcome["isolation"], outcome["waited"]["frozen"]) == (name, True)
    assert int(outcome["stdout"]["text"].split()[-1]) < wall * 50
