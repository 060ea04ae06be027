"""Runs that go on at once in one casemate: each is what it would be alone, and none sees another."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate, descendants, wait_for
from tools_kit import Tools

TRUSTED = ("run", "--trust", "trusted", "--json")


def outcomes(casemate: Casemate, code: str, count: int, at_once: int, *options: str) -> list[dict[str, Any]]:
    """The outcomes in the order of their ends. All of it: nothing but outcomes is printed."""
    ended = casemate.call(
        *TRUSTED, "--repeat", str(count), "--parallel", str(at_once), *options, "-c", code, timeout=180
    )
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == count and ended.stderr == "", ended
    return found


@pytest.mark.parametrize("start", ["hot", "cold"])
def test_each_is_a_run_of_its_own(casemate: Casemate, start: str) -> None:
    code = """
import os, pathlib, sys
seen = [os.listdir("/work"), os.listdir("/tmp"), getattr(sys, "token", None)]
sys.token = 1
pathlib.Path("/work/token").write_text("x"); pathlib.Path("/tmp/token").write_text("x")
print(seen)
"""
    found = outcomes(casemate, code, 48, 8, "--start", start)
    for one in found:
        assert (one["status"], one["stdout"]["text"]) == ("ok", "[['out'], [], None]\n"), one
        assert one["teardown"]["verdict"] == "destroyed", one
    for name in ("run_id", "sandbox_id"):
        assert len({one[name] for one in found}) == 48
    assert len({one["volume"]["id"] for one in found}) == 48
    if start == "hot":
        assert Counter(one["timing"]["start"] for one in found)["hot"] > 8, found


def test_they_go_on_at_the_same_time(casemate: Casemate) -> None:
    begun = time.monotonic()
    found = outcomes(casemate, f"import time; time.sleep({SLOW}); print(time.time())", 8, 8)
    assert all(one["status"] == "ok" for one in found)
    assert time.monotonic() - begun < 6 * SLOW, "one after another they take eight seconds"
    ends = sorted(float(one["stdout"]["text"]) for one in found)
    assert ends[-1] - ends[0] < 4 * SLOW


def test_each_ends_in_its_own_way(casemate: Casemate) -> None:
    """By chance, so that ends of all kinds meet; what a program says of its end is what its outcome says."""
    code = """
import os, random, signal, sys, time
how = random.randrange(6)
print(how, flush=True)
if how == 0: sys.exit(7)
if how == 1: os.kill(os.getpid(), signal.SIGKILL)
if how == 2: bytearray(1 << 30)
if how == 3: time.sleep(60)
if how == 4: os.execv("/bin/true", ["true"])
if how == 5: time.sleep(random.random())
"""
    found = outcomes(casemate, code, 60, 12, "--wall", "5s", "--memory", "64MiB")
    for one in found:
        how = int(one["stdout"]["text"])
        end = (one["status"], one.get("exit_code"), one.get("signal"), one.get("limit", {}).get("name"))
        assert end == {
            0: ("error", 7, None, None),
            1: ("error", None, "SIGKILL", None),
            2: ("limit", None, None, "memory"),
            3: ("limit", None, None, "wall"),
            4: ("ok", 0, None, None),
            5: ("ok", 0, None, None),
        }[how], one
        assert one["teardown"]["verdict"] == "destroyed", one
    assert len({int(one["stdout"]["text"]) for one in found}) > 3


def test_products_are_those_of_their_run(casemate: Casemate, tmp_path: Path) -> None:
    code = """
import casemate, secrets
token = secrets.token_hex(16)
open("token.txt", "w").write(token)
casemate.artifact("token.txt")
print(token)
"""
    found = outcomes(casemate, code, 24, 6, "--out", str(tmp_path / "out"))
    tokens = {one["stdout"]["text"].strip() for one in found}
    assert len(tokens) == 24
    for one in found:
        (artifact,) = one["artifacts"]
        assert artifact["state"] == "stored", one
        assert Path(artifact["uri"].removeprefix("file://")).read_text() == one["stdout"]["text"].strip()


def test_calls_are_recorded_and_answered_for_the_run_that_made_them(casemate: Casemate, tmp_path: Path) -> None:
    kit = Tools(casemate, tmp_path)
    kit.tool("peer.echo", durable="false")
    code = """
