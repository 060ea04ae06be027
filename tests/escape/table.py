"""The table of guests and walls, measured.

    /usr/bin/python3 tests/escape/table.py [--json | --update] [--guest NAME]...

For each guest: with all the walls that its header names off, its attack must be seen to work from
outside; with any one of them left on it must be contained; with everything on it must be contained.
The first shows that no other wall stops it, the second that each of these does alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from guest_file import HERE, Guest, absent, all_guests, all_pairs, wall_names
from runner import START, BrokenError, OuterBox, Seen, casemate_binary, missing_privilege
from who import WHO

NOT_THERE = "not in such a box"
_EVIDENCE_MAX = 110
_DOCUMENT = HERE.parents[1] / "docs/escape.md"
_MARK = "<!-- below: printed by tests/escape/table.py --update -->\n"


@dataclass
class Row:
    """What was measured of one guest."""

    guest: Guest
    all_on: str | None = None  # evidence of an attack that worked, None when it was contained
    all_off: str | None = None
    control: str | None = None
    alone: dict[str, str | None] = field(default_factory=dict)
    skipped: str | None = None
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def _judge(row: Row, seen: Seen, what: str, works: bool) -> str | None:
    if seen.elsewhere:
        row.faults.append(f"{what}: {NOT_THERE}, it was {seen.start}")
    elif not seen.made:
        row.faults.append(f"{what}: no box was made: {seen.reason or seen.text[-300:]}")
    elif works and seen.evidence is None:
        row.faults.append(f"{what}: the attack does not work: another wall stops it, or the guest is wrong")
    elif not works and seen.evidence is not None:
        row.faults.append(f"{what}: {seen.evidence}")
    return seen.evidence


def measure(guest: Guest) -> Row:
    """One guest in one outer box: |walls| + 2 runs."""
    row = Row(guest)
    begun = time.monotonic()
    try:
        with OuterBox(casemate_binary()) as outer:
            seen = outer.run(guest, ())
            row.control = seen.control
            row.all_on = _judge(row, seen, "with everything on", works=bool(guest.open))
            if guest.open:
                row.skipped = f"OPEN, seen with everything on: {row.all_on}"
            elif absent(guest.needs):
                row.skipped = "needs " + ", ".join(absent(guest.needs))
            elif guest.walls:
                row.all_off = _judge(row, outer.run(guest, guest.walls + guest.also), "with its walls off", works=True)
                for wall in guest.walls:
                    off = [other for other in guest.walls if other != wall] + list(guest.also)
                    row.alone[wall] = _judge(row, outer.run(guest, off), f"with {wall} alone", works=False)
            elif row.control is None:
                row.faults.append("no wall has a switch for it, and its bait was not shown to be live")
    except BrokenError as error:
        row.faults.append(str(error))
    row.seconds = time.monotonic() - begun
    return row


def by_wall(rows: list[Row]) -> dict[str, list[str]]:
    """For each wall the guests that it was seen to stop alone."""
    found: dict[str, list[str]] = {wall: [] for wall in wall_names()}
    for row in rows:
        for wall, evidence in row.alone.items():
            if evidence is None and row.all_off:
                found[wall].append(("pair " if row.guest.first else "") + row.guest.name)
    return found


def _state(row: Row) -> str:
    if row.faults:
        return "FAULT"
    return "OPEN" if row.guest.open else "not shown" if row.skipped else "shown"


def as_json(rows: list[Row]) -> str:
    """One document: guests and walls."""
    guests: dict[str, Any] = {}
    for row in rows:
        guests[row.guest.name] = {
            "walls": list(row.guest.walls),
            "all_on": row.all_on,
            "all_off": row.all_off,
            "alone": row.alone,
            "control": row.control,
            "skipped": row.skipped,
            "faults": row.faults,
            "seconds": round(row.seconds, 2),
        }
    return json.dumps({"guests": guests, "walls": by_wall(rows)}, indent=1)


def _short(text: str) -> str:
    return text if len(text) <= _EVIDENCE_MAX else text[:_EVIDENCE_MAX].rpartition(" ")[0] + " …"


def _table_of(kind: str, rows: list[Row]) -> list[str]:
    lines = [f"| {kind} | what it does | each of these alone stops it | seen from outside with them off |"]
    lines.append("|---|---|---|---|")
    for row in rows:
        walls = ", ".join(row.guest.walls) or ("nothing" if row.guest.open else "our own code, no switch")
        seen = row.all_off or (f"control: {row.control}" if row.control else row.skipped or "–")
        cells = (row.guest.name, row.guest.guest, walls, _short(seen))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def as_markdown(rows: list[Row]) -> str:
    """The tables of docs/escape.md: guests, pairs, walls."""
    guests, pairs = ([row for row in rows if bool(row.guest.first) == pair] for pair in (False, True))
    lines = [*_table_of("guest", guests), "", *_table_of("pair", pairs)]
    lines += ["", "| wall | stops alone |", "|---|---|"]
    for wall, names in by_wall(rows).items():
        lines.append(f"| {wall} | {', '.join(names) or 'defence in depth, not shown'} |")
    return "\n".join(lines)


def as_text(rows: list[Row]) -> str:
    """For a terminal."""
    lines = []
    for row in rows:
        lines.append(f"{_state(row):9}  {row.guest.name:24}  {', '.join(row.guest.walls) or 'no switch'}")
        if row.all_off or row.control or row.skipped:
            lines.append(f"{'':37}{_short(row.all_off or row.control or row.skipped or '')}")
        lines += [f"{'':37}! {fault}" for fault in row.faults]
    lines.append("")
    for wall, names in by_wall(rows).items():
        lines.append(f"{wall:18}  {', '.join(names) or 'defence in depth, not shown'}")
    faults = sum(bool(row.faults) for row in rows)
    walls = by_wall(rows)
    shown = sum(bool(names) for names in walls.values())
    seconds = sum(row.seconds for row in rows)
    lines.append(f"\n{len(rows)} guests, {faults} with faults; {shown} of {len(walls)} walls shown; {seconds:.0f} s")
    return "\n".join(lines)


def main() -> int:
    """Prints the table; the exit code says whether a row is not as its guest says."""
    parser = argparse.ArgumentParser(description="which wall stops which guest, measured")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--update", action="store_true", help="write the table into docs/escape.md")
    parser.add_argument("--guest", action="append", default=[])
    options = parser.parse_args()
    missing = missing_privilege()
    if missing:
        print(f"cannot be measured here: {missing}", file=sys.stderr)
        return 2
    # Pairs are in slots always; of an ordinary user's there is no driver.
    guests = [*all_guests(), *(all_pairs() if START == "" and WHO.uid == 0 else [])]
    rows = [measure(guest) for guest in guests if not options.guest or guest.name in options.guest]
    print(as_json(rows) if options.json else as_text(rows))
    if options.update:
        head = _DOCUMENT.read_text().partition(_MARK)[0]
        _DOCUMENT.write_text(head + _MARK + "\n" + as_markdown(rows) + "\n")
    return 1 if any(row.faults for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
