"""How a run ends, as its caller sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import Casemate


def test_what_the_program_prints_comes_back(casemate: Casemate) -> None:
    ended = casemate.python("import sys\nprint('out')\nprint('err', file=sys.stderr)\n")
    assert ended.outcome["status"] == "ok"
    assert ended.outcome["stdout"]["text"] == "out\n"
    assert ended.outcome["stderr"]["text"] == "err\n"
    assert ended.outcome["exit_code"] == 0


def test_json_is_one_document_and_nothing_else(casemate: Casemate) -> None:
    ended = casemate.python("print('{')")
    assert ended.stdout.count(b"\n") == 1
    assert json.loads(ended.stdout)["stdout"]["text"] == "{\n"


def test_quiet_passes_the_programs_own_bytes(casemate: Casemate) -> None:
    code = "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stdout.buffer.flush()\n"
    ended = casemate.call("run", "--trust", "trusted", "--quiet", "-", stdin=code)
    assert ended.exit_code == 0
    assert ended.stdout == bytes(range(256))


@pytest.mark.parametrize("code", [1, 3, 42, 255])
def test_an_exit_code_is_the_programs_own(casemate: Casemate, code: int) -> None:
    outcome = casemate.python(f"import sys\nsys.exit({code})").outcome
    assert outcome["status"] == "error"
    assert outcome["exit_code"] == code


def test_an_exception_names_the_line_as_submitted(casemate: Casemate) -> None:
    outcome = casemate.python("rows = [{'value': 1}]\nprint('before')\nrows[0]['amount']\n").outcome
    assert outcome["status"] == "error"
    assert outcome["exception"]["type"] == "KeyError"
    assert outcome["exception"]["line"] == 3
    assert outcome["exception"]["source"] == "rows[0]['amount']"
    assert outcome["stdout"]["text"] == "before\n"


def test_a_signal_of_the_programs_own_is_an_error(casemate: Casemate) -> None:
    outcome = casemate.python("import os\nos.kill(os.getpid(), 9)").outcome
    assert outcome["status"] == "error"
    assert outcome["signal"] == "SIGKILL"


@pytest.mark.parametrize(
    ("options", "code", "limit"),
    [
        (["--wall", "700ms"], "import time\nprint('kept', flush=True)\ntime.sleep(60)", "wall"),
        (["--cpu-time", "1s"], "print('kept', flush=True)\nwhile True: pass", "cpu_time"),
        (["--memory", "64MiB"], "print('kept', flush=True)\nx = [bytearray(1 << 20) for _ in range(500)]", "memory"),
        (["--output", "1KiB"], "print('kept', flush=True)\nwhile True: print('x' * 1000)", "output"),
    ],
)
def test_a_limit_is_named_and_earlier_output_kept(
    casemate: Casemate, options: list[str], code: str, limit: str
) -> None:
    outcome = casemate.python(code, *options).outcome
    assert outcome["status"] == "limit", outcome["report"]
    assert outcome["limit"]["name"] == limit
    assert outcome["limit"]["advice"]
    assert outcome["stdout"]["text"].startswith("kept\n")


def test_processes_beyond_the_limit_are_refused_and_counted(casemate: Casemate) -> None:
    code = "import os, time\ntry:\n  for _ in range(64):\n    os.fork() or time.sleep(60)\n"
    code += "except OSError as e:\n  print(e.errno)\n"
    outcome = casemate.python(code, "--pids", "16").outcome
    assert outcome["stdout"]["text"] == "11\n"
    assert "pids" in {met["name"] for met in outcome["limits_met"]}


def test_a_floor_that_cannot_be_reached_is_refused(casemate: Casemate) -> None:
    ended = casemate.run("--trust", "hostile", "-c", "print(1)")
    assert ended.exit_code == 3
    assert ended.outcome["reason"]["code"] == "isolation_unavailable"
    assert ended.outcome["stdout"]["text"] == ""


def test_below_the_floor_is_named_in_the_outcome(casemate: Casemate) -> None:
    outcome = casemate.run("--isolation", "jail", "--trust", "untrusted", "--allow-below-floor", "-c", "print(1)").outcome
    assert outcome["status"] == "ok"
    assert outcome["below_floor"] is True
    assert "floor" in outcome["report"]


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["run", "--no-such-option"],
        ["run", "/nonexistent.py"],
        ["run", "--memory", "lots", "-c", "1"],
        ["run", "--trust", "somewhat", "-c", "1"],
        ["run", "--file", "/nonexistent", "-c", "1"],
        ["nonsense"],
    ],
)
def test_a_mistake_in_the_command_is_usage_and_says_so(casemate: Casemate, args: list[str]) -> None:
    ended = casemate.call(*args)
    assert ended.exit_code == 2
    assert ended.stdout == b""
    assert ended.stderr.startswith("casemate")


def test_stdin_of_the_program_is_what_was_given(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\nb\n")
    code = "import sys\nprint(sys.stdin.read().split())"
    assert casemate.python(code, "--stdin", str(tmp_path / "in")).outcome["stdout"]["text"] == "['a', 'b']\n"
    assert casemate.python(code).outcome["stdout"]["text"] == "[]\n"


def test_arguments_reach_the_program_as_they_are(casemate: Casemate) -> None:
    ended = casemate.run("-c", "import sys\nprint(sys.argv[1:])", "--", "--json", "a b", "é")
    assert ended.outcome["stdout"]["text"] == "['--json', 'a b', 'é']\n"


def test_the_hosts_environment_stays_out(casemate: Casemate) -> None:
    code = "import os\nprint(sorted(k for k in os.environ if 'SECRET' in k or k == 'GIVEN'))"
    ended = casemate.python(code, "--env", "GIVEN=1", env={"SOME_SECRET": "x"})
    assert ended.outcome["stdout"]["text"] == "['GIVEN']\n"


def test_ids_are_new_each_time(casemate: Casemate) -> None:
    first = casemate.python("print(1)").outcome
    second = casemate.python("print(1)").outcome
    for key in ("run_id", "sandbox_id"):
        assert first[key] != second[key]
        assert re.fullmatch(r"[a-z]+_[0-9a-f]+", first[key])
    assert first["volume"]["id"] != second["volume"]["id"]
    assert first["volume"]["state"] == "fresh"


def test_each_repetition_has_the_input_files(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"x" * 300_000)
    options = ("--repeat", "3", "--file", f"{tmp_path}/given", "-c", "import os; print(os.path.getsize('given'))")
    ended = casemate.call("run", "--json", "--trust", "trusted", *options)
    assert [json.loads(line)["stdout"]["text"] for line in ended.stdout.splitlines()] == ["300000\n"] * 3