import secrets
from casemate import tools
mine = [secrets.token_hex(8) for _ in range(20)]
print(all(tools.peer.echo(text=one)["text"] == one for one in mine))
"""
    found = outcomes(casemate, code, 16, 8, *kit.write())
    assert all(one["stdout"]["text"] == "True\n" for one in found), found
    for one in found:
        assert len(one["calls"]) == 20 and all(call["id"].startswith(one["run_id"]) for call in one["calls"])
    runs = {one["run_id"]: 20 for one in found}
    assert Counter(record["run"] for record in kit.kinds("verdict")) == runs
    assert Counter(effect["idempotency_key"].rpartition("-")[0] for effect in kit.effects) == runs


def test_without_its_log_none_runs_any_more(casemate: Casemate, tmp_path: Path) -> None:
    """The log goes away in the middle: what has a slot by then gives it back, unused and shown to be gone."""
    audit, records = tmp_path / "audit", tmp_path / "boxes"
    process = casemate.start(
        *TRUSTED, "--repeat", "10000", "--parallel", "4", "--start", "hot", "--audit", str(audit), "--records", str(records),
        "-c", "print('ran')"
    )  # fmt: skip
    assert process.stdout
    before = [json.loads(process.stdout.readline()) for _ in range(12)]
    shutil.rmtree(audit)
    out, err = process.communicate(timeout=60 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    assert all(one["status"] == "ok" for one in before) and process.returncode == 4, err
    refused = [one for one in found if one["status"] != "ok"]
    assert 1 <= len(refused) <= 4 and len(found) < 1000, found
    for one in refused:
        assert one["reason"]["code"] == "audit_unavailable" and one["stdout"]["text"] == "", one
    assert b"quarantined" not in records.read_bytes()


def test_all_are_cancelled(casemate: Casemate) -> None:
    process = casemate.start(*TRUSTED, "--repeat", "100", "--parallel", "6", "-c", "import time; time.sleep(60)")
    assert wait_for(lambda: sum("python" in command for command in descendants(process.pid).values()) >= 6, 20 * SLOW)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 6 and 6 <= len(found) < 20, err
    assert all((one["status"], one["teardown"]["verdict"]) == ("cancelled", "destroyed") for one in found), found


def test_a_killed_warden_is_told_by_each(casemate: Casemate) -> None:
    process = casemate.start(*TRUSTED, "--repeat", "100", "--parallel", "6", "-c", "import time; time.sleep(60)")
    assert wait_for(lambda: sum("python" in command for command in descendants(process.pid).values()) >= 6, 20 * SLOW)
    (warden,) = descendants(process.pid, generations=1)
    os.kill(warden, signal.SIGKILL)
    out, err = process.communicate(timeout=60 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 4 and len(found) == 6, (err, found)
    for one in found:
        assert (one["status"], one["reason"]["code"]) == ("unavailable", "sandbox_unavailable"), one
        assert one["teardown"]["verdict"] == "quarantined", one
    assert wait_for(lambda: not descendants(), seconds=5.0 * SLOW), descendants()
    assert casemate.python("print(1)").outcome["status"] == "ok", "the next instance clears up"


def test_killed_with_no_warning_nothing_is_left(casemate: Casemate) -> None:
    process = casemate.start(*TRUSTED, "--repeat", "100", "--parallel", "6", "-c", "import time; time.sleep(60)")
    assert wait_for(lambda: sum("python" in command for command in descendants(process.pid).values()) >= 6, 20 * SLOW)
    process.kill()
    process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--parallel", "0", "--json"), "--parallel takes 1 to 1000"),
        (("--parallel", "1001", "--json"), "--parallel takes 1 to 1000"),
        (("--parallel", "x", "--json"), "a number"),
        (("--parallel", "2"), "--json"),
    ],
)
def test_what_is_wrong_is_one_line(casemate: Casemate, options: tuple[str, ...], said: str) -> None:
    ended: Any = subprocess.run(
        [casemate.binary, "run", "--repeat", "2", *options, "-c", "1"], capture_output=True, text=True, timeout=30 * SLOW
    )
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1 and said in ended.stderr, ended
