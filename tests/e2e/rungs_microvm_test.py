"""The rung microvm as a program and a request meet it: what docs/rungs.md says of it beside its outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate
from rungs import needs, on, outcome_of

pytestmark = needs("microvm")
RUNGS = on("microvm", "microvm hot")


def same_as_in_the_jail(casemate: Casemate, rung: str, code: str, *options: str) -> dict[str, Any]:
    """The outcome, whose end and output are those that the jail gives the program."""
    found, jail = (outcome_of(casemate, one, code, *options) for one in (rung, "jail"))
    assert found["stdout"]["text"] == jail["stdout"]["text"] != "", (found, jail)
    assert [found.get(key) for key in ("status", "exit_code")] == [jail.get(key) for key in ("status", "exit_code")]
    return found


@pytest.mark.parametrize("rung", RUNGS)
def test_it_has_a_kernel_of_its_own(casemate: Casemate, rung: str) -> None:
    text = outcome_of(casemate, rung, "import os; print(os.uname().release, os.cpu_count())")["stdout"]["text"]
    assert text.startswith("6.1.") and text.endswith("-cloud-amd64 1\n"), text
    assert Path("/proc/sys/kernel/osrelease").read_text().strip() not in text


@pytest.mark.parametrize("rung", RUNGS)
def test_a_guest_sees_nothing_of_what_its_machine_is_made_of(casemate: Casemate, rung: str) -> None:
    """Its own process alone, no device of the machine's, and no file that is not the image's or the guest's."""
    code = (
        "import os\nprint(len([p for p in os.listdir('/proc') if p.isdigit()]), os.path.exists('/proc/1'))\n"
        "print(os.listdir('/run'), sorted(os.listdir('/dev')), sorted(os.listdir('/')))\n"
        "print([n for n in ('/sys', '/boot', '/init', '/command', '/input', '/modules', '/proc/cmdline', '/proc/mounts',\n"
        "                   '/proc/sys') if os.path.exists(n) and (not os.path.isdir(n) or os.listdir(n))])\n"
        "print(sorted(os.environ), os.getsid(0) == os.getpid(), os.getppid())"
    )
    same_as_in_the_jail(casemate, rung, code)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_guest_is_an_ordinary_user_without_capabilities(casemate: Casemate, rung: str) -> None:
    code = (
        "import os\nprint(os.getresuid(), os.getresgid(), os.getgroups())\n"
        "print([l.split() for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNewPrivs'))])"
    )
    outcome = same_as_in_the_jail(casemate, rung, code)
    assert outcome["stdout"]["text"].startswith("(1000, 1000, 1000) (1000, 1000, 1000) []"), outcome


@pytest.mark.parametrize("rung", RUNGS)
def test_a_fork_too_many_is_refused_and_the_program_goes_on(casemate: Casemate, rung: str) -> None:
    code = (
        "import os, time\nmade = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(300)\n        made += 1\n"
        "except OSError as e: print(e.errno, made)"
    )
    outcome = same_as_in_the_jail(casemate, rung, code, "--pids", "16")
    assert outcome["stdout"]["text"] == "11 15\n", outcome


@pytest.mark.parametrize("rung", on("microvm"))
def test_a_limit_that_was_met_is_told_although_the_program_went_on(casemate: Casemate, rung: str) -> None:
    code = (
        "import os, time\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(300)\nexcept OSError: pass\n"
        "try: open('f', 'wb', 0).write(b'x' * (9 << 20)); open('g', 'wb', 0).write(b'x' * (9 << 20))\nexcept OSError: pass"
    )
    met, jail = (
        {one["name"] for one in outcome_of(casemate, one, code, "--pids", "16", "--disk", "8MiB")["limits_met"]}
        for one in (rung, rung.replace("microvm", "jail"))
    )
    assert met == jail and "pids" in met, (met, jail)


@pytest.mark.parametrize("rung", on("microvm"))
def test_the_usage_is_the_programs_and_not_the_machines(casemate: Casemate, rung: str) -> None:
    code = "import subprocess\nx = bytearray(40 << 20); open('f', 'wb').write(bytes(2 << 20)); subprocess.run(['true'])"
    usage = outcome_of(casemate, rung, code)["usage"]
    assert 40 << 20 < usage["memory_peak_bytes"] < 80 << 20 and usage["pids_peak"] == 2, usage
    assert 2 << 20 <= usage["disk_peak_bytes"] < 3 << 20, usage


def test_the_usage_of_a_hot_run_is_the_machines(casemate: Casemate) -> None:
    """A difference: what the guest's kernel counted comes with the end of a machine, and a hot run's answer before it."""
    usage = outcome_of(casemate, "microvm hot", "import os; print(len(os.listdir('/proc')) > 0)")["usage"]
    assert usage["memory_peak_bytes"] > 0 and usage["pids_peak"] == 0 and usage["disk_peak_bytes"] == 0, usage


@pytest.mark.parametrize("rung", RUNGS)
def test_process_1_is_not_the_guests_to_kill(casemate: Casemate, rung: str) -> None:
    code = "import os\ntry: os.kill(1, 9)\nexcept OSError as e: print(e.errno)"
    assert same_as_in_the_jail(casemate, rung, code)["stdout"]["text"] == "1\n"


def test_no_wall_is_waived_but_those_of_the_host(casemate: Casemate) -> None:
    def waived(rung: str) -> set[str]:
        rows = outcome_of(casemate, rung, "1", "--record")["record"]["birth"]["walls"]
        assert len(rows) > 30, rows
        return {row["name"] for row in rows if row["state"] != "on"}

    assert waived("microvm") == waived("jail")


def refusal(casemate: Casemate, *options: str) -> dict[str, Any]:
    outcome = casemate.call("run", "--json", "--isolation", "microvm", *options, "-c", "print(1)").outcome
    assert outcome["status"] == "refused" and outcome["stdout"]["text"] == "", outcome
    assert outcome["reason"]["code"] == "isolation_unavailable" and outcome["isolation"] == "microvm", outcome
    assert "accelerator" not in outcome and "below_floor" not in outcome, outcome
    return outcome


@pytest.mark.parametrize("trust", ["untrusted", "hostile"])
def test_an_emulated_machine_is_no_floor(casemate: Casemate, trust: str) -> None:
    message = refusal(casemate, "--trust", trust)["reason"]["message"]
    assert "emulated in software" in message and "/dev/kvm" in message and "--allow-below-floor" in message


@pytest.mark.parametrize("trust", ["untrusted", "hostile"])
def test_an_emulated_machine_below_the_floor_says_so(casemate: Casemate, trust: str) -> None:
    options = ("--isolation", "microvm", "--trust", trust, "--allow-below-floor")
    outcome = casemate.call("run", "--json", *options, "-c", "print(1)").outcome
    assert (outcome["status"], outcome["stdout"]["text"], outcome["below_floor"]) == ("ok", "1\n", True), outcome
    assert (outcome["isolation"], outcome["accelerator"]) == ("microvm", "tcg"), outcome


def test_auto_never_takes_an_emulated_machine(casemate: Casemate) -> None:
    options = ("--trust", "hostile", "--allow-below-floor")
    outcome = casemate.call("run", "--json", *options, "-c", "print(1)").outcome
    assert outcome["isolation"] in ("jail", "gvisor") and "accelerator" not in outcome, outcome
