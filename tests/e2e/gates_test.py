"""What a run in a slot costs, in counts that do not depend on the machine: a rise fails.

Page faults are those that the kernel counts, system calls those that strace(1) sees.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import Casemate

GUEST = Path(__file__).resolve().parents[2] / "guest/python"
TABLE = Path(__file__).with_name("system_calls.txt")
HOT = ("run", "--trust", "trusted", "--json", "--start", "hot")
FAULTS_OF_A_RUN = 15
# The warden, the nest, the slot from its making to its end, and the engine. The aim is 250.
FAULTS_OF_A_SLOT = 1500
WAITING = ("poll", "restart_syscall")


def programs() -> dict[str, tuple[str, bytes]]:
    """Those of the guest's own test: none is rehearsed."""
    code = "import json, test_faults as t; print(json.dumps({k: [v[0], v[1].decode()] for k, v in t.PROGRAMS.items()}))"
    paths = os.pathsep.join([str(GUEST), str(GUEST / "tests")])
    ended = subprocess.run(
        [sys.executable, "-B", "-c", code], env=os.environ | {"PYTHONPATH": paths}, check=True, capture_output=True
    )
    found = {name: (source, wanted.encode()) for name, (source, wanted) in json.loads(ended.stdout).items()}
    assert len(found) >= 10
    return found


@pytest.mark.parametrize("name", programs())
def test_a_run_in_a_slot_faults_hardly_ever(casemate: Casemate, name: str) -> None:
    source, wanted = programs()[name]
    ended = casemate.call(*HOT, "--repeat", "3", "-c", source, timeout=120)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == 3 and all(one["timing"]["start"] == "hot" for one in found), ended
    assert all(one["stdout"]["text"].encode() == wanted for one in found), ended
    # A page that the kernel took back meanwhile is no fault of ours: the least of three.
    assert min(one["usage"]["minor_faults"] for one in found) <= FAULTS_OF_A_RUN, [one["usage"] for one in found]


def faults_of(casemate: Casemate, runs: int) -> int:
    """Of all that `runs` runs in one process take, the start of the zygote among it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    ended = casemate.call(*HOT, "--repeat", str(runs), "-c", "print(1)", timeout=120)
    assert ended.stdout.count(b'"hot"') == runs, ended
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


def test_a_slot_has_its_bound_of_faults_with_everything_in(casemate: Casemate) -> None:
    few, many = 5, 25
    each = (faults_of(casemate, many) - faults_of(casemate, few)) / (many - few)
    assert each <= FAULTS_OF_A_SLOT, each


def test_a_run_in_a_slot_makes_the_system_calls_of_the_table(casemate: Casemate, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("strace") is None:
        pytest.skip("needs root and strace")
    allowed = {}
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            name, count, _ = line.split(maxsplit=2)
            allowed[name] = int(count)
    trace = tmp_path / "trace"
    ended = subprocess.run(
        ["strace", "-f", "-o", trace, casemate.binary, *HOT, "--repeat", "6", "-c", "print(1)"],
        env=os.environ | {"XDG_RUNTIME_DIR": str(casemate.runtime)},
        capture_output=True,
        timeout=120,
    )
    assert ended.stdout.count(b'"hot"') == 6, ended
    lines = [line.split(maxsplit=1) for line in trace.read_text().splitlines()]
    engine = lines[0][0]
    calls = [found[1] for pid, text in lines if pid == engine and (found := re.match(r"(\w+)\(", text))]
    starts = [at for at, name in enumerate(calls) if name == "timerfd_settime"]
    assert len(starts) == 6
    for start in starts:
        # What belongs to the slot is closed when the outcome is there.
        made = Counter(calls[start : calls.index("close", start)])
        for name in WAITING:
            del made[name]
        above = {name: count for name, count in made.items() if count > allowed.get(name, 0)}
        assert not above, f"more than {TABLE.name} says: {above}"
        assert {"timerfd_settime", "sendto", "read", "pread64"} <= set(made), made
