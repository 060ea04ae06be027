"""Two runs at once: each has a box of its own, and neither notices the other."""

from __future__ import annotations

import json
import subprocess

from conftest import Casemate

LOOK = """
import os, sys, time
open('mine', 'w').write(sys.argv[1])
print('ready', flush=True)
end = time.monotonic() + 1.5
pids, files = set(), set()
while time.monotonic() < end:
    pids |= {p for p in os.listdir('/proc') if p.isdigit()}
    files |= {open('mine').read()} | set(os.listdir('.')) | set(os.listdir('/tmp'))
    time.sleep(0.01)
print(len(pids), sorted(files))
"""


def finish(process: subprocess.Popen[bytes]) -> dict[str, object]:
    """The outcome of a run that was started."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    outcome = json.loads(out)
    assert isinstance(outcome, dict)
    return outcome


def test_neither_sees_the_other(casemate: Casemate) -> None:
    command = ["run", "--json", "--trust", "trusted", "-c", LOOK, "--"]
    first, second = casemate.start(*command, "a"), casemate.start(*command, "b")
    outcomes = [finish(first), finish(second)]
    lines = [str(outcome["stdout"]["text"]).splitlines()[-1] for outcome in outcomes]  # type: ignore[index]
    assert lines[0].startswith("1 ['a',") and lines[1].startswith("1 ['b',"), lines
    assert lines[0][5:] == lines[1][5:]
    assert outcomes[0]["sandbox_id"] != outcomes[1]["sandbox_id"]


def test_the_end_of_one_does_not_disturb_the_other(casemate: Casemate) -> None:
    long = casemate.start("run", "--json", "--trust", "trusted", "-c", "import time\ntime.sleep(2)\nprint('whole')")
    for _ in range(5):
        assert casemate.python("print(1)").outcome["status"] == "ok"
    killed = casemate.start("run", "--trust", "trusted", "-c", "import time\ntime.sleep(60)")
    killed.kill()
    killed.communicate()
    assert finish(long)["stdout"]["text"] == "whole\n"  # type: ignore[index]


def test_eight_at_once_all_end_well(casemate: Casemate) -> None:
    started = [
        casemate.start("run", "--json", "--trust", "trusted", "-c", f"print({number} * {number})") for number in range(8)
    ]
    texts = [finish(process)["stdout"]["text"] for process in started]  # type: ignore[index]
    assert texts == [f"{number * number}\n" for number in range(8)]
