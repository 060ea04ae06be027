"""Every hostile guest against the program as released: contained, credited to a wall, nothing left.

Each guest meets its box in an outer box (outer_box.py), whose observer looks from outside: in one of its own,
or with CASEMATE_ESCAPE_SHARED=1 in one that many share.
"""

from __future__ import annotations

import os
import re

import pytest
from guest_file import ISOLATION, START, Guest, all_guests, wall_names
from runner import (
    SHARED,
    BrokenError,
    OuterBox,
    Seen,
    casemate_binary,
    end_shared_box,
    missing_privilege,
    shared_box,
)

import observers

GUESTS = all_guests()


def run_released(guest: Guest) -> Seen:
    """One run of the released program in an outer box of its own, or in the shared one."""
    missing = missing_privilege()
    program = {"gvisor": "/usr/bin/runsc", "microvm": "/usr/bin/qemu-system-x86_64"}.get(ISOLATION, "/")
    if not os.access(program, os.X_OK):
        missing = program
    if missing:
        pytest.skip(f"needs {missing}")
    if not SHARED:
        with OuterBox(casemate_binary()) as outer:
            return outer.run(guest)
    try:
        seen = shared_box().run(guest)
    except BrokenError:
        end_shared_box()
        raise
    if seen.evidence or seen.leaks:
        end_shared_box()
    return seen


def check_on_rung(guest: Guest, seen: Seen) -> None:
    """On a stronger rung no guest gets out, not even by the jail's known holes. How it ends may be another: its kernel
    has other limits. Nor is its own word evidence of anything there: it tells of that kernel. Processes are counted
    outside, where a guest's are two or three each: it ends by the limit, with at most half as many again."""
    told = seen.evidence or ""
    if guest.observer == "processes_made" and seen.status == "limit":
        made, granted = (int(number) for number in re.findall(r"\d+", told) or (0, 0))
        told = "" if made <= granted * 3 / 2 else told
    assert not told or guest.observer == "own_word", f"{guest.name} got out: {told}\n{seen.text}"
    # What prints without end has its first line cut, and some guests need nothing of attack.py, which says this.
    says = re.search(r"^(from|import) attack\b", guest.path.read_text(), re.MULTILINE) and seen.limit != "output"
    assert not says or "guest has begun" in seen.text, f"{guest.name} did not begin: {seen.text}"
    assert START != "hot" or seen.start == "hot", f"{guest.name} met a new box: {seen.text}"
    assert seen.isolation == ISOLATION and seen.status in ("ok", "error", "limit"), seen.text
    assert seen.teardown == "destroyed", seen.text
    assert not seen.leaks, f"{guest.name} left {seen.leaks}"


@pytest.mark.parametrize("guest", GUESTS, ids=lambda guest: guest.name)
def test_a_guest_is_contained(guest: Guest) -> None:
    """No evidence outside, the status that its header promises, and the wall's answer in the outcome."""
    seen = run_released(guest)
    if ISOLATION:
        check_on_rung(guest, seen)
        return
    if guest.open:  # A known hole stays in sight: when it is closed, this line says so.
        assert seen.evidence, f"{guest.name} is contained now: take `open` out of its header"
        return
    assert seen.evidence is None, f"{guest.name} got out: {seen.evidence}\n{seen.text}"
    assert seen.status in guest.status, seen.text
    assert re.search(guest.credit, seen.text), f"nothing in the outcome says {guest.credit}\n{seen.text}"
    assert seen.teardown == "destroyed", seen.text
    assert not seen.leaks, f"{guest.name} left {seen.leaks}"
    assert START != "hot" or seen.start == "hot", f"{guest.name} met a new box: {seen.text}"


def test_headers_name_walls_and_observers_that_there_are() -> None:
    """A guest whose header is wrong would be measured against nothing."""
    walls = set(wall_names())
    for guest in GUESTS:
        assert set(guest.walls) | set(guest.also) <= walls, guest.name
        assert observers.named(guest.observer), guest.name
        assert guest.credit or "ok" not in guest.status, f"{guest.name}: no wall is credited"
