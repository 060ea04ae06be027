"""How the guest reports: one JSON object a line, on the second serial line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from pauses import TRIES, pauses

LINE = os.environ.get("CASEMATE_REPORT", "/dev/stdout")


def suite() -> str:
    """What the results of this process belong to."""
    return os.environ.get("CASEMATE_SUITE", "machine")


def report(kind: str, **fields: Any) -> None:
    """Says one thing. Fields are what JSON has."""
    text = json.dumps({"kind": kind, **fields}, separators=(",", ":")) + "\n"
    with open(LINE, "a") as line:
        line.write(text)


class Skip(Exception):
    """A check does not apply here; the message says why."""


def _tried(function: Callable[[list[str]], None]) -> tuple[str, str]:
    """The result of a check and its detail."""
    said: list[str] = []
    try:
        function(said)
    except Skip as skip:
        return "skip", str(skip)
    except AssertionError as error:
        return "FAIL", str(error) or "an assertion without a message"
    except Exception as error:  # noqa: BLE001 - the checks that follow shall run
        return "FAIL", f"{type(error).__name__}: {error}"
    return "pass", "; ".join(said)


def check(who: str, name: str, function: Callable[[list[str]], None]) -> None:
    """Runs a check and reports how it ended. Lines that it puts into its list are the detail of a pass."""
    for _ in range(TRIES):
        begun = time.monotonic()
        result, detail = _tried(function)
        seconds = round(time.monotonic() - begun, 1)
        if result != "FAIL" or not pauses(begun):
            break
    report("result", who=who, suite=suite(), name=name, result=result, detail=detail[:3000], seconds=seconds)
