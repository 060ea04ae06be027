"""What the suites of the rungs share: what a rung needs of this host, and a run on one."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from conftest import Casemate

NEEDS = {"gvisor": "/usr/bin/runsc", "microvm": "/usr/bin/qemu-system-x86_64"}


def needs(rung: str) -> pytest.MarkDecorator:
    """Skips a test on a host without the rung ("gvisor", or "gvisor hot")."""
    program = NEEDS.get(rung.partition(" ")[0], "/")
    return pytest.mark.skipif(not os.access(program, os.X_OK), reason=f"needs {program}")


def on(*rungs: str) -> list[Any]:
    """Parameters: these rungs, each skipped where it is not."""
    return [pytest.param(rung, marks=needs(rung)) for rung in rungs]


def outcome_of(casemate: Casemate, rung: str, code: str, *options: str) -> dict[str, Any]:
    """Of a run on a rung, in a box made for it or, with "hot", in one that was ready."""
    name, _, start = rung.partition(" ")
    how = ["--isolation", name, "--start", start or "cold"]
    ended = casemate.call("run", "--json", "--trust", "trusted", *how, *options, "-c", code, timeout=120)
    outcome: dict[str, Any] = json.loads(ended.stdout)
    assert outcome["isolation"] == name and outcome["teardown"]["verdict"] == "destroyed", outcome
    assert outcome["timing"]["start"] == (start or "cold"), outcome
    assert outcome.get("accelerator") == ("tcg" if name == "microvm" else None), outcome
    return outcome


def hot_outcomes(casemate: Casemate, rung: str, code: str, count: int, *options: str) -> list[dict[str, Any]]:
    """Of a program that is run `count` times in one process, each time in a hot slot."""
    how = ("--record", "--isolation", rung, "--trust", "trusted", "--start", "hot", "--repeat", str(count))
    ended = casemate.call("run", "--json", *how, *options, "-c", code, timeout=180)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == count and ended.stderr == "", ended
    for one in found:
        assert (one["isolation"], one["timing"]["start"], one["record"]["level"]) == (rung, "hot", "hot"), one
        assert one["teardown"]["verdict"] == one["record"]["death"]["verdict"] == "destroyed", one
    return found
