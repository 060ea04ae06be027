"""A pytest plugin: reports each test when it ends, and shows an ordinary user's manager to the tests.

A test that failed while the machine stood still is run again (pauses.py).

The fixtures of tests/e2e give each session an XDG_RUNTIME_DIR of its own; the way to a delegated
control group (`systemd-run --user`) leads through a socket in the real one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

import report as reporting
from pauses import TRIES, pauses


@pytest.fixture(scope="session", autouse=True)
def _user_manager(runtime: Path) -> None:
    real = os.environ.get("XDG_RUNTIME_DIR")
    if not real:
        return
    for name in ("systemd", "bus"):
        if (Path(real) / name).exists() and not (runtime / name).exists():
            (runtime / name).symlink_to(Path(real) / name)


def pytest_runtest_protocol(item: pytest.Function, nextitem: pytest.Item | None) -> bool:
    """Runs one test, in the place of pytest's own way."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(TRIES):
        begun = time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if not any(one.failed for one in reports) or not pauses(begun):
            break
        item._initrequest()  # its fixtures are made anew
    for one in reports:
        item.ihook.pytest_runtest_logreport(report=one)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


_seconds: dict[str, float] = {}  # by test
_told: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One result for a test: of the first phase that does not pass, else of the last."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.nodeid not in _told and (not report.passed or report.when == "teardown"):
        _told.add(report.nodeid)
        _tell(report)


def _tell(ended: pytest.TestReport) -> None:
    detail = ""
    if ended.skipped and isinstance(ended.longrepr, tuple):
        detail = str(ended.longrepr[2])
    elif ended.failed:
        detail = f"{ended.when}: {getattr(ended.longrepr, 'reprcrash', ended.longrepr)}"
    reporting.report(
        "result",
        who=os.environ["CASEMATE_WHO"],
        suite=reporting.suite(),
        name=ended.nodeid.removeprefix("tests/"),
        result="pass" if ended.passed else "skip" if ended.skipped else "FAIL",
        detail=detail[-1500:],
        seconds=round(_seconds[ended.nodeid], 1),
    )
