"""Each step of making a box fails once: an honest end, and nothing is left.

Every number of src/jail/stage.h is a step that a box of root's goes through, but for those named here:
an ordinary user's box goes through them (ordinary_user_test.py).
"""

from __future__ import annotations

import os
from pathlib import Path

import protocol
import pytest
import remains
from e2e.conftest import Casemate
from warden import Warden

PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
SLEEP = [*PYTHON, "import time; time.sleep(60)"]
# Root makes the devices beforehand.
NOT_TAKEN_BY_ROOT = {"kBindDevice"}
STAGES = [(number, name) for number, name in enumerate(protocol.stages(), start=1) if name not in NOT_TAKEN_BY_ROOT]


@pytest.mark.parametrize(("number", "name"), STAGES, ids=[name for _, name in STAGES])
def test_a_failing_step_is_never_the_programs_fault(
    casemate_test: Casemate, binaries: Path, before: remains.Picture, number: int, name: str
) -> None:
    ended = casemate_test.python("print('never')", "--test-fail-stage", str(number))
    outcome = ended.outcome
    assert outcome["status"] == "unavailable", outcome
    assert ended.exit_code == 4
    assert outcome["reason"]["code"] == "sandbox_unavailable"
    assert outcome["teardown"] == {"verdict": "destroyed"}
    assert outcome["stdout"]["text"] == outcome["stderr"]["text"] == ""
    assert not {"exit_code", "signal", "exception", "limit"} & outcome.keys(), outcome
    assert "This is not the program's fault" in outcome["report"]
    assert "never" not in outcome["report"]
    assert ended.stderr == ""
    assert remains.left(before, remains.look(binaries)) == {}


# A runtime could not stand it: walls_of_runtime in src/frame/walls.h.
NOT_TAKEN: dict[str, set[str]] = {"gvisor": {"kLandlock"}, "microvm": set()}
PROGRAMS = {"gvisor": "/usr/bin/runsc", "microvm": "/usr/bin/qemu-system-x86_64"}


@pytest.mark.parametrize(("number", "name"), STAGES, ids=[name for _, name in STAGES])
@pytest.mark.parametrize("rung", PROGRAMS)
def test_a_failing_step_on_a_stronger_rung(
    casemate_test: Casemate, binaries: Path, before: remains.Picture, rung: str, number: int, name: str
) -> None:
    if not os.access(PROGRAMS[rung], os.X_OK):
        pytest.skip(f"needs {PROGRAMS[rung]}")
    outcome = casemate_test.python("print(1)", "--isolation", rung, "--test-fail-stage", str(number)).outcome
    if name in NOT_TAKEN[rung]:
        assert (outcome["status"], outcome["stdout"]["text"]) == ("ok", "1\n"), outcome
    else:
        assert (outcome["status"], outcome["reason"]["code"]) == ("unavailable", "sandbox_unavailable"), outcome
        assert outcome["stdout"]["text"] == outcome["stderr"]["text"] == "", outcome
    assert outcome["isolation"] == rung and outcome["teardown"] == {"verdict": "destroyed"}, outcome
    assert remains.left(before, remains.look(binaries)) == {}


@pytest.mark.parametrize("name", sorted(NOT_TAKEN_BY_ROOT))
def test_a_step_that_is_not_taken_cannot_fail(casemate_test: Casemate, name: str) -> None:
    number = protocol.stages().index(name) + 1
    assert casemate_test.python("print(1)", "--test-fail-stage", str(number)).outcome["status"] == "ok"


@pytest.mark.parametrize(("number", "name"), STAGES[::6], ids=[name for _, name in STAGES[::6]])
def test_a_failing_step_is_one_clear_line(casemate_test: Casemate, number: int, name: str) -> None:
    ended = casemate_test.call("run", "--trust", "trusted", "--test-fail-stage", str(number), "-c", "print('never')")
    assert ended.exit_code == 4
    assert ended.stdout == b""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("casemate: unavailable: sandbox_unavailable: the box could not be made: "), lines
    # It says what failed in words, and why.
    assert protocol.stage_texts()[number - 1] in lines[0], lines
    assert lines[0].endswith("Input/output error"), lines


def test_one_warden_survives_every_failing_step(warden_test: Warden, binaries: Path) -> None:
    assert warden_test.hello.test_build == 1
    number = 0

    def make_a_good_box() -> None:
        nonlocal number
        number += 1
        box = warden_test.make(number, [*PYTHON, "print('here')"])
        warden_test.receive("BoxStarted")
        assert warden_test.receive("BoxEnded").cause == protocol.causes()["kProgram"]
        assert box.output() == b"here\n"
        assert warden_test.destroy(number).destroyed == 1

    make_a_good_box()
    before = remains.look(binaries)
    held = warden_test.descriptors()
    for stage, name in STAGES:
        number += 1
        warden_test.make(number, SLEEP, fail_stage=stage)
        ended = warden_test.receive_end()
        assert ended.cause == protocol.causes()["kSetupFailed"], name
        assert ended.stage == stage, name
        assert ended.errno_value == 5, name
        assert warden_test.destroy(number).destroyed == 1, name
        assert warden_test.descriptors() == held, f"after {name}"
        assert remains.left(before, remains.look(binaries)) == {}, f"after {name}"
    make_a_good_box()
    assert warden_test.descriptors() == held


def test_a_failing_step_leaves_the_boxes_beside_it_alone(warden_test: Warden) -> None:
    warden_test.make(1, SLEEP)
    warden_test.receive("BoxStarted")
    init = warden_test.children()
    for stage, name in STAGES[::5]:
        warden_test.make(2, SLEEP, fail_stage=stage)
        assert warden_test.receive_end().stage == stage, name
        assert warden_test.destroy(2).destroyed == 1, name
        assert warden_test.children() == init, f"after {name}"
    assert warden_test.destroy(1).destroyed == 1
