"""A plugin of pytest: of the tests that were found, a part that is the same on each machine and at each time.

CASEMATE_SAMPLE is its size: one of so many, chosen by a test's own name, so that a new test moves no other.
"""

from __future__ import annotations

import os
import zlib

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    each = int(os.environ["CASEMATE_SAMPLE"])
    names = [item.nodeid.rpartition("/")[2] for item in items]
    chosen = [zlib.crc32(name.encode()) % each == 0 for name in names]
    config.hook.pytest_deselected(items=[item for item, taken in zip(items, chosen, strict=True) if not taken])
    items[:] = [item for item, taken in zip(items, chosen, strict=True) if taken]
