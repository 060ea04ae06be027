"""`casemate bench`: every measure has its rows or a reason, and what is not right is never measured."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from e2e.conftest import SLOW, Casemate, Ended, wait_for

MEASURES = ["hot_print", "pandas_job", "cold_run", "sustained", "memory_hot_slot", "live_1000"]
MEASURES += ["hot_gvisor", "sustained_gvisor", "memory_gvisor_slot", "hot_gvisor_shared", "sustained_gvisor_shared"]
ONE_PEER = ["memory_hot_slot", "live_1000", "memory_gvisor_slot"]
PEERS = ["python3", "bwrap", "runc", "runsc"]
UNITS = {"hot_print": "ms", "pandas_job": "ms", "cold_run": "ms", "sustained": "runs/s", "memory_hot_slot": "MiB"}
UNITS |= {"hot_gvisor": "ms", "sustained_gvisor": "runs/s", "memory_gvisor_slot": "MiB"}
UNITS |= {"hot_gvisor_shared": "ms", "sustained_gvisor_shared": "runs/s"}
SHORT = ("--measures", "cold_run", "--samples", "3")


def bench(casemate: Casemate, *options: str, **more: Any) -> Ended:
    """`casemate bench` in JSON."""
    return casemate.call("bench", "--json", *options, timeout=150, **more)


def check_row(row: dict[str, Any]) -> None:
    """The shape that docs/benchmarks.md promises, and a ratio in the right direction."""
    ours, theirs = row["ours"], row["theirs"]
    assert set(ours) == set(theirs) == {"p50", "p95", "p99", "unit"}
    assert 0 < ours["p50"] <= ours["p95"] <= ours["p99"] and 0 < theirs["p50"] <= theirs["p95"] <= theirs["p99"], row
    more_is_better = ours["unit"] == "runs/s"
    ratio = ours["p50"] / theirs["p50"] if more_is_better else theirs["p50"] / ours["p50"]
    assert row["ratio"] == pytest.approx(ratio, rel=0.01), row
    assert row["n"] >= 1
    rung = "gvisor" if "gvisor" in row["measure"] else "jail"
    assert row["isolation"]["ours"].startswith(rung + ": ") and row["isolation"]["theirs"]
    if row["measure"] in ("hot_print", "pandas_job", "sustained"):
        # A run that touches no page for the first time is what a rehearsal is for.
        assert type(row["ours_faults"]) in (int, float), row
        assert row["ours_faults"] > 0 or row["measure"] == "hot_print", row
    assert ours["unit"] == theirs["unit"] == UNITS.get(row["measure"], ours["unit"])


def test_quick_has_a_row_or_a_reason_for_everything_within_a_minute(casemate: Casemate, tmp_path: Path) -> None:
    ended = bench(casemate, "--quick", "--out", str(tmp_path / "results"))
    assert ended.exit_code == 0, ended
    assert ended.seconds < 60 * SLOW
    document = ended.outcome
    assert document["quick"] is True and document["host"]["interpreter"] == "same"
    for row in document["rows"]:
        check_row(row)
    measured = {(row["measure"], row["peer"]) for row in document["rows"]}
    skipped = {(one["measure"], one["peer"]) for one in document["skipped"]}
    assert all(one["reason"] for one in document["skipped"])
    for measure in MEASURES:
        for peer in PEERS if measure not in ONE_PEER else ["python3"]:
            left_out = bool({(measure, peer), (measure, None)} & skipped)
            assert ((measure, peer) in measured) != left_out, (measure, peer)
    assert ("hot_print", "python3") in measured
    assert json.loads((tmp_path / "results/bench.json").read_text()) == document
    assert (tmp_path / "results/bench.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "results/bench.svg").read_text()


@pytest.mark.skipif(shutil.which("runsc") is None, reason="needs runsc")
@pytest.mark.parametrize("measure", ["hot_gvisor", "hot_gvisor_shared", "sustained_gvisor_shared"])
def test_the_gvisor_rung_is_measured_when_it_is_named(casemate: Casemate, measure: str) -> None:
    document = bench(casemate, "--quick", "--measures", measure, "--peers", "python3").outcome
    (row,) = document["rows"]
    assert (row["measure"], row["peer"]) == (measure, "python3")
    assert ("share" in row["isolation"]["ours"]) == ("shared" in measure)
    check_row(row)


def nginxes() -> list[str]:
    """Those that serve a benchmark: the folder is in their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"nginx" in arguments and b"/callbacks_" in arguments:
            found.append(folder.name)
    return found


