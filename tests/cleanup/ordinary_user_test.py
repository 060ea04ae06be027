"""Runs of an ordinary user: with subordinate ids and groups of his own, and without either.

The user exists in a mount namespace of the test alone, where other files lie over /etc/passwd,
/etc/subuid and /etc/subgid, so that nothing of the host's has to be put back. His groups are made
below those that this process can write, and he is started inside them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import protocol
import pytest
import remains
from family import find_family

UID = 12345
RANGE = f"boxer:{1 << 20}:65536\n"
HIERARCHIES = {"memory", "pids", "cpu", "cpuacct"}

PROGRAM = """
import os, casemate
print(os.getuid(), len(os.sched_getaffinity(0)))
with open("out/p.txt", "w") as product:
    product.write("of an ordinary user")
os.chmod("out/p.txt", 0o600)
casemate.artifact("out/p.txt")
print(open("/dev/stdout", "w").name)
"""


@dataclass
class User:
    """An ordinary user with copies of the programs, a home, and groups to be started in."""

    folder: Path
    groups: list[Path] = field(default_factory=list)

    @property
    def binaries(self) -> Path:
        return self.folder / "bin"

    @property
    def runtimes(self) -> tuple[Path, ...]:
        """Where his instances keep their locks."""
        return (Path(f"/tmp/casemate-{UID}"), remains.ROOT_RUNTIME)

    def start(
        self,
        *arguments: str | os.PathLike[str],
        ranges: str = RANGE,
        groups: list[Path] | None = None,
        over: dict[str, Path] | None = None,
        program: str = "casemate",
        command: tuple[str, ...] = ("run", "--trust", "trusted"),
    ) -> subprocess.Popen[bytes]:
        """`casemate run` as this user, in his own groups unless others are named. `over` lies over files."""
        texts = {
            "/etc/passwd": Path("/etc/passwd").read_text() + f"boxer:x:{UID}:{UID}::{self.folder}/home:/bin/sh\n",
            "/etc/subuid": ranges,
            "/etc/subgid": ranges,
        }
        lines = ["set -e"]
        for path, text in texts.items():
            copy = self.folder / Path(path).name
            copy.write_text(text)
            copy.chmod(0o644)
            lines.append(f"mount --bind {copy} {path}")
        lines += [f"mount --bind {file} {path}" for path, file in (over or {}).items()]
        lines += [f"echo $$ > {group}/cgroup.procs" for group in (self.groups if groups is None else groups)]
        lines.append(f"cd {self.folder}/home")
        lines.append(f'exec setpriv --reuid {UID} --regid {UID} --clear-groups "$@"')
        words = [str(self.binaries / program), *command, *map(str, arguments)]
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", "\n".join(lines), "bash", *words],
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str | os.PathLike[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        """The same, to its end."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="module")
def user(binaries: Path) -> Iterator[User]:
    """The user, with copies of the programs that he may read."""
    folder = Path(tempfile.mkdtemp(prefix="casemate-user-"))
    folder.chmod(0o755)
    made = User(folder)
    try:
        made.binaries.mkdir()
        for name in ("casemate", "casemate-test", "casemate-warden", "casemate-warden-test"):
            shutil.copy2(binaries / name, made.binaries / name)
        shutil.copytree(binaries.parent / "share", folder / "share")
        (folder / "home").mkdir()
        os.chown(folder / "home", UID, UID)
        made.groups += make_groups(folder.name)
        yield made
    finally:
        for group in made.groups:
            remove_group(group)
        shutil.rmtree(folder)
        shutil.rmtree(made.runtimes[0], ignore_errors=True)


def make_groups(name: str) -> list[Path]:
    """A group of the user's own in each v1 hierarchy that limits something, writable for him."""
    made = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")
        if kind != "cgroup" or not HIERARCHIES & set(options.split(",")):
            continue
        group = Path(before.split(" ")[4]) / name
        group.mkdir()
        made.append(group)
        for path in (group, group / "cgroup.procs", group / "tasks"):
            os.chown(path, UID, UID)
    if not made:
        pytest.skip("needs control groups of version 1: how a user gets groups there is what is tested")
    return made


def remove_group(group: Path) -> None:
    """What a failing test left in it, and the group."""
    for inside in group.glob("casemate.*"):
        inside.rmdir()
    end = time.monotonic() + 5.0
    while True:
        try:
            return group.rmdir()
        except OSError:  # a process that ends is still in it
            assert time.monotonic() < end, f"{group} stays"
            time.sleep(0.01)


@pytest.fixture
def before_user(user: User) -> remains.Picture:
    """What there was of his before the test."""
    return remains.look(user.binaries, user.runtimes)


def test_with_a_subordinate_range_it_runs(user: User, before_user: remains.Picture) -> None:
    ended = user.run("--json", "-c", PROGRAM)
    outcome = json.loads(ended.stdout)
    assert (ended.returncode, outcome["status"]) == (0, "ok"), (outcome, ended.stderr)
    assert outcome["stdout"]["text"].startswith("1000 1\n")
    assert outcome["teardown"]["verdict"] == "destroyed"
    (product,) = outcome["artifacts"]
    stored = user.folder / "home" / product["uri"]
    assert stored.read_text() == "of an ordinary user"
    assert stored.stat().st_uid == UID
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


