"""The session in the guest: what is run there, as whom, in which order. Started by a systemd unit as root.

It powers the machine off at its end because its unit says so (SuccessAction, FailureAction).
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml_tree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path("/opt/casemate")
BIN = REPOSITORY / "build/dev/bin"
INSIDE = REPOSITORY / "tests/kernel61/inside"
RESULTS = Path("/run/results")
TESTER = "tester"
RUNTIME = Path("/run/user/1000")
SERIAL = "/dev/ttyS1"

os.environ["CASEMATE_REPORT"] = SERIAL
from pauses import TRIES, pauses, start_to_listen  # noqa: E402
from report import check, report  # noqa: E402


def options() -> dict[str, Any]:
    """What the run script asks for."""
    found = json.loads((REPOSITORY / "options.json").read_text())
    assert isinstance(found, dict)
    return found


def read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        return f"({error.strerror})"


def facts() -> None:
    """What this host is, for the reader of a failure."""
    report(
        "facts",
        facts={
            "kernel": " ".join(os.uname()[2:4]),
            "systemd": subprocess.run(["systemctl", "--version"], capture_output=True, text=True).stdout.split("\n")[0],
            "security modules": read("/sys/kernel/security/lsm"),
            "cgroup mount": next((x for x in read("/proc/self/mountinfo").splitlines() if " cgroup" in x), "none"),
            "controllers": read("/sys/fs/cgroup/cgroup.controllers"),
            "enabled at the top": read("/sys/fs/cgroup/cgroup.subtree_control"),
            "enabled for the user's manager": read(
                "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers"
            ),
            "unprivileged_userns_clone": read("/proc/sys/kernel/unprivileged_userns_clone"),
            "max_user_namespaces": read("/proc/sys/user/max_user_namespaces"),
            "ptrace_scope": read("/proc/sys/kernel/yama/ptrace_scope"),
            "booted in": read("/proc/uptime").split()[0] + " s",
        },
    )


def environment(who: str) -> dict[str, str]:
    """What a login of this user has."""
    entry = pwd.getpwnam(who)
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": entry.pw_dir,
        "USER": who,
        "LOGNAME": who,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CASEMATE_BIN": str(BIN / "casemate"),
        "CASEMATE_REPORT": SERIAL,
    }
    if who == TESTER:
        found["XDG_RUNTIME_DIR"] = str(RUNTIME)
        found["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={RUNTIME}/bus"
    return found


def command_as(who: str, command: list[str]) -> list[str]:
    return command if who == "root" else ["runuser", "-u", who, "--", *command]


@contextmanager
def timed(who: str, suite: str) -> Iterator[None]:
    """Reports how long all of a suite took."""
    begun = time.monotonic()
    yield
    report("suite", who=who, suite=suite, seconds=round(time.monotonic() - begun, 1))


def logged(who: str, name: str, command: list[str], more: dict[str, str], *, run_by: str | None = None) -> int:
    """Runs a command as this user (or `run_by` another), with its output in a file of the results; its exit code."""
    env = environment(run_by or who) | {"CASEMATE_WHO": who, "CASEMATE_SUITE": name} | more
    with (RESULTS / f"{name}-{who}.log").open("w") as log:
        ended = subprocess.run(
            command_as(run_by or who, command),
            env=env,
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
    return ended.returncode


def checks_as(who: str, asked: dict[str, Any]) -> None:
    """Runs checks.py as this user. It reports by itself."""
    command = ["/usr/bin/python3", "-B", str(INSIDE / "checks.py"), who]
    code = logged(who, "checks", command, {"CASEMATE_CHECKS": "|".join(asked["checks"])})
    if code != 0:
        failed(who, "checks", "checks", f"exit code {code}; see its log")


# By name: the pytest tests of a suite.
SUITES = {
    "slots": ["tests/e2e/slots_test.py", "tests/e2e/slots_libc_test.py"],
    "cleanup": ["tests/cleanup"],
    "e2e": ["tests/e2e"],
    "escape": ["tests/escape/test_escape.py"],
    "escape_hot": ["tests/escape/test_escape.py"],
    "walls": ["tests/escape/test_walls.py"],
}
# Those with outer boxes, and those that run side by side: outer boxes do not see each other, nor what is beside.
HOSTILE = ("escape", "escape_hot", "walls")
LANES = (("escape",), ("escape_hot",), ("slots", "walls"))


def unit_tests_as(who: str) -> None:
    """Runs the test programs that stand beside casemate: what they skip and find is a result."""
    for program in sorted(BIN.glob("*_test")):
        name = program.name
        xml = Path(environment(who)["HOME"]) / f"{name}.xml"
        for _ in range(TRIES):
            begun = time.monotonic()
            code = logged(who, name, [str(program)], {"GTEST_OUTPUT": f"xml:{xml}"})
            if code == 0 or not pauses(begun):
                break
        if not xml.exists():
            failed(who, "unit", name, f"exit code {code}, no report")
            continue
        shutil.copy(xml, RESULTS / f"{name}-{who}.xml")
        passed = 0
        root = xml_tree.parse(xml).getroot()
        for case in root.iter("testcase"):
            failure, skipped = case.find("failure"), case.find("skipped")
            if failure is None and skipped is None:
                passed += 1
                continue
            what = f"{name}/{case.get('classname')}.{case.get('name')}"
            detail = "" if failure is None else failure.get("message", "")
            if failure is None and skipped is not None:
                detail = skipped.get("message", "")
            result = "skip" if failure is None else "FAIL"
            seconds = float(case.get("time", 0))
            report("result", who=who, suite="unit", name=what, result=result, detail=detail[:1000], seconds=seconds)
        seconds = round(float(root.get("time", 0)), 1)
        told = f"{name}: {passed} tests"
        report("result", who=who, suite="unit", name=told, result="pass", seconds=seconds, count=passed)


@contextmanager
def delegated_scope() -> Iterator[Path]:
    """The control group of a scope of the tester's manager that lives as long as the block.

    A process in a group below it keeps it, so that others below it can have limits.
    """
    script = (
        "group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup) && mkdir $group/keeper && "
        "echo $$ >$group/keeper/cgroup.procs && echo $$ $group && exec sleep infinity"
    )
    command = ["systemd-run", "--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"]
    command += ["/bin/sh", "-c", script]
    with subprocess.Popen(
        command_as(TESTER, command),
        env=environment(TESTER),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        keeper, _, group = process.stdout.readline().strip().partition(" ")
        if not group:
            raise RuntimeError("the tester's manager made no scope")
        try:
            yield Path(group)
        finally:
            os.kill(int(keeper), signal.SIGKILL)


def suite_as(who: str, suite: str, asked: dict[str, Any]) -> None:
    """Runs the pytest tests of a suite as this user; the plugin reports each."""
    with timed(who, suite):
        if suite not in HOSTILE or who != TESTER:
            return pytest_as(who, suite, asked, {}, who)
        # Root makes the outer box and looks at it; each casemate in it is the tester's.
        with delegated_scope() as group:
            more = {"CASEMATE_ESCAPE_USER": who, "CASEMATE_ESCAPE_GROUP": str(group)}
            pytest_as(who, suite, asked, more, "root")


def pytest_as(who: str, suite: str, asked: dict[str, Any], more: dict[str, str], run_by: str) -> None:
    xml = Path(environment(run_by)["HOME"]) / f"{suite}.xml"
    xml.unlink(missing_ok=True)
    command = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "guest_plugin"]
    command += [f"--junitxml={xml}", "--rootdir", str(REPOSITORY), *asked["pytest"]]
    command += [str(REPOSITORY / path) for path in SUITES[suite]]
    more = more | {"CASEMATE_TEST_SLOW": str(asked["slow"]), "PYTHONPATH": str(INSIDE)}
    more["CASEMATE_ESCAPE_SHARED"] = "1"
    if suite == "escape_hot":
        more["CASEMATE_TEST_START"] = "hot"
    code = logged(who, suite, command, more, run_by=run_by)
    if xml.exists():
        shutil.copy(xml, RESULTS / f"{suite}-{who}.xml")
    if code not in (0, 1):  # 1: a test failed, which the plugin said
        tail = (RESULTS / f"{suite}-{who}.log").read_text()[-600:]
        failed(who, suite, suite, f"pytest's exit code {code}: {tail}")


def side_by_side(asked: dict[str, Any]) -> None:
    """Runs tests/escape in new boxes and in slots, the table of walls, and the tests of slots, in three lanes."""
    wanted = [(who, suite) for lane in LANES for suite in lane for who in asked["users"] if suite in asked["suites"]]
    # Which wall stops what is measured with the boxes of root, unless another user is asked for alone.
    if "root" in asked["users"] and (TESTER, "walls") in wanted:
        wanted.remove((TESTER, "walls"))

    def run(lane: tuple[str, ...]) -> None:
        for who, suite in wanted:
            if suite in lane:
                suite_as(who, suite, asked)

    with ThreadPoolExecutor() as pool:
        for ended in [pool.submit(run, lane) for lane in LANES]:
            ended.result()


def failed(who: str, suite: str, name: str, detail: str) -> None:
    """Reports what is not one test's failure."""
    report("result", who=who, suite=suite, name=name, result="FAIL", detail=detail, seconds=0)