def test_calls_are_measured_against_nginx_or_that_is_missed_by_name(casemate: Casemate, tmp_path: Path) -> None:
    options = ("--quick", "--samples", "1", "--measures", "callbacks_1,callbacks_64_durable")
    document = bench(casemate, *options, env={"TMPDIR": str(tmp_path)}).outcome
    measures = ["callbacks_1", "callbacks_64_durable"]
    if not Path("/usr/sbin/nginx").exists():
        assert [(one["measure"], one["peer"], one["reason"]) for one in document["skipped"]] == [
            (measure, "nginx", "not installed") for measure in measures
        ]
        return
    assert [(row["measure"], row["peer"], row["ours"]["unit"]) for row in document["rows"]] == [
        (measure, "nginx", "calls/s") for measure in measures
    ], document
    for row in document["rows"]:
        assert row["ratio"] == pytest.approx(row["ours"]["p50"] / row["theirs"]["p50"], rel=0.01), "a rate: more is better"
    assert nginxes() == [] and wait_for(lambda: not any(tmp_path.iterdir()), 10 * SLOW)


def test_no_nginx_outlives_a_benchmark_that_is_killed(casemate: Casemate, tmp_path: Path) -> None:
    process = casemate.start("bench", "--measures", "callbacks_1", env={"TMPDIR": str(tmp_path)})
    if Path("/usr/sbin/nginx").exists():
        # It serves: one that is only starting would miss its files and end by itself.
        assert wait_for(lambda: any(one.read_text() for one in tmp_path.glob("*/callbacks_1-nginx/nginx.pid")), 30 * SLOW)
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60 * SLOW)
    assert wait_for(lambda: not nginxes() and not any(tmp_path.iterdir()), 10 * SLOW)


def test_the_table_names_what_was_measured_and_what_was_not(casemate: Casemate) -> None:
    ended = casemate.call("bench", *SHORT, "--peers", "python3,bwrap", env={"PATH": "/nowhere"}, timeout=150)
    assert ended.exit_code == 0, ended
    text = ended.stdout.decode()
    assert "cold_run" in text and "ratio" in text
    assert "not measured: cold_run/bwrap: not installed" in text
    assert "casemate  jail" in text and "python3   none" in text


def fake_peer(folder: Path, script: str) -> dict[str, str]:
    """An environment in which bwrap is a script."""
    (folder / "bwrap").write_text("#!/bin/sh\n" + script)
    (folder / "bwrap").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_a_peer_that_is_missing_is_skipped_by_name(casemate: Casemate) -> None:
    document = bench(casemate, *SHORT, env={"PATH": "/nowhere"}).outcome
    assert {"measure": "cold_run", "peer": "bwrap", "reason": "not installed"} in document["skipped"]
    assert "python3" in [row["peer"] for row in document["rows"]]


def test_a_peer_that_fails_is_not_measured(casemate: Casemate, tmp_path: Path) -> None:
    env = fake_peer(tmp_path, "echo 'no such \033[1mkernel' >&2; exit 7\n")
    document = bench(casemate, *SHORT, "--peers", "bwrap", env=env).outcome
    (skipped,) = document["skipped"]
    assert document["rows"] == []
    assert "exit code 7" in skipped["reason"] and "kernel" in skipped["reason"] and "\033" not in skipped["reason"]


