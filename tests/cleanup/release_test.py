"""A release has no hooks: what a test build would obey, the warden that people run does not look at."""

from __future__ import annotations

from pathlib import Path

import protocol
from warden import Warden

PRINT = ["/usr/bin/python3", "-I", "-S", "-c", "print('whole')"]
CAUSE = protocol.causes()
EVERY_WALL = (1 << 63) - 1


def test_a_wall_cannot_be_switched_off(warden: Warden) -> None:
    box = warden.make(1, PRINT, walls_off=EVERY_WALL)
    started = warden.receive("BoxStarted")
    # All of them, however many there are: the bits from the first to the last wall without a gap.
    assert started.walls_on & (started.walls_on + 1) == 0 and started.walls_on.bit_length() > 30
    assert warden.receive("BoxEnded").cause == CAUSE["kProgram"]
    assert box.output() == b"whole\n"
    assert warden.destroy(1).destroyed == 1


def test_a_step_cannot_be_made_to_fail(warden: Warden) -> None:
    for number in range(1, len(protocol.stages()) + 1):
        warden.make(number, PRINT, fail_stage=number)
        assert warden.receive_end().cause == CAUSE["kProgram"]
        assert warden.destroy(number).destroyed == 1


def test_the_same_requests_are_obeyed_by_a_test_build(warden_test: Warden) -> None:
    warden_test.make(1, PRINT, walls_off=1 << 20)
    started = warden_test.receive("BoxStarted")
    assert started.walls_on & (1 << 20) == 0
    warden_test.receive("BoxEnded")
    warden_test.destroy(1)
    warden_test.make(2, PRINT, fail_stage=1)
    assert warden_test.receive_end().cause == CAUSE["kSetupFailed"]


def test_the_command_has_no_option_for_it(binaries: Path) -> None:
    assert b"--test-walls-off" not in (binaries / "casemate").read_bytes()
    assert b"--test-walls-off" in (binaries / "casemate-test").read_bytes()


def test_a_zygotes_module_with_hooks_is_in_another_tree(binaries: Path) -> None:
    share = binaries.parent / "share/casemate"
    (module,) = (share / "guest").rglob("*.so")
    assert module.name == "_casemate_slot.abi3.so" and b"test_hooks" not in module.read_bytes()
    (hooked,) = (share / "guest_test_hooks").rglob("*.so")
    assert b"PyInit__casemate_slot_test_hooks" in hooked.read_bytes()
    # Each program has the path of its own tree, and the other's nowhere.
    assert b"guest_test_hooks" not in (binaries / "casemate").read_bytes()
    assert b"guest_test_hooks" in (binaries / "casemate-test").read_bytes()
