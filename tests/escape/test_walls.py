"""The guest × wall table: each guest gets out with its walls off, and each of these alone stops it.

With CASEMATE_TEST_START=hot the same in slots, made by the test build of the zygote's module.
"""

from __future__ import annotations

import pytest
from guest_file import Guest, absent, all_guests
from runner import casemate_binary, missing_privilege
from table import NOT_THERE, measure


def check(guest: Guest) -> None:
    """Measures one guest, which must be as its header says."""
    missing = missing_privilege() or ", ".join(absent(guest.needs))
    if missing:
        pytest.skip(f"needs {missing}")
    if not casemate_binary().with_name("casemate-test").exists():
        pytest.skip("needs casemate-test beside casemate")
    row = measure(guest)
    if row.faults and all("the attack does not work" in fault or NOT_THERE in fault for fault in row.faults):
        # With its walls off an attack may lose a race on a loaded machine, and a slot be made too slowly. Only
        # that gets a second try: what a wall did not hold once is a fault for good.
        row = measure(guest)
    assert not row.faults, "\n".join(row.faults)


@pytest.mark.parametrize("guest", all_guests(), ids=lambda guest: guest.name)
def test_each_wall_of_a_guest_is_needed_and_enough(guest: Guest) -> None:
    """The test build, which can leave walls out, in an outer box of decoys."""
    check(guest)