@pytest.mark.parametrize(
    "script",
    [
        "echo 2 False\n",
        "exec true\n",
        'echo >> "$0.calls"; [ $(wc -l < "$0.calls") -gt 2 ] && exec echo 1 True; echo 1 False\n',
    ],
    ids=["always", "silent", "later"],
)
def test_a_peer_that_prints_a_wrong_thing_ends_the_benchmark(casemate: Casemate, tmp_path: Path, script: str) -> None:
    # The environment of a sample is ours and not the peer's: it finds its programs by itself.
    ended = bench(casemate, *SHORT, "--peers", "bwrap", env=fake_peer(tmp_path, "PATH=/usr/bin:/bin\n" + script))
    # One that is wrong from the start is no peer to measure; later it is a measure that is not told.
    assert ended.exit_code == 1 and (ended.stdout == b"" or json.loads(ended.stdout)["rows"] == []), ended
    assert ended.stderr.count("\n") == 1 and "bwrap" in ended.stderr, ended


def test_a_bar_is_held_or_missed(casemate: Casemate) -> None:
    for ratio, exit_code in (("0.0001", 0), ("1000", 1)):
        options = (*SHORT, "--peers", "python3", "--bar", f"cold_run/python3={ratio}")
        ended = casemate.call("bench", *options, timeout=150)
        assert ended.exit_code == exit_code, ended
        last = ended.stdout.decode().splitlines()[-1]
        assert last.startswith("bar: cold_run/python3 ") and "(bar " in last


def test_a_bar_of_what_was_not_measured_is_missed(casemate: Casemate) -> None:
    options = ("--peers", "bwrap", "--bar", "cold_run/bwrap=0.0001")
    ended = bench(casemate, *SHORT, *options, env={"PATH": "/nowhere"})
    assert ended.exit_code == 1 and "cold_run/bwrap not measured" in ended.stderr, ended


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--measures", "hot"], "hot_print"),
        (["--measures", "hot_print,x"], "--measures"),
        (["--peers", "docker"], "runsc"),
        (["--samples", "0"], "--samples"),
        (["--samples", "x"], "--samples"),
        (["--bar", "40"], "MEASURE/PEER"),
        (["extra"], "extra"),
    ],
)
def test_a_wrong_call_is_one_line(casemate: Casemate, options: list[str], said: str) -> None:
    ended = casemate.call("bench", *options)
    assert ended.exit_code == 2 and ended.stdout == b"", ended
    assert ended.stderr.count("\n") == 1 and said in ended.stderr, ended


def test_help_has_examples(casemate: Casemate) -> None:
    text = casemate.call("bench", "--help").stdout.decode()
    assert "casemate bench --quick" in text and "--bar cold_run/python3=" in text
    for measure in MEASURES:
        assert measure in text


def test_too_few_open_files_are_said(casemate: Casemate) -> None:
    command = [str(casemate.binary), "bench", "--json", "--quick", "--measures", "live_1000", "--peers", "python3"]
    ended = subprocess.run(
        ["bash", "-c", 'ulimit -n 1000 && exec "$@"', "bash", *command],
        capture_output=True,
        timeout=150 * SLOW,
        check=True,
    )
    reasons = [one["reason"] for one in json.loads(ended.stdout)["skipped"]]
    assert any("open files" in reason or "MiB are available" in reason for reason in reasons), reasons


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("peer", ["python3", "runc"])
def test_an_end_in_the_middle_leaves_nothing(
    casemate: Casemate, tmp_path: Path, number: signal.Signals, peer: str
) -> None:
    if shutil.which(peer) is None:
        pytest.skip(f"needs {peer}")
    measure = ["--measures", "cold_run", "--peers", peer, "--samples", "1000"]
    process = casemate.start("bench", *measure, env={"TMPDIR": str(tmp_path)})
    assert wait_for(lambda: any(tmp_path.iterdir()), 30 * SLOW)
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=30 * SLOW)
    assert wait_for(lambda: not any(tmp_path.iterdir()), 10 * SLOW)
    mine = f"casemate-bench-{process.pid}-"
    left = lambda: [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(mine)]
    assert wait_for(lambda: not left(), 10 * SLOW), left()
