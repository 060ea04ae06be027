"""Checks of casemate on this kernel, run as root or as an ordinary user: checks.py USER

They say what differs between kernels: namespaces, mounts, Landlock, control groups, and what is left
when a process of casemate is killed. CASEMATE_CHECKS holds patterns of the names to run, with | between
them; nothing in it: all. Each check reports by itself, so the exit code is 0 whatever they find.
"""

from __future__ import annotations

import fnmatch
import os
import sys

import run_checks  # noqa: F401 - both list their checks themselves, in this order
import host_checks  # noqa: F401
from program import CHECKS
from report import check


def main() -> int:
    who = sys.argv[1]
    patterns = os.environ.get("CASEMATE_CHECKS", "").split("|")
    for name, function in CHECKS.items():
        if any(patterns) and not any(fnmatch.fnmatch(name, f"*{pattern}*") for pattern in patterns):
            continue
        check(who, name, function)
    return 0


if __name__ == "__main__":
    sys.exit(main())
