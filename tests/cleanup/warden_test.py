"""One warden that lives long: it makes and ends boxes and holds nothing of those that are gone."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

import protocol
import pytest
import remains
from e2e.conftest import Casemate
from warden import Warden, children_of, open_things

PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
SLEEP = [*PYTHON, "import time; time.sleep(60)"]
CAUSE = protocol.causes()


def test_a_hundred_boxes_leave_no_descriptor(warden: Warden, binaries: Path) -> None:
    before = remains.look(binaries)
    held = warden.descriptors()
    for number in range(1, 101):
        # Every third writes to its layer, every third is ended from outside, every third is not waited for.
        warden.make(number, SLEEP if number % 3 else [*PYTHON, "open('out/x', 'w').write('x' * 5000)"])
        if number % 3 == 0:
            assert warden.receive_end().cause == CAUSE["kProgram"]
            failed, fds = warden.open_file(number, "work/out/x")
            assert failed == 0 and os.read(fds[0], 10000) == b"x" * 5000
            os.close(fds[0])
        elif number % 3 == 1:
            warden.receive("BoxStarted")
            warden.send("EndBox", number, cause=CAUSE["kCancelled"])
            assert warden.receive("BoxEnded").cause == CAUSE["kCancelled"]
        gone = warden.destroy(number, started=number % 3 != 2)
        rows = [gone.destroyed, gone.init_reaped, gone.groups_empty, gone.groups_removed, gone.layer_released]
        assert rows == [1] * 5
    assert warden.descriptors() == held
    assert warden.children() == []
    assert remains.left(before, remains.look(binaries)) == {}


def test_an_init_holds_nothing_of_the_warden_or_of_another_box(warden: Warden, image: Path, guest_tree: Path) -> None:
    warden.make(1, [*PYTHON, "open('/vol/work/x', 'w').write('of the first box')"])
    assert warden.receive_end().cause == CAUSE["kProgram"]
    second = warden.make(2, [*PYTHON, "import time; print('ready', flush=True); time.sleep(60)"])
    warden.receive("BoxStarted")
    assert os.read(second.out, 100) == b"ready\n"
    (init,) = warden.children()
    wait_until_dropped(init)
    # Its link to the warden and the signals of its children; in between the first box was dead and whole.
    assert open_things(init) == {"socket": 1, "anon_inode": 1}
    (guest,) = children_of(init)
    held = open_things(guest)
    assert held == {"/dev/null": 1, "pipe": 2, "socket": 1}, held
    # The layer of a destroyed box is gone with its last descriptor, and the second box has none.
    assert warden.destroy(1).layer_released == 1
    assert "deleted" not in " ".join(open_things(init))


def wait_until_dropped(init: int) -> None:
    """BoxStarted is sent just before the init installs its filter; by then all is closed."""
    end = time.monotonic() + 5.0
    while "Seccomp:\t2" not in Path(f"/proc/{init}/status").read_text() and time.monotonic() < end:
        time.sleep(0.001)


def test_a_box_is_given_pipes_and_no_file_of_the_hosts(warden: Warden, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("of the host")
    fd = os.open(victim, os.O_RDONLY)
    warden.make(1, [*PYTHON, "print('x')"], out=fd)
    os.close(fd)
    assert warden.receive_end().cause == CAUSE["kSetupFailed"]
    assert victim.stat().st_uid == os.geteuid()
    assert warden.destroy(1).destroyed == 1


def test_few_open_files_are_no_hindrance(warden: Warden) -> None:
    for number, most in enumerate([16, 17, 63, 64, 65, 68], start=1):
        box = warden.make(number, [*PYTHON, "import resource; print(resource.getrlimit(7))"], open_files_max=most)
        ended = warden.receive_end()
        assert (ended.cause, ended.exit_code) == (CAUSE["kProgram"], 0), protocol.shown(ended)
        assert box.output() == f"({most}, {most})\n".encode()
        warden.destroy(number)


IMPOSSIBLE: list[dict[str, Any]] = [
    {"argument_count": 0},
    {"argument_count": 1 << 31},
    {"environment_count": 0xFFFFFFFF},
    {"strings": b"x" * (protocol.sizes()["kStringsSize"] - 1), "argument_count": 2},
    # tmpfs(5): a size or a count of zero is no limit at all.
    {"disk_max_bytes": 0},
    {"disk_inodes_max": 0},
    {"memory_max_bytes": 0},
    {"pids_max": 0},
    {"cpus_milli": 0},
    {"open_files_max": 0},
    {"wall_max_ms": 0},
    {"cpu_time_max_ms": 0},
    # Past what a duration can hold.
    {"wall_max_ms": 1 << 63},
    {"wall_max_ms": (1 << 64) - 1},
    {"cpu_time_max_ms": (1 << 64) - 1},
]


def test_a_box_without_a_limit_is_refused(warden: Warden, binaries: Path, before: remains.Picture) -> None:
    for number, values in enumerate(IMPOSSIBLE, start=1):
        warden.make(number, SLEEP, **values)
        ended = warden.receive_end()
        assert (ended.cause, ended.stage) == (CAUSE["kSetupFailed"], 1), (values, protocol.shown(ended))
        assert warden.destroy(number).destroyed == 1


@pytest.mark.parametrize("what", ["short", "long", "magic", "type"])
def test_a_malformed_message_ends_everything_cleanly(
    warden: Warden, binaries: Path, before: remains.Picture, what: str
) -> None:
    warden.make(1, SLEEP)
    warden.receive("BoxStarted")
    good = bytes(protocol.message("DestroyBox", 7))
    bad = {
        "short": good[:-1],
        "long": good + b"x",
        "magic": b"XXXX" + good[4:],
        "type": good[:4] + (77).to_bytes(4, "little") + good[8:],
    }[what]
    warden.socket.send(bad)
    assert warden.process.wait(10) == 0
    assert remains.wait_until_gone(before, binaries, seconds=2.0) == {}


def test_a_box_that_was_never_made_is_not_said_to_be_destroyed(warden: Warden) -> None:
    warden.send("DestroyBox", 99)
    assert warden.receive("BoxGone").destroyed == 0


def test_a_killed_warden_lets_go_of_its_lock_at_once(
    casemate: Casemate, warden: Warden, binaries: Path, before: remains.Picture
) -> None:
    for number in (1, 2, 3):
        warden.make(number, SLEEP)
        warden.receive("BoxStarted")
    inits = warden.children()
    os.kill(warden.process.pid, signal.SIGSTOP)
    held = [open_things(init) for init in inits]
    os.kill(warden.process.pid, signal.SIGKILL)
    warden.process.wait(10)
    assert not any("lock" in name for things in held for name in things), held
    assert remains.wait_until_gone(before, binaries, seconds=5.0, kinds={"processes"}) == {}
    # The groups are empty; the next start removes them.
    assert casemate.python("print(1)").exit_code == 0
    assert remains.left(before, remains.look(binaries)) == {}


def test_a_slot_whose_engine_says_nothing_ends_by_its_timer(warden: Warden) -> None:
    # What an engine does that is stopped in the millisecond in which it does not tell the warden yet.
    warden.make_nest(1)
    box, fds = warden.make_slot(2, nest=1)
    _, others = warden.make_slot(3, nest=1)
    set_timer(fds[0], seconds=0.5)
    box.control.sendall(program_of(b"import time; time.sleep(60)"))
    begun = time.monotonic()
    ended = warden.receive("BoxEnded")
    assert ended.header.box == 2 and ended.cause == CAUSE["kWall"], protocol.shown(ended)
    assert time.monotonic() - begun < 10
    assert warden.destroy(2).destroyed
    # One that expires when its box is gone is told to nobody.
    set_timer(fds[0], seconds=0.01)
    time.sleep(0.1)
    assert warden.destroy(3, started=False).destroyed
    for fd in [*fds, *others]:
        os.close(fd)


def test_the_timer_of_a_slot_holds_when_the_warden_was_told_too(warden: Warden) -> None:
    warden.make_nest(1)
    box, fds = warden.make_slot(2, nest=1)
    set_timer(fds[0], seconds=0.5)
    box.control.sendall(program_of(b"import time; time.sleep(60)"))
    begun = time.monotonic()
    warden.send("StartBox", 2, wall_max_ms=50_000, cpu_time_max_ms=50_000, running_us=1000)
    assert warden.receive("BoxEnded").cause == CAUSE["kWall"]
    assert time.monotonic() - begun < 10
    assert warden.destroy(2).destroyed
    # An engine that was stopped meanwhile tells late, and its program has had that time.
    box, more = warden.make_slot(3, nest=1)
    box.control.sendall(program_of(b"import time; time.sleep(60)"))
    begun = time.monotonic()
    warden.send("StartBox", 3, wall_max_ms=20_000, cpu_time_max_ms=20_000, running_us=20_000_000)
    assert warden.receive("BoxEnded").cause == CAUSE["kWall"]
    assert time.monotonic() - begun < 10
    assert warden.destroy(3).destroyed
    for fd in [*fds, *more]:
        os.close(fd)


def test_a_box_that_its_engine_never_lets_go_on_is_ended(warden: Warden) -> None:
    warden.make(1, SLEEP)
    warden.receive("BoxStarted")
    warden.send("FreezeBox", 1, freeze=1, wait_max_ms=500)
    assert warden.receive("BoxFrozen").header.box == 1
    begun = time.monotonic()
    ended = warden.receive("BoxEnded")
    assert ended.cause == CAUSE["kWall"] and 0.3 < time.monotonic() - begun < 10, protocol.shown(ended)
    assert warden.destroy(1).destroyed


def test_the_clock_of_a_box_stands_still_with_it(warden: Warden) -> None:
    warden.make(1, SLEEP, wall_max_ms=2000)
    warden.receive("BoxStarted")
    begun = time.monotonic()
    warden.send("FreezeBox", 1, freeze=1, wait_max_ms=50_000)
    warden.receive("BoxFrozen")
    time.sleep(3)
    warden.send("FreezeBox", 1, freeze=0)
    ended = warden.receive("BoxEnded")
    assert ended.cause == CAUSE["kWall"] and 4.5 < time.monotonic() - begun < 15, protocol.shown(ended)
    assert warden.destroy(1).destroyed


@pytest.mark.parametrize("how", ["end", "destroy", "freeze twice and end"])
def test_a_frozen_box_ends_as_any_other(warden: Warden, how: str) -> None:
    warden.make(1, SLEEP)
    warden.receive("BoxStarted")
    for _ in range(2 if "twice" in how else 1):
        warden.send("FreezeBox", 1, freeze=1, wait_max_ms=50_000)
        warden.receive("BoxFrozen")
    if how != "destroy":
        warden.send("EndBox", 1, cause=CAUSE["kCancelled"])
        assert warden.receive("BoxEnded").cause == CAUSE["kCancelled"]
    assert warden.destroy(1, started=how != "destroy").destroyed


def set_timer(fd: int, seconds: float) -> None:
    """timerfd_settime(2), which Python has from 3.13 on."""

    class Time(ctypes.Structure):
        _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "in_s", "in_ns")]

    value = Time(0, 0, int(seconds), int(seconds % 1 * 1e9))
    assert ctypes.CDLL(None).timerfd_settime(fd, 0, ctypes.byref(value), None) == 0


def program_of(source: bytes) -> bytes:
    """The frames of a run of this program: src/frame/guest.h."""

    def field(tag: int, data: bytes) -> bytes:
        return struct.pack("<II", tag, len(data)) + data

    def frame(kind: int, payload: bytes) -> bytes:
        return struct.pack("<II", len(payload), kind) + payload

    return frame(1, field(1, source)) + frame(4, field(3, b"program.py") + field(7, struct.pack("<Q", 1 << 28)))
