"""The processes of one run, found from outside: engine, warden, the box's init, the guest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warden import children_of


@dataclass(frozen=True)
class Family:
    """Process ids; None for one that is not there now."""

    engine: int | None = None
    warden: int | None = None
    init: int | None = None
    guest: int | None = None


def name_of(pid: int) -> str:
    """The program's name as the kernel keeps it, cut to 15 bytes."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def find_family(engine: int) -> Family:
    """The family of a running `casemate run`."""
    wardens = [pid for pid in children_of(engine) if name_of(pid).startswith("casemate-warden")]
    if not wardens:
        return Family(engine)
    warden = wardens[-1]
    # The warden's other children are short-lived copies of it in its own pid namespace.
    inits = [pid for pid in children_of(warden) if _is_first(pid)]
    if not inits:
        return Family(engine, warden)
    guests = children_of(inits[-1])
    return Family(engine, warden, inits[-1], guests[0] if guests else None)


def _is_first(pid: int) -> bool:
    """Whether it is PID 1 of a namespace below ours."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return len(line.split()) > 2 and line.split()[-1] == "1"
    except OSError:
        pass
    return False
