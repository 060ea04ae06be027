"""Birth and death records: every box has one, which says what it was and what was shown of its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate, descendants, wait_for

ROOT = Path(__file__).resolve().parents[2]
PROOF = ["init_reaped", "groups_empty", "groups_removed", "layer_released"]
RECORD = ("run", "--trust", "trusted", "--json", "--record")
# The program's process is told from others by its name, and goes on when it is told to.
HELD = """import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
ctypes.CDLL(None).prctl(15, b"held")
signal.sigtimedwait({signal.SIGUSR1}, 300)
"""
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def wall_names() -> list[str]:
    text = (ROOT / "src/frame/walls.h").read_text()
    return re.findall(r"\bX\((\w+), ", text.split("#define CASEMATE_WALLS")[1].split("\n\n")[0])


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file for records of this test alone."""
    return tmp_path / "state/records.jsonl"


def lines(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()]


def check_whole(record: dict[str, Any], outcome: dict[str, Any], level: str) -> None:
    """The record of a box that was whole, whose run is over, and that is proven gone."""
    assert record["run"] == outcome["run_id"] and record["box"] == outcome["sandbox_id"]
    assert record["image"] == outcome["image_digest"] and record["level"] == level
    assert record["isolation"] == outcome["isolation"]
    birth, death = record["birth"], record["death"]
    assert birth["volume"] == outcome["volume"]["id"]
    assert [row["name"] for row in birth["walls"]] == wall_names()
    # An ordinary user has the host's devices (docs/slots.md); nothing else is missing.
    missing = {row["name"]: row["state"] for row in birth["walls"] if row["state"] != "on"}
    assert missing == ({} if os.geteuid() == 0 else {"OwnDevices": "waived"})
    assert birth["outside_id"] >= 65536 and 500 < birth["setup_us"] < 60e6 * SLOW
    assert death["verdict"] == outcome["teardown"]["verdict"] == "destroyed"
    assert [row["name"] for row in death["proof"]] == PROOF
    assert {row["state"] for row in death["proof"]} == {"on"} and all(row["proves"] for row in death["proof"])
    times = [birth["asked_at"], birth["born_at"], death["over_at"], death["dead_at"]]
    assert times == sorted(times) and all(TIME.fullmatch(time) for time in times), times


def test_a_cold_box_has_a_record(casemate: Casemate, kept: Path) -> None:
    outcome = casemate.call(*RECORD, "--records", str(kept), "-c", "print(1)").outcome
    record = outcome["record"]
    check_whole(record, outcome, "cold")
    assert "slot" not in record and record["cold_reason"] == "no slots are kept"
    assert record["death"]["why"] == "its run is over"
    assert lines(kept) == [record]


def test_each_run_of_a_repeat_has_its_own(casemate: Casemate, kept: Path) -> None:
    """Hot ones, the cold one before them, and the slots that no run had any more."""
    options = ("--repeat", "4", "--records", str(kept))
    ended = casemate.call(*RECORD, *options, "-c", f"import time; time.sleep({SLOW})", timeout=120)
    outcomes = [json.loads(line) for line in ended.stdout.splitlines()]
    levels = [outcome["record"]["level"] for outcome in outcomes]
    assert levels[0] == "cold" and levels[-1] == "hot"
    for outcome in outcomes:
        record = outcome["record"]
        check_whole(record, outcome, outcome["timing"]["start"])
        assert (record["level"] != "cold") == ("slot" in record and "nest" in record and "cold_reason" not in record)
    assert "zygote" in outcomes[0]["record"]["cold_reason"]
    records = lines(kept)
    assert [one for one in records if "run" in one] == [outcome["record"] for outcome in outcomes]
    unused = [one for one in records if "run" not in one]
    assert unused, "two slots were kept ready for a fifth run"
    for one in unused:
        assert one["death"]["verdict"] == "destroyed" and one["death"]["why"] not in ("", "its run is over"), one
        assert {row["state"] for row in one["death"]["proof"]} == {"on"} and len(one["birth"]["walls"]) > 30
    for what in ("box", "slot"):
        named = [one[what] for one in records if what in one]
        assert len(set(named)) == len(named)
    assert len({one["birth"]["volume"] for one in records}) == len(records)


