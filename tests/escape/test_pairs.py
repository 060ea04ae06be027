"""Two slots of one nest: a hostile program in one does nothing to an innocent one in the other.

As released, and by the table: it does with the walls between them off, and each of these alone stops it.
"""

from __future__ import annotations

import re

import pytest
from guest_file import Guest, all_pairs, wall_names
from runner import OuterBox, casemate_binary, missing_privilege
from test_walls import check
from who import WHO

PAIRS = all_pairs()


@pytest.fixture(autouse=True)
def _driver() -> None:
    missing = missing_privilege()
    if missing:
        pytest.skip(f"needs {missing}")
    if WHO.uid != 0:
        pytest.skip("needs root: the driver of pairs starts a warden itself")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_slot_is_contained_from_its_neighbour(pair: Guest) -> None:
    """No evidence, the wall's answer in what was printed, both slots and their nest proven gone."""
    with OuterBox(casemate_binary()) as outer:
        seen = outer.run(pair)
    assert seen.status == "ok", seen.reason
    assert seen.evidence is None, f"{pair.name} got across: {seen.evidence}\n{seen.text}"
    assert re.search(pair.credit, seen.text), f"nothing says {pair.credit}\n{seen.text}"
    assert seen.teardown == "destroyed" and not seen.leaks, seen.leaks


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_each_wall_between_two_slots_is_needed_and_enough(pair: Guest) -> None:
    """The test build, which can leave walls out of a nest and of its slots."""
    check(pair)


def test_a_release_obeys_no_switch() -> None:
    """The walls that a test build would leave out of nest and slots are there all the same."""
    (pair,) = (pair for pair in PAIRS if pair.name == "segment")
    with OuterBox(casemate_binary()) as outer:
        seen = outer.run(pair, wall_names(), released=True)
    assert seen.status == "ok" and seen.evidence is None and re.search(pair.credit, seen.text), seen.text


def test_headers_name_walls_and_who_is_first() -> None:
    """A pair whose header is wrong would be measured against nothing."""
    for pair in PAIRS:
        assert set(pair.walls) | set(pair.also) <= set(wall_names()), pair.name
        assert pair.first in ("hostile", "innocent") and pair.credit and pair.status == ("ok",), pair.name