def test_bench_measures_cold_runs_of_this_user(user: User, before_user: remains.Picture) -> None:
    samples = int(os.environ.get("CASEMATE_TEST_SAMPLES", "3"))  # tools/bars takes more, and has a bar
    bar = float(os.environ.get("CASEMATE_TEST_BAR", "0"))
    options = ("--measures", "cold_run", "--peers", "python3", "--samples", str(samples), "--json")
    ended = user.run(*options, command=("bench",))
    assert ended.returncode == 0, ended
    (row,) = json.loads(ended.stdout)["rows"]
    print(f"bar: {1 / row['ratio']:.2f} times the time of bare Python, p50 of {samples}")
    assert row["n"] == samples and row["ours"]["p50"] > 0
    assert row["ratio"] >= bar
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


@pytest.mark.skipif(shutil.which("runsc") is None, reason="needs runsc")
def test_his_untrusted_code_has_a_kernel_of_its_own(user: User, before_user: remains.Picture) -> None:
    ended = user.run("--json", "-c", "import os; print(os.uname().release)", command=("run",))
    outcome = json.loads(ended.stdout)
    assert (outcome["status"], outcome["isolation"]) == ("ok", "gvisor"), (outcome, ended.stderr)
    assert outcome["stdout"]["text"] == "4.4.0\n" and outcome["teardown"]["verdict"] == "destroyed"
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="needs QEMU")
@pytest.mark.parametrize("start", ["cold", "hot"])
def test_his_code_has_a_machine_of_its_own(user: User, before_user: remains.Picture, start: str) -> None:
    options = ("--json", "--isolation", "microvm", "--start", start, "--artifact", "a")
    ended = user.run(*options, "-c", "import os; print(os.uname().machine, os.getuid()); open('a', 'w')")
    outcome = json.loads(ended.stdout)
    assert (outcome["status"], outcome["timing"]["start"]) == ("ok", start), (outcome, ended.stderr)
    assert outcome["stdout"]["text"] == "x86_64 1000\n" and outcome["teardown"]["verdict"] == "destroyed"
    assert [one["state"] for one in outcome["artifacts"]] == ["stored"], outcome
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


@pytest.mark.parametrize("start", ["cold", "hot"])
def test_the_records_of_his_boxes_are_in_his_home(user: User, start: str) -> None:
    """His boxes have one wall less, which is waived and not just off; and ids of his range."""
    ended = user.run("--json", "--record", "--start", start, "-c", "print(1)")
    record = json.loads(ended.stdout)["record"]
    assert record["level"] == start and record["death"]["verdict"] == "destroyed", (record, ended.stderr)
    missing = {row["name"]: row["state"] for row in record["birth"]["walls"] if row["state"] != "on"}
    assert missing == {"OwnDevices": "waived"}
    assert 1 << 20 <= record["birth"]["outside_id"] < (1 << 20) + 65536
    kept = user.folder / "home/.local/state/casemate/records.jsonl"
    assert kept.stat().st_uid == UID and record in [json.loads(line) for line in kept.read_text().splitlines()]


def test_a_weakening_shows_as_walls_that_are_waived(user: User) -> None:
    options = ("--weaken", "single-id", "--weaken", "no-cgroup", "--json", "--record")
    record = json.loads(user.run(*options, "-c", "print(1)").stdout)["record"]
    waived = {row["name"] for row in record["birth"]["walls"] if row["state"] == "waived"}
    assert waived == {"NestIds", "SlotId", "OwnDevices", "MemoryLimit", "PidsLimit", "CpuShare", "CpuTime"}
    assert {row["state"] for row in record["birth"]["walls"]} == {"on", "waived"}
    assert record["birth"]["outside_id"] == UID


def test_without_a_range_it_is_refused_with_the_remedy(user: User, before_user: remains.Picture) -> None:
    ended = user.run("-c", PROGRAM, ranges="somebody:100000:65536\n")
    assert ended.returncode == 3
    assert ended.stdout == b""
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("casemate: refused: isolation_unavailable: this user has no free subordinate ids"), line
    assert "usermod --add-subuids" in line and "--weaken single-id" in line
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


@pytest.mark.parametrize("ranges", ["", f"boxer:{1 << 20}:63\n", "boxer:0:65536\n", "boxer:x:y\n", f"{UID}:1:\n"])
def test_a_range_that_is_none_is_refused_too(user: User, ranges: str) -> None:
    ended = user.run("-c", "print(1)", ranges=ranges)
    assert ended.returncode == 3 and b"no free subordinate ids" in ended.stderr, ended


def test_a_range_by_number_works(user: User) -> None:
    assert user.run("-c", "print(1)", ranges=f"{UID}:{1 << 20}:65536\n").stdout == b"1\n"