def test_a_slot_that_did_not_rehearse_is_said_to_be_warm(casemate: Casemate, kept: Path) -> None:
    """Runs that come faster than slots are rehearsed."""
    options = ("--repeat", "40", "--records", str(kept))
    ended = casemate.call(*RECORD, *options, "-c", "print(1)", timeout=120)
    outcomes = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {outcome["timing"]["start"] for outcome in outcomes} >= {"warm", "cold"}
    for outcome in outcomes:
        check_whole(outcome["record"], outcome, outcome["timing"]["start"])


def test_without_the_option_it_is_kept_and_not_shown(casemate: Casemate, kept: Path) -> None:
    ended = casemate.call("run", "--trust", "trusted", "--json", "--records", str(kept), "-c", "print(1)")
    assert "record" not in ended.outcome and ended.stderr == ""
    (record,) = lines(kept)
    assert record["run"] == ended.outcome["run_id"]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_the_environment_names_the_file_and_the_option_wins(casemate: Casemate, kept: Path, tmp_path: Path) -> None:
    named = {"CASEMATE_RECORDS": str(tmp_path / "named/file")}
    casemate.call(*RECORD, "-c", "print(1)", env=named)
    assert len(lines(tmp_path / "named/file")) == 1
    casemate.call(*RECORD, "--records", str(kept), "-c", "print(1)", env=named)
    assert len(lines(tmp_path / "named/file")) == 1 and len(lines(kept)) == 1


def test_it_is_shown_to_a_person(casemate: Casemate, kept: Path) -> None:
    ended = casemate.call("run", "--trust", "trusted", "--record", "--records", str(kept), "-c", "print('out')")
    assert ended.stdout == b"out\n" and ended.exit_code == 0
    (record,) = lines(kept)
    for part in (record["box"], record["run"], record["image"], record["birth"]["volume"], "walls on: NestIds ",
                 str(record["birth"]["outside_id"]), "destroyed", *[f"{name} shown: " for name in PROOF]):  # fmt: skip
        assert part in ended.stderr, part
    assert "NOT" not in ended.stderr


@pytest.mark.parametrize("start", ["hot", "cold"])
@pytest.mark.parametrize(
    "code", ["import os; os.kill(os.getpid(), 9)", "x = bytearray(1 << 30)"], ids=["kill", "memory"]
)
def test_a_killed_program_leaves_a_whole_record(casemate: Casemate, kept: Path, start: str, code: str) -> None:
    outcome = casemate.call(*RECORD, "--records", str(kept), "--start", start, "-c", code).outcome
    assert outcome["status"] in ("error", "limit")
    check_whole(outcome["record"], outcome, start)


def _stage(name: str) -> int:
    lines = re.findall(r"^  X\((k\w+), ", (ROOT / "src/jail/stage.h").read_text(), re.MULTILINE)
    return lines.index(name) + 1


@pytest.mark.parametrize("stage", ["kSetLimits", "kMountProc", "kSeccomp"])
def test_a_box_that_could_not_be_made_says_so(casemate: Casemate, kept: Path, stage: str) -> None:
    binary = casemate.binary.with_name("casemate-test")
    if not binary.exists():
        pytest.skip("needs casemate-test beside casemate")
    hooked = Casemate(binary, casemate.runtime, casemate.folder)
    failing = ("--test-fail-stage", str(_stage(stage)))
    outcome = hooked.call(*RECORD, "--records", str(kept), *failing, "-c", "print(1)").outcome
    record = outcome["record"]
    assert outcome["status"] == "unavailable" and record["level"] == "cold"
    assert record["birth"]["walls"] == [] and "born_at" not in record["birth"]
    assert record["death"]["why"] == "the box " + outcome["reason"]["message"].partition("the box ")[2]
    assert record["death"]["verdict"] == "destroyed"
    assert {row["state"] for row in record["death"]["proof"]} == {"on"}
    assert lines(kept) == [record]


