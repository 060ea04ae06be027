"""casemate as the checks call it, what is left of it afterwards, and the list of checks."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASEMATE = os.environ["CASEMATE_BIN"]
CGROUPS = Path("/sys/fs/cgroup")
ROOT = os.geteuid() == 0

# A program that the kernel ends, or our own clock: generous, since an emulated processor is slow.
PATIENCE = 300.0

Check = Callable[[list[str]], None]
CHECKS: dict[str, Check] = {}


def named(name: str) -> Callable[[Check], Check]:
    """Makes a function one of the checks."""

    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add


def call(*args: str, prefix: list[str] | None = None, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one call of the program."""
    ended = subprocess.run(
        [*(prefix or []), CASEMATE, *args],
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def run(code: str, *args: str, **how: Any) -> dict[str, Any]:
    """The outcome of a trusted program."""
    exit_code, out, err = call("run", "--trust", "trusted", "--json", *args, "-c", code, **how)
    try:
        outcome = json.loads(out)
    except ValueError:
        raise AssertionError(f"exit code {exit_code}, no outcome: {out[-300:]} {err[-600:]}") from None
    assert isinstance(outcome, dict)
    return outcome


def short(outcome: dict[str, Any]) -> str:
    """What a reader needs of an outcome that is not as it should be."""
    keys = ("status", "exit_code", "reason", "message", "limit", "limits_met", "teardown")
    kept = {key: outcome[key] for key in keys if key in outcome}
    return json.dumps(kept) + " " + str(outcome.get("report"))[-600:]


def ran(code: str, *args: str, **how: Any) -> dict[str, Any]:
    """The outcome of a program that ends well."""
    outcome = run(code, *args, **how)
    assert outcome["status"] == "ok", short(outcome)
    assert outcome["teardown"]["verdict"] == "destroyed", short(outcome)
    return outcome


def text(outcome: dict[str, Any]) -> str:
    found = outcome["stdout"]["text"]
    assert isinstance(found, str)
    return found.strip()


def ended_by(limit: str, outcome: dict[str, Any]) -> None:
    assert outcome["status"] == "limit", short(outcome)
    assert outcome["limit"]["name"] == limit, short(outcome)
    assert outcome["teardown"]["verdict"] == "destroyed", short(outcome)


# What is left.


def groups() -> set[str]:
    return {str(Path(at, name)) for at, names, _ in os.walk(CGROUPS) for name in names if name.startswith("casemate.")}


def processes() -> dict[int, str]:
    """Living processes of casemate's own, and of its boxes, by process id: those of a test run are ours."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and ("casemate-warden" in line or "casemate run" in line or "casemate import" in line):
            found[int(folder.name)] = line
    return found


def mounts() -> set[str]:
    return {" ".join(line.split(" ")[3:]) for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def records() -> set[str]:
    """The files of instances that live or died uncleanly."""
    runtime = Path("/run/casemate") if ROOT else Path(os.environ["XDG_RUNTIME_DIR"]) / "casemate"
    return {path.name for path in runtime.glob("*") if path.suffix != ".lock"}


def everything() -> dict[str, Any]:
    return {"groups": groups(), "processes": set(processes().values()), "mounts": mounts(), "records": records()}


def nothing_left(before: dict[str, Any], seconds: float = 30.0, *, but: tuple[str, ...] = ()) -> None:
    """Waits for a killed program's warden to end by itself; then nothing may be more than before."""
    end = time.monotonic() + seconds
    while True:
        now = everything()
        left = {kind: sorted(now[kind] - before[kind]) for kind in now if kind not in but and now[kind] - before[kind]}
        if not left:
            return
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.2)


def start(code: str) -> subprocess.Popen[str]:
    """A run that is under way: its program has printed a line."""
    process = subprocess.Popen(
        [CASEMATE, "run", "--trust", "trusted", "--quiet", "--wall", "10m", "--cpu-time", "5m", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != "ready\n":
        process.kill()
        _, err = process.communicate()
        raise AssertionError(f"it did not start: {line!r} {err[-600:]}")
    return process


def warden_of(process: subprocess.Popen[str]) -> int:
    """The warden of a run: a child of it, or of the systemd-run that it became."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1, children
    return int(children[0])


# Programs for start(): one process that waits, and two.
SLEEP = "import time; print('ready', flush=True); time.sleep(600)"
SLEEPERS = "import os, time\nif os.fork(): print('ready', flush=True)\ntime.sleep(600)"
