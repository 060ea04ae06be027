"""Hints for programs that used up the stack or the memory."""

from __future__ import annotations

import os
import sys

from casemate import _look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from casemate._failure import Failure


def limits(failure: Failure) -> Iterator[str]:
    """RecursionError: who calls whom. MemoryError: what there is."""
    if failure.derives(RecursionError):
        yield from _recursion(failure)
        return
    ceiling = os.environ.get("CASEMATE_MEMORY_BYTES", "")
    if ceiling.isdigit():
        yield (
            f"this run may use {int(ceiling) >> 20} MiB of memory; work on the data in parts, or ask for more"
        )


def _recursion(failure: Failure) -> Iterator[str]:
    cycle: dict[str, int] = {}
    for entry in failure.trace.entries[-20:]:
        cycle.setdefault(entry.function, entry.line)
    names = ", ".join(
        f"{_look.one_line(name, 60)} (line {line})"
        for name, line in list(cycle.items())[:5]
    )
    if names:
        yield (
            f"without an end call each other: {names}; a recursion needs a case that returns without a call"
            f" (the limit is {sys.getrecursionlimit()} frames)"
        )
