"""A box that parks without a nest: its guest prepares itself, and the engine says when it waits."""

from __future__ import annotations

import os
import time

import protocol
import pytest
import remains
from pathlib import Path
from warden import Warden
from warden_test import CAUSE, PYTHON, SLEEP, set_timer

# Waits for a byte on the control socket, as a guest does for its program.
WAITS = [*PYTHON, "import os; os.write(3, b'p'); os.read(3, 1); print('ran')"]


def park(warden: Warden, number: int) -> list[int]:
    """Says that its guest waits; the descriptors of its BoxParked."""
    fds: list[int] = []
    warden.send("ParkBox", number)
    warden.receive("BoxParked", fds=fds)
    return fds


def close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def test_the_time_of_a_box_runs_when_it_was_started(warden: Warden) -> None:
    box = warden.make(1, WAITS, parks=1, wall_max_ms=300, cpu_time_max_ms=300)
    assert box.control.recv(1) == b"p"
    time.sleep(0.6)  # longer than its wall limit
    fds = park(warden, 1)
    box.control.sendall(b"go")
    assert warden.receive("BoxEnded").cause == CAUSE["kProgram"]
    assert box.output() == b"ran\n"
    assert warden.destroy(1).destroyed == 1
    close(fds)


def test_a_parked_box_ends_by_its_timer_and_by_its_limits(warden: Warden) -> None:
    warden.make(1, [*PYTHON, "import time; time.sleep(60)"], parks=1)
    fds = park_when_made(warden, 1)
    set_timer(fds[0], seconds=0.2)
    ended = warden.receive("BoxEnded")
    assert (ended.header.box, ended.cause) == (1, CAUSE["kWall"])
    assert warden.destroy(1).destroyed == 1
    warden.make(2, [*PYTHON, "while True: pass"], parks=1)
    more = park_when_made(warden, 2)
    warden.send("StartBox", 2, wall_max_ms=20_000, cpu_time_max_ms=200, running_us=0)
    assert warden.receive("BoxEnded").cause == CAUSE["kCpuTime"]
    assert warden.destroy(2).destroyed == 1
    close([*fds, *more])


def park_when_made(warden: Warden, number: int) -> list[int]:
    """As park(), of a guest that says nothing: until the box is made, parking it comes to nothing."""
    fds: list[int] = []
    end = time.monotonic() + 20
    while not fds and time.monotonic() < end:
        warden.send("ParkBox", number)
        time.sleep(0.02)
        if warden.answers():
            warden.receive("BoxParked", fds=fds)
    assert fds, "it was not parked in time"
    return fds


def test_a_box_that_is_never_parked_ends(warden: Warden) -> None:
    warden.make(1, [*PYTHON, "raise SystemExit(3)"], parks=1)
    ended = warden.receive("BoxEnded")
    assert (ended.cause, ended.exit_code) == (CAUSE["kProgram"], 3)
    warden.send("ParkBox", 1)
    warden.send("StartBox", 1, wall_max_ms=1, cpu_time_max_ms=1, running_us=0)
    assert warden.destroy(1).destroyed == 1


def test_only_a_box_that_parks_is_parked(warden: Warden) -> None:
    warden.make(1, SLEEP)
    warden.receive("BoxStarted")
    for number in (1, 1, 77):
        warden.send("ParkBox", number)
    warden.make(2, WAITS, parks=1)
    assert warden.boxes[2].control.recv(1) == b"p"
    fds = park(warden, 2)  # the first that is said: of the others nothing came
    warden.send("ParkBox", 2)  # a second time
    assert warden.destroy(1).destroyed == 1
    assert warden.destroy(2, started=False).destroyed == 1
    close(fds)


def test_parked_boxes_leave_nothing(warden: Warden, binaries: Path) -> None:
    def make_and_destroy(number: int) -> None:
        box = warden.make(number, WAITS, parks=1)
        assert box.control.recv(1) == b"p"
        close(park(warden, number))
        assert warden.destroy(number, started=False).destroyed == 1

    make_and_destroy(100)  # the watch of all timers is made with the first
    before = remains.look(binaries)
    held = warden.descriptors()
    for number in range(1, 21):
        make_and_destroy(number)
    assert warden.descriptors() == held
    assert warden.children() == []
    assert remains.left(before, remains.look(binaries)) == {}


@pytest.mark.parametrize("values", [{"rung": 7}, {"rung": 1}], ids=["no such rung", "no runtime with it"])
def test_a_rung_that_cannot_be_is_refused(warden: Warden, values: dict[str, int]) -> None:
    warden.make(1, SLEEP, **values)
    ended = warden.receive_end()
    assert ended.cause == CAUSE["kSetupFailed"], protocol.shown(ended)
    assert warden.destroy(1).destroyed == 1
