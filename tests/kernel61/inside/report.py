"""How the guest reports: one JSON object a line, on the second serial line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def check(who: str, name: str) -> Iterator[list[str]]:
    """Reports how the block ended. Lines put into the list are the detail of a pass."""
    begun = time.monotonic()
    said: list[str] = []
    result, detail = "pass", ""
    try:
        yield said
        detail = "; ".join(said)
    except Skip as skip:
        result, detail = "skip", str(skip)
    except AssertionError as error:
        result, detail = "FAIL", str(error) or "an assertion without a message"
    except Exception as error:  # noqa: BLE001 - the checks that follow shall run
        result, detail = "FAIL", f"{type(error).__name__}: {error}"
    report(
        "result",
        who=who,
        suite=suite(),
        name=name,
        result=result,
        detail=detail[:3000],
        seconds=round(time.monotonic() - begun, 1),
    )