def _groups_of(pid: int) -> list[Path]:
    """The control groups of a process that are a box's, as directories."""
    found = []
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ".b" in path:
            for top in (f"/sys/fs/cgroup/{controllers}", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
                if Path(top + path).is_dir():
                    found.append(Path(top + path))
                    break
    return found


def _guest_of(process: subprocess.Popen[bytes]) -> int:
    """The process of the program, which calls itself so."""
    named = [pid for pid in descendants(process.pid) if "held" in Path(f"/proc/{pid}/comm").read_text()]
    return named[0] if named else 0


@contextmanager
def _held_group(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A group inside one of the box's, so that this one cannot be removed."""
    assert wait_for(lambda: _guest_of(process) != 0, 30 * SLOW)
    guest = _guest_of(process)
    inside = _groups_of(guest)[0] / "stays"
    inside.mkdir()
    os.kill(guest, signal.SIGUSR1)
    try:
        yield
    finally:
        inside.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a control group is made inside a box's")
@pytest.mark.parametrize("start", ["hot", "cold"])
def test_what_is_not_shown_to_be_gone_is_quarantined(casemate: Casemate, kept: Path, start: str) -> None:
    options = ("--wall", "5m", "--records", str(kept), "--start", start)
    process = casemate.start(*RECORD, *options, "-c", HELD)
    with _held_group(process):
        out, err = process.communicate(timeout=60 * SLOW)
    outcome = json.loads(out)
    record = outcome["record"]
    assert outcome["status"] == "ok" and outcome["teardown"]["verdict"] == "quarantined", err
    assert record["death"]["verdict"] == "quarantined" and "groups_removed" in record["death"]["quarantined_for"]
    assert [row["name"] for row in record["death"]["proof"] if row["state"] != "on"] == ["groups_removed"]
    assert lines(kept)[0] == record
    # The next instance removes it, now that it can be.
    assert casemate.python("print(1)").outcome["status"] == "ok"


def test_a_warden_that_is_gone_has_shown_nothing(casemate: Casemate, kept: Path) -> None:
    process = casemate.start(*RECORD, "--wall", "5m", "--records", str(kept), "-c", HELD)
    assert wait_for(lambda: _guest_of(process) != 0, 30 * SLOW)
    (warden,) = descendants(process.pid, generations=1)
    os.kill(warden, signal.SIGKILL)
    out, _ = process.communicate(timeout=60 * SLOW)
    outcome = json.loads(out)
    assert outcome["status"] == "unavailable" and outcome["teardown"]["verdict"] == "quarantined"
    assert outcome["record"]["death"]["verdict"] == "quarantined" and outcome["record"]["death"]["proof"] == []
    assert casemate.python("print(1)").outcome["status"] == "ok"


def test_what_is_kept_is_bounded(casemate: Casemate, kept: Path) -> None:
    """A file that is full is set aside, in the place of the one that was set aside before."""
    kept.parent.mkdir()
    kept.write_bytes(b"{}\n" * ((4 << 20) // 3 + 1))
    old = kept.with_name("records.jsonl.1")
    old.write_text("older\n")
    casemate.call(*RECORD, "--records", str(kept), "-c", "print(1)")
    assert len(lines(kept)) == 1 and old.stat().st_size > 4 << 20
    casemate.call(*RECORD, "--records", str(kept), "-c", "print(1)")
    assert len(lines(kept)) == 2 and sorted(os.listdir(kept.parent)) == ["records.jsonl", "records.jsonl.1"]


def test_a_place_that_cannot_be_written_costs_no_run(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = casemate.call(*RECORD, "--records", str(tmp_path / "file/records"), "-c", "print(1)")
    assert ended.exit_code == 0 and ended.outcome["record"]["run"] == ended.outcome["run_id"]
    assert ended.stderr.count("\n") == 1 and "ignoring" in ended.stderr and str(tmp_path / "file") in ended.stderr


def test_a_link_is_not_written_through(casemate: Casemate, kept: Path, tmp_path: Path) -> None:
    kept.parent.mkdir()
    kept.symlink_to(tmp_path / "other")
    ended = casemate.call(*RECORD, "--records", str(kept), "-c", "print(1)")
    assert ended.exit_code == 0 and "ignoring" in ended.stderr and not (tmp_path / "other").exists()


def test_a_refused_run_has_no_box_and_no_record(casemate: Casemate, kept: Path) -> None:
    ended = casemate.call("run", "--json", "--record", "--trust", "hostile", "--records", str(kept), "-c", "1")
    assert ended.outcome["status"] == "refused" and "record" not in ended.outcome and not kept.exists()
