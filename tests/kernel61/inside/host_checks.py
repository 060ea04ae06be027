"""What a run leaves on the host, killed or not; and how it lives with systemd."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from program import (
    CASEMATE,
    PATIENCE,
    ROOT,
    SLEEP,
    SLEEPERS,
    everything,
    groups,
    named,
    nothing_left,
    ran,
    run,
    short,
    start,
    text,
    warden_of,
)
from report import Skip

# What is left after a kill.


@named("nothing is left after a run")
def clean_end(said: list[str]) -> None:
    before = everything()
    ran("import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(600)\nprint(1)")
    nothing_left(before)


@named("SIGTERM ends the box")
def terminated(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPERS)
    process.terminate()
    assert process.wait(60) == 6, process.returncode
    nothing_left(before)


@named("kill -9 of casemate leaves nothing")
def killed_casemate(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPERS)
    process.kill()
    process.wait()
    nothing_left(before)


@named("kill -9 of the warden is said, and the next run clears up")
def killed_warden(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPERS)
    os.kill(warden_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    said.append(f"exit code {process.returncode}")
    assert process.returncode == 4, f"exit code {process.returncode}: {err[-600:]}"
    nothing_left(before, but=("groups", "records"))
    ran("print(1)")
    nothing_left(before)


@named("kill -9 of casemate and of the warden, and the next run clears up")
def killed_both(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPERS)
    warden = warden_of(process)
    process.kill()
    os.kill(warden, signal.SIGKILL)
    process.wait()
    nothing_left(before, but=("groups", "records"))
    ran("print(1)")
    nothing_left(before)


@named("three runs at once")
def together(said: list[str]) -> None:
    before = everything()
    three = [start(SLEEP) for _ in range(3)]
    for process in three:
        process.terminate()
    for process in three:
        assert process.wait(120) == 6, process.returncode
    nothing_left(before)


# Under systemd.


def limits_stay(said: list[str], disturb: list[list[str]]) -> None:
    """A box keeps its limits while systemd works on the same tree."""
    before = everything()
    process = start(SLEEP)
    try:
        box = Path(next(path for path in groups() - before["groups"] if not path.endswith(".b0")))
        names = ("memory.max", "pids.max", "cpu.max")
        first = {name: (box / name).read_text() for name in names}
        for command in disturb:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        gone = [name for name in names if not (box / name).exists()]
        assert (
            not gone
        ), f"systemd took away {gone}; enabled above: {(box.parent / 'cgroup.subtree_control').read_text()}"
        assert {name: (box / name).read_text() for name in names} == first
        said.append(f"enabled above: {(box.parent / 'cgroup.subtree_control').read_text().strip()}")
    finally:
        process.terminate()
        process.wait(60)
    nothing_left(before)


@named("limits stay through systemd's own changes")
def systemd_changes(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    limits_stay(
        said,
        [
            ["systemctl", *how, "daemon-reload"],
            ["systemd-run", *how, "--wait", "--quiet", "-p", "CPUWeight=50", "true"],
            ["systemd-run", *how, "--wait", "--quiet", "true"],
        ],
    )


@named("limits stay when the last user of the cpu controller goes")
def systemd_drops_cpu(said: list[str]) -> None:
    if not ROOT:
        raise Skip("the user's manager has a tree of its own")
    user = ["user@1000.service", "user-1000.slice"]
    try:
        limits_stay(said, [["systemctl", "stop", *user], ["systemd-run", "--wait", "--quiet", "true"]])
    finally:
        subprocess.run(["systemctl", "start", "user@1000.service"], check=True, stdin=subprocess.DEVNULL)


@named("in a scope that is delegated already")
def in_scope(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    before = everything()
    prefix = ["systemd-run", *how, "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"]
    assert text(ran("print(1)", prefix=prefix)) == "1"
    nothing_left(before)


@named("in a service that is not delegated")
def in_service(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    before = everything()
    command = ["systemd-run", *how, "--wait", "--pipe", "--quiet", "--collect", "--"]
    command += [CASEMATE, "run", "--trust", "trusted", "-c", "print(1)"]
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, ended.stdout) == (
        0,
        "1\n",
    ), f"exit code {ended.returncode}: {ended.stdout} {ended.stderr[-600:]}"
    nothing_left(before)


@named("a leaf of a group that lives on does not stay")
def leaf(said: list[str]) -> None:
    """Two runs in one scope, which lives on between and after them."""
    how = [] if ROOT else ["--user"]
    script = (
        f"for i in 1 2; do {CASEMATE} run --trust trusted -c 'print(1)' || exit; done; sleep 1; "
        "find /sys/fs/cgroup -name 'casemate.*'"
    )
    command = ["systemd-run", *how, "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--", "sh", "-c", script]
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, f"exit code {ended.returncode}: {ended.stdout} {ended.stderr[-600:]}"
    assert ended.stdout == "1\n1\n", ended.stdout


def refused(outcome: dict[str, Any], *words: str) -> None:
    """The host cannot give the isolation, and the report says what to do: these words are in it."""
    assert outcome["status"] == "refused", short(outcome)
    assert outcome["reason"]["code"] == "isolation_unavailable", short(outcome)
    for word in words:
        assert word in outcome["report"], f"'{word}' is not in: {outcome['report']}"


@named("no user manager: refused, with what to do")
def no_manager(said: list[str]) -> None:
    if ROOT:
        raise Skip("root needs none")
    with tempfile.TemporaryDirectory() as empty:
        outcome = run("print(1)", prefix=["env", "-u", "DBUS_SESSION_BUS_ADDRESS", f"XDG_RUNTIME_DIR={empty}"])
    refused(outcome, "systemd-run --user", "--weaken no-cgroup")


@named("the user's manager is found without the variables of a login")
def no_variables(said: list[str]) -> None:
    if ROOT:
        raise Skip("root needs none")
    before = everything()
    ran("print(1)", prefix=["env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS"])
    nothing_left(before)


@named("user namespaces forbidden: refused, with what to do")
def no_user_namespaces(said: list[str]) -> None:
    if not ROOT:
        raise Skip("needs root, to forbid them")
    forbid = Path("/proc/sys/user/max_user_namespaces")
    allowed = forbid.read_text()
    forbid.write_text("0")
    try:
        outcome = run("print(1)")
    finally:
        forbid.write_text(allowed)
    refused(outcome, "user namespaces")


@named("no subordinate ids: refused, with what to do")
def no_subordinate_ids(said: list[str]) -> None:
    if not ROOT:
        raise Skip("needs root, to take them away")
    kept = Path("/etc/subuid").read_text()
    Path("/etc/subuid").write_text("")
    login = ["runuser", "-u", "tester", "--", "env", "HOME=/home/tester", "XDG_RUNTIME_DIR=/run/user/1000"]
    try:
        outcome = run("print(1)", prefix=login)
    finally:
        Path("/etc/subuid").write_text(kept)
    refused(outcome, "add-subuids", "--weaken single-id")


@named("supplementary groups stay outside")
def supplementary_groups(said: list[str]) -> None:
    """Root and the tester, each started with groups that own files of the host."""
    if not ROOT:
        raise Skip("needs root, to be started with other groups")
    code = "import os; print(os.getgroups())"
    as_root = ["setpriv", "--groups", "0,4,6", "--"]
    as_tester = ["setpriv", "--reuid", "1000", "--regid", "1000", "--groups", "1000,4,6", "--"]
    as_tester += ["env", "HOME=/home/tester", "XDG_RUNTIME_DIR=/run/user/1000"]
    for prefix in (as_root, as_tester):
        assert text(ran(code, prefix=prefix)) == "[]", prefix
    # With one id nobody may drop groups (CVE-2014-8989): they stay, without names, as the threat model says.
    said.append("with --weaken single-id: " + text(ran(code, "--weaken", "single-id", prefix=as_tester)))


@named("--weaken no-cgroup")
def weaken_cgroup(said: list[str]) -> None:
    before = everything()
    outcome = ran("print(1)", "--weaken", "no-cgroup")
    assert outcome.get("weakenings") == ["no-cgroup"], outcome.get("weakenings")
    # What is left of the limits: of each process, and as errors.
    code = "try: x = bytearray(400 << 20); print('still here')\nexcept MemoryError: print('no memory')"
    assert text(ran(code, "--weaken", "no-cgroup", "--memory", "128MiB")) == "no memory"
    nothing_left(before)


@named("--weaken single-id")
def weaken_id(said: list[str]) -> None:
    outcome = ran("import os; print(os.getuid())", "--weaken", "single-id")
    # Root always has a range: there is nothing to weaken.
    assert outcome.get("weakenings") == (None if ROOT else ["single-id"]), outcome.get("weakenings")
    assert text(outcome) == "1000", short(outcome)