def kernel_log(said: list[str]) -> None:
    """The kernel itself has nothing to complain about after all this."""
    text = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    (RESULTS / "dmesg.txt").write_text(text)
    bad = [x for x in text.splitlines() if any(y in x for y in ("WARNING:", "BUG:", "Oops", "blocked for more"))]
    assert not bad, "; ".join(bad[:5])


def user_manager_runs(said: list[str]) -> None:
    """What an ordinary user's control groups come from."""
    for name in ("systemd/private", "bus"):
        assert (RUNTIME / name).exists(), f"{RUNTIME / name} does not exist"
    said.append(str(RUNTIME))


def main() -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    # QEMU's serial line: raw, so that a line stays one.
    subprocess.run(["stty", "-F", SERIAL, "raw", "-echo"], check=True)
    os.chmod(SERIAL, 0o666)
    start_to_listen()
    try:
        asked = options()
        facts()
        if (REPOSITORY / "images").exists():
            Path("/var/lib/casemate").mkdir()
            Path("/var/lib/casemate/images").symlink_to(REPOSITORY / "images")
        check("tester", "the user's manager runs", user_manager_runs)
        for who in asked["users"]:
            if not asked["no_checks"]:
                with timed(who, "checks"):
                    checks_as(who, asked)
            if "unit" in asked["suites"]:
                with timed(who, "unit"):
                    unit_tests_as(who)
            for suite in asked["suites"]:
                if suite in ("cleanup", "e2e"):
                    suite_as(who, suite, asked)
        side_by_side(asked)
        if asked.get("script"):
            (RESULTS / "script.sh").write_text(asked["script"])
            with (RESULTS / "script.log").open("w") as log:
                subprocess.run(["bash", str(RESULTS / "script.sh")], stdout=log, stderr=log, check=False)
        check("kernel", "no warning, oops or hung task in the log", kernel_log)
        with (RESULTS / "journal.txt").open("w") as log:
            subprocess.run(["journalctl", "-b", "--no-pager"], stdout=log, check=False)
    except Exception as error:  # noqa: BLE001 - the host is told, and gets what there is
        failed("root", "machine", "the session", f"{type(error).__name__}: {error}")
        raise
    finally:
        report("end", pauses=pauses())
        disk = "/dev/disk/by-id/virtio-results"
        subprocess.run(["tar", "-cf", disk, "-C", str(RESULTS), "."], check=False)
        os.sync()
    return 0


if __name__ == "__main__":
    sys.exit(main())
