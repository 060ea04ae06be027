"""Ends that come from outside the program, and readers that go away: told right, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import remains
from e2e.conftest import SLOW, Casemate
from family import find_family

SLEEPS = "import time; print('before', flush=True); open('ready', 'w').close(); time.sleep(60)"


def wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    """The program has printed and made its file."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        guest = find_family(process.pid).guest
        if guest is not None and Path(f"/proc/{guest}/root", "vol/work/ready").exists():
            return
        time.sleep(0.005)
    pytest.fail("the run did not begin")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_cancelled_run_keeps_its_output(
    casemate: Casemate, binaries: Path, before: remains.Picture, number: signal.Signals
) -> None:
    process = casemate.start("run", "--json", "--trust", "trusted", "-c", SLEEPS)
    wait_until_ready(process)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    outcome = json.loads(out)
    assert (process.returncode, outcome["status"]) == (6, "cancelled")
    assert outcome["stdout"]["text"] == "before\n"
    assert outcome["teardown"]["verdict"] == "destroyed"
    assert remains.left(before, remains.look(binaries)) == {}


@pytest.mark.parametrize("victim", ["warden", "init", "guest"])
def test_output_before_a_kill_is_kept(casemate: Casemate, victim: str) -> None:
    process = casemate.start("run", "--json", "--trust", "trusted", "-c", SLEEPS)
    wait_until_ready(process)
    os.kill(getattr(find_family(process.pid), victim), signal.SIGKILL)
    out, _ = process.communicate(timeout=20)
    outcome = json.loads(out)
    assert outcome["status"] == ("error" if victim == "guest" else "unavailable")
    assert outcome["stdout"]["text"] == "before\n"
    assert "before" in outcome["report"]
    assert casemate.python("print(1)").exit_code == 0  # clears up after a warden


@pytest.mark.parametrize("tree", ["alone", "with children", "only the child"])
def test_a_stopped_tree_still_ends_at_the_wall_limit(
    casemate: Casemate, binaries: Path, before: remains.Picture, tree: str
) -> None:
    code = {
        "alone": "os.kill(0, signal.SIGSTOP)",
        "with children": "[os.fork() for _ in range(3)]; time.sleep(0.1); os.kill(0, signal.SIGSTOP)",
        "only the child": "p = os.fork() or os.kill(os.getpid(), signal.SIGSTOP); os.waitpid(p, 0)",
    }[tree]
    ended = casemate.python(f"import os, signal, time; print('x', flush=True); {code}; time.sleep(60)", "--wall", "1s")
    outcome = ended.outcome
    assert (outcome["status"], outcome["limit"]["name"]) == ("limit", "wall"), outcome
    assert outcome["stdout"]["text"].startswith("x\n")
    assert ended.seconds < 6.0 * SLOW
    assert remains.left(before, remains.look(binaries)) == {}


@pytest.mark.parametrize("json_too", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("lines", [1, 200_000])
def test_a_reader_that_goes_away_early(
    casemate: Casemate, binaries: Path, before: remains.Picture, tmp_path: Path, json_too: bool, lines: int
) -> None:
    code = f"for i in range({lines}): print(i)"
    arguments = ["run", "--trust", "trusted", *(["--json"] if json_too else []), "-c", code]
    process = subprocess.Popen(
        [casemate.binary, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    if not json_too:
        assert os.read(process.stdout.fileno(), 1) == b"0"
    process.stdout.close()
    _, err = process.communicate(timeout=30)
    # What a program printed is dropped; an outcome that nobody could read is our failure.
    assert process.returncode == (4 if json_too else 0), err
    assert (b"the outcome cannot be written" in err) == json_too
    assert remains.left(before, remains.look(binaries)) == {}


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]], ids=str)
def test_closed_standard_descriptors(
    casemate: Casemate, binaries: Path, before: remains.Picture, tmp_path: Path, closed: list[int]
) -> None:
    """What we open must not take their place: a program's output would go there."""
    code = "import casemate, sys; print('out'); print('err', file=sys.stderr); open('p', 'w').write('product')\n"
    code += "casemate.artifact('p')"
    shell = 'exec "$0" "$@" ' + " ".join(f"{fd}>&-" for fd in closed)
    process = subprocess.run(
        ["/bin/bash", "-c", shell, casemate.binary, "run", "--trust", "trusted", "--out", tmp_path, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    assert process.returncode == 0, process
    assert process.stdout == (b"" if 1 in closed else b"out\n")
    assert (b"err\n" in process.stderr) == (2 not in closed)
    assert (tmp_path / "p").read_text() == "product"
    assert remains.left(before, remains.look(binaries)) == {}
