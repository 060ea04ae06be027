"""Hostile guests run against the same program, with the same proof that nothing is left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from e2e.conftest import Casemate, casemate, runtime, watch_for_remains  # noqa: E402
from runner import SHARED, end_shared_box, missing_privilege, shared_box  # noqa: E402

__all__ = ["casemate", "runtime"]


@pytest.fixture(scope="session", autouse=True)
def _no_box_stays() -> Iterator[None]:
    yield
    end_shared_box()


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest, casemate: Casemate) -> Iterator[None]:
    """Fails a test that leaves something behind. A shared outer box is there before and after it."""
    if SHARED and request.path.name == "test_escape.py" and not missing_privilege():
        shared_box()
    yield from watch_for_remains(casemate)
