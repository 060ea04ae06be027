"""The session in the guest: what is run there, as whom, in which order. Started by a systemd unit as root.

It powers the machine off at its end because its unit says so (SuccessAction, FailureAction).
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml_tree
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
from report import Skip, check, report  # noqa: E402


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


def logged(who: str, name: str, command: list[str], more: dict[str, str]) -> int:
    """Runs a command as this user, with its output in a file of the results; its exit code."""
    env = environment(who) | more
    with (RESULTS / f"{name}-{who}.log").open("w") as log:
        ended = subprocess.run(
            command_as(who, command),
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
        report("result", who=who, name="checks", result="FAIL", detail=f"exit code {code}; see its log", seconds=0)


def unit_tests_as(who: str) -> None:
    """Runs the test programs that stand beside casemate: what they skip and find is a result."""
    for program in sorted(BIN.glob("*_test")):
        name = program.name
        xml = Path(environment(who)["HOME"]) / f"{name}.xml"
        code = logged(who, name, [str(program)], {"GTEST_OUTPUT": f"xml:{xml}"})
        if not xml.exists():
            report("result", who=who, name=name, result="FAIL", detail=f"exit code {code}, no report", seconds=0)
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
            report(
                "result", who=who, name=what, result=result, detail=detail[:1000], seconds=float(case.get("time", 0))
            )
        seconds = round(float(root.get("time", 0)), 1)
        report("result", who=who, name=f"{name}: {passed} tests", result="pass", detail="", seconds=seconds)


def suite_as(who: str, suite: str, asked: dict[str, Any]) -> None:
    """Runs one folder of pytest tests as this user; the plugin reports each test."""
    folder = REPOSITORY / "tests" / suite
    if not [path for path in folder.rglob("*.py") if path.name.startswith("test_") or path.stem.endswith("_test")]:
        report("result", who=who, name=suite, result="skip", detail="no tests yet", seconds=0)
        return
    xml = Path(environment(who)["HOME"]) / f"{suite}.xml"
    command = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "guest_plugin"]
    command += [f"--junitxml={xml}", "--rootdir", str(REPOSITORY), *asked["pytest"], str(folder)]
    code = logged(who, suite, command, {"CASEMATE_TEST_SLOW": str(asked["slow"]), "PYTHONPATH": str(INSIDE)})
    if xml.exists():
        shutil.copy(xml, RESULTS / f"{suite}-{who}.xml")
    if code not in (0, 1):  # 1: a test failed, which the plugin said
        tail = (RESULTS / f"{suite}-{who}.log").read_text()[-600:]
        report("result", who=who, name=suite, result="FAIL", detail=f"pytest's exit code {code}: {tail}", seconds=0)


def kernel_log() -> None:
    """The kernel itself has nothing to complain about after all this."""
    with check("kernel", "no warning, oops or hung task in the log"):
        text = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
        (RESULTS / "dmesg.txt").write_text(text)
        bad = [x for x in text.splitlines() if any(y in x for y in ("WARNING:", "BUG:", "Oops", "blocked for more"))]
        assert not bad, "; ".join(bad[:5])


def user_manager_runs() -> None:
    with check("tester", "the user's manager runs") as said:
        for name in ("systemd/private", "bus"):
            if not (RUNTIME / name).exists():
                raise AssertionError(f"{RUNTIME / name} does not exist")
        said.append(str(RUNTIME))


def main() -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    # QEMU's serial line: raw, so that a line stays one.
    subprocess.run(["stty", "-F", SERIAL, "raw", "-echo"], check=True)
    os.chmod(SERIAL, 0o666)
    try:
        asked = options()
        facts()
        if (REPOSITORY / "images").exists():
            Path("/var/lib/casemate").mkdir()
            Path("/var/lib/casemate/images").symlink_to(REPOSITORY / "images")
        user_manager_runs()
        for who in asked["users"]:
            if not asked["no_checks"]:
                checks_as(who, asked)
            for suite in asked["suites"]:
                if suite == "unit":
                    unit_tests_as(who)
                else:
                    suite_as(who, suite, asked)
        if asked.get("script"):
            (RESULTS / "script.sh").write_text(asked["script"])
            with (RESULTS / "script.log").open("w") as log:
                subprocess.run(["bash", str(RESULTS / "script.sh")], stdout=log, stderr=log, check=False)
        kernel_log()
        with (RESULTS / "journal.txt").open("w") as log:
            subprocess.run(["journalctl", "-b", "--no-pager"], stdout=log, check=False)
    except Skip:
        pass
    finally:
        report("end")
        disk = "/dev/disk/by-id/virtio-results"
        subprocess.run(["tar", "-cf", disk, "-C", str(RESULTS), "."], check=False)
        os.sync()
    return 0


if __name__ == "__main__":
    sys.exit(main())
