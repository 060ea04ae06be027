"""Hot slots of the gvisor rung: each is a sandbox of its own, which prepared itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import Any

import pytest
from conftest import SLOW, Casemate, descendants, wait_for

pytestmark = pytest.mark.skipif(shutil.which("runsc") is None, reason="needs runsc")
HOT = ("run", "--json", "--record", "--isolation", "gvisor", "--trust", "trusted", "--start", "hot")


def outcomes(casemate: Casemate, code: str, count: int, *options: str) -> list[dict[str, Any]]:
    """Of a program that is run `count` times in one process, each time in a hot slot."""
    ended = casemate.call(*HOT, "--repeat", str(count), *options, "-c", code, timeout=120)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == count and ended.stderr == "", ended
    for one in found:
        assert (one["isolation"], one["timing"]["start"], one["record"]["level"]) == ("gvisor", "hot", "hot"), one
        assert one["teardown"]["verdict"] == "destroyed", one
    return found


def test_slots_share_nothing(casemate: Casemate) -> None:
    code = """
import builtins, os, random, secrets, tempfile, uuid, ssl, json, pathlib
import numpy
print(json.dumps([getattr(builtins, "left", None), os.path.exists("/tmp/left"), os.path.exists("/dev/shm/left"), os.getcwd(), os.getpid()]))
print(json.dumps([random.random(), secrets.token_hex(8), str(uuid.uuid4()), ssl.RAND_bytes(8).hex(), tempfile.mktemp(),
                  float(numpy.random.random()), float(numpy.random.default_rng().random()), os.urandom(8).hex(), hash("text"),
                  open("/proc/sys/kernel/random/boot_id").read() if os.path.exists("/proc/sys/kernel/random/boot_id") else os.urandom(4).hex()]))
builtins.left = 1
pathlib.Path("/tmp/left").touch(); pathlib.Path("/dev/shm/left").touch(); os.chdir("/")
"""
    found = [one["stdout"]["text"].splitlines() for one in outcomes(casemate, code, 3)]
    assert [lines[0] for lines in found] == ['[null, false, false, "/vol/work", 2]'] * 3
    for values in zip(*(json.loads(lines[1]) for lines in found), strict=True):
        assert len(set(values)) == len(found), values


def test_what_preparing_used_is_not_the_runs(casemate: Casemate) -> None:
    """It takes half a second of processor time; a run that was charged for it would end by this limit."""
    for one in outcomes(casemate, "print(1)", 2, "--cpu-time", "1s"):
        assert one["status"] == "ok" and one["usage"]["cpu_ms"] < 200 * SLOW, one


def test_an_end_by_the_kernel_is_told(casemate: Casemate) -> None:
    (one,) = outcomes(casemate, "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGSEGV)", 1)
    assert (one["status"], one["signal"], one["stdout"]["text"]) == ("error", "SIGSEGV", "x\n"), one


def test_products_of_a_slot_are_kept(casemate: Casemate) -> None:
    (one,) = outcomes(casemate, "import casemate; open('p', 'w').write('kept'); casemate.artifact('p')", 1)
    assert [product["state"] for product in one["artifacts"]] == ["stored"], one


def _parts(above: int) -> list[int]:
    """The processes of runsc's below a process."""
    return [pid for pid in descendants(above) if "runsc" in _command(pid)]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@pytest.mark.parametrize("seed", range(4))
def test_a_slot_that_ends_while_it_waits_costs_no_run(casemate: Casemate, seed: int) -> None:
    """Runs go on; one whose slot it was says so, and is the last of that process, as any whose box fails."""
    process = casemate.start(*HOT, "--repeat", "5", "-c", "import time; time.sleep(0.3); print('ran')")
    assert wait_for(lambda: len(_parts(process.pid)) >= 6, 30 * SLOW)
    for _ in range(20):  # one of them may have ended meanwhile
        parts = _parts(process.pid)
        try:
            os.kill(parts[seed * len(parts) // 4], signal.SIGKILL)
            break
        except (ProcessLookupError, IndexError):
            continue
    out, err = process.communicate(timeout=90 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    ran = [one for one in found if one["status"] == "ok" and one["stdout"]["text"] == "ran\n"]
    hurt = [one for one in found if one not in ran]
    # A process of the guest's that was killed from outside looks like one that the guest killed.
    assert len(hurt) <= 1 and all(one["status"] in ("unavailable", "error") for one in hurt), (found, err)
    assert len(found) == 5 or found[-1]["status"] == "unavailable", (found, err)
    assert all(one["teardown"]["verdict"] == "destroyed" for one in found), found
