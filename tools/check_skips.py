#!/usr/bin/python3
"""Compares the tests that were skipped with those that may be: check_skips.py RESULTS [EXPECTED]

RESULTS is the folder of JUnit files that tools/test leaves. EXPECTED (tests/skips.txt) has one test a
line: `program/Suite.Name`, or a pattern with `*`. A test is skipped only for a privilege or a part of
the host that is missing, and its message names that: it begins with "needs ". A line that matches no
test that ran is a mistake too, as is a listed test that was not skipped, unless "may:" stands before it.
"""

from __future__ import annotations

import fnmatch
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


_MAY = "may: "


def read_results(folder: Path) -> tuple[set[str], dict[str, str]]:
    """The names of all tests, and of the skipped ones with their messages."""
    ran: set[str] = set()
    skipped: dict[str, str] = {}
    for path in sorted(folder.glob("*.xml")):
        for case in ET.parse(path).getroot().iter("testcase"):
            name = f"{path.stem}/{case.get('classname', '')}.{case.get('name', '')}"
            ran.add(name)
            skip = case.find("skipped")
            if skip is not None:
                # GoogleTest puts the place on the first line.
                text = f"{skip.get('message') or ''}\n{skip.text or ''}"
                skipped[name] = text.strip()
    return ran, skipped


def read_expected(path: Path) -> list[str]:
    """The patterns of tests/skips.txt."""
    lines = path.read_text().splitlines() if path.is_file() else []
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def compare(ran: set[str], skipped: dict[str, str], expected: list[str]) -> list[str]:
    """All differences, one line of text each."""
    wrong = [] if ran else ["no test reported anything"]
    for name, message in sorted(skipped.items()):
        if not any(fnmatch.fnmatchcase(name, pattern.removeprefix(_MAY)) for pattern in expected):
            wrong.append(f"{name} was skipped and is not in the list: {message.splitlines()[-1] if message else ''}")
        if not any(line.strip().removeprefix("Skipped: ").startswith("needs ") for line in message.splitlines()):
            wrong.append(f"{name} was skipped without naming what it needs: {message!r}")
    for pattern in expected:
        matching = fnmatch.filter(ran, pattern.removeprefix(_MAY))
        if not matching:
            wrong.append(f"{pattern} is in the list, but no such test ran")
        if pattern.startswith(_MAY):
            continue
        wrong += [f"{name} is in the list, but was not skipped" for name in sorted(matching) if name not in skipped]
    return wrong


def main() -> int:
    """Prints the differences; the exit code says whether there are any."""
    folder = Path(sys.argv[1])
    expected = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parents[1] / "tests" / "skips.txt")
    ran, skipped = read_results(folder)
    wrong = compare(ran, skipped, read_expected(expected))
    print("\n".join(wrong) if wrong else f"skips: {len(skipped)} of {len(ran)} tests, as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