@pytest.mark.parametrize("tool", ["newuidmap", "newgidmap"])
def test_a_tool_that_is_missing_or_refuses_is_named(
    user: User, before_user: remains.Picture, tmp_path: Path, tool: str
) -> None:
    path = f"/usr/bin/{tool}"
    missing = user.run("-c", "print(1)", over={path: Path("/dev/null")})
    assert missing.returncode == 4
    (line,) = missing.stderr.decode().splitlines()
    assert "sandbox_unavailable" in line and f"{tool} is not installed: install the package uidmap" in line, line
    # A copy that has lost its set-id bit.
    copy = user.folder / tool
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    refused = user.run("-c", "print(1)", over={path: copy})
    assert refused.returncode == 4
    assert f"{tool} refused the id map" in refused.stderr.decode().splitlines()[-1], refused
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


def test_with_a_delegated_group_of_version_2_too(user: User, before_user: remains.Picture) -> None:
    mounts = [
        line.split(" ") for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line
    ]
    if not mounts:
        pytest.skip("needs a cgroup file system of version 2")
    group = Path(mounts[0][4]) / user.folder.name
    group.mkdir()
    try:
        for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control", group / "cgroup.threads"):
            os.chown(path, UID, UID)
        for _ in range(2):
            ended = user.run("--json", "-c", PROGRAM, groups=[*user.groups, group])
            outcome = json.loads(ended.stdout)
            assert (ended.returncode, outcome["status"]) == (0, "ok"), (outcome, ended.stderr)
            assert outcome["teardown"]["verdict"] == "destroyed"
            assert outcome["usage"]["cpu_ms"] > 0
            assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}
    finally:
        remove_group(group)


@pytest.mark.parametrize("victim", ["engine", "warden", "init"])
def test_a_killed_process_leaves_nothing_after_the_next_start(
    user: User, before_user: remains.Picture, victim: str
) -> None:
    process = user.start("--json", "-c", "import time; time.sleep(60)")
    end = time.monotonic() + 20.0
    while find_family(process.pid).guest is None:
        assert time.monotonic() < end and process.poll() is None, process.communicate()
        time.sleep(0.005)
    os.kill(getattr(find_family(process.pid), victim), signal.SIGKILL)
    out, _ = process.communicate(timeout=20)
    assert victim == "engine" or json.loads(out)["status"] == "unavailable"
    kinds = {"processes"} if victim == "warden" else None
    assert remains.wait_until_gone(before_user, user.binaries, seconds=5.0, kinds=kinds, runtimes=user.runtimes) == {}
    assert user.run("-c", "print(1)").stdout == b"1\n"
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


def test_single_id_is_a_weakening_that_runs(user: User, before_user: remains.Picture) -> None:
    ended = user.run("--json", "--weaken", "single-id", "-c", PROGRAM, ranges="")
    outcome = json.loads(ended.stdout)
    assert (ended.returncode, outcome["status"]) == (0, "ok"), (outcome, ended.stderr)
    assert outcome["stdout"]["text"].startswith("1000 1\n")
    assert outcome["artifacts"][0]["state"] == "stored", outcome["artifacts"]
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


def test_without_groups_it_is_refused_and_no_cgroup_runs(user: User, before_user: remains.Picture) -> None:
    ended = user.run("-c", "print(1)", groups=[])
    assert ended.returncode == 3
    (line,) = ended.stderr.decode().splitlines()
    assert "isolation_unavailable" in line and "Delegate=yes" in line and "--weaken no-cgroup" in line, line
    weaker = user.run("--weaken", "no-cgroup", "-c", "print(2)", groups=[])
    assert (weaker.returncode, weaker.stdout) == (0, b"2\n"), weaker
    weakest = user.run("--weaken", "no-cgroup", "--weaken", "single-id", "-c", "print(3)", groups=[], ranges="")
    assert (weakest.returncode, weakest.stdout) == (0, b"3\n"), weakest
    assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}


@pytest.mark.parametrize("mode", ["range", "single-id"])
def test_every_failing_step_leaves_nothing(user: User, before_user: remains.Picture, mode: str) -> None:
    weaken = ["--weaken", "single-id"] if mode == "single-id" else []
    # With one id there is no other to become.
    not_taken = {"kBecomeSlotId"} if mode == "single-id" else set()
    for number, name in enumerate(protocol.stages(), start=1):
        ended = user.run(
            "--json", *weaken, "--test-fail-stage", str(number), "-c", "print('never')", program="casemate-test"
        )
        outcome = json.loads(ended.stdout)
        if name in not_taken:
            assert outcome["status"] == "ok", (name, outcome)
            continue
        assert (ended.returncode, outcome["status"]) == (4, "unavailable"), (name, outcome)
        assert outcome["reason"]["code"] == "sandbox_unavailable", (name, outcome)
        assert outcome["teardown"]["verdict"] == "destroyed", name
        assert remains.left(before_user, remains.look(user.binaries, user.runtimes)) == {}, name
