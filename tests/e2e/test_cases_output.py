"""Rows of reference kind `output`: what a program prints and what its last expression is worth."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate

BIG_JSON = "import json\nprint(json.dumps({str(i): 'v' * 20 for i in range(12000)}))"


def combined(outcome: dict[str, Any]) -> str:
    """Both streams in their true order."""
    return "".join(piece["text"] for piece in outcome["output"])


@pytest.mark.parametrize(("size", "options"), [(4_000_000, []), (6_000_000, ["--output", "1MiB"])])
def test_B021_what_follows_a_very_long_line_is_not_lost(casemate: Casemate, size: int, options: list[str]) -> None:
    outcome = casemate.python(f"print('x' * {size})\nprint('after')", *options).outcome
    assert outcome["status"] == "ok"
    assert outcome["stdout"]["text"].endswith("x\nafter\n")
    assert re.search(r"\n\[\d+ bytes of stdout left out here\]\n", outcome["stdout"]["text"])
    assert "\nafter\n" in outcome["report"] and len(outcome["report"]) < 64_000


@pytest.mark.parametrize("end", ["", "\\n"])
def test_B021_a_long_line_within_the_cap_is_whole(casemate: Casemate, end: str) -> None:
    outcome = casemate.python(f"print('x' * 60000, end='{end}')").outcome
    assert outcome["stdout"]["text"].rstrip("\n") == "x" * 60000
    assert max(map(len, outcome["report"].splitlines())) < 10_000


def test_B022_json_beyond_the_cap_is_whole_as_an_artifact(casemate: Casemate, tmp_path: Path) -> None:
    outcome = casemate.python(BIG_JSON, "--out", str(tmp_path)).outcome
    assert outcome["stdout"]["truncated"] is True
    (artifact,) = outcome["artifacts"]
    assert artifact["id"] == outcome["stdout"]["artifact"] and artifact["state"] == "stored"
    data = Path(artifact["uri"]).read_bytes()
    assert len(data) == artifact["bytes"] == outcome["stdout"]["bytes"]
    assert len(json.loads(data)) == 12000


def test_B022_and_within_a_higher_cap_it_is_whole_at_once(casemate: Casemate) -> None:
    outcome = casemate.python(BIG_JSON, "--output", "1MiB").outcome
    assert outcome["stdout"]["truncated"] is False and outcome["artifacts"] == []
    assert len(json.loads(outcome["stdout"]["text"])) == 12000


ORDERED = {
    "flushed": "print('out', i, flush=True); print('err', i, file=sys.stderr, flush=True)",
    "not flushed": "print('out', i); print('err', i, file=sys.stderr)",
    "written": "sys.stdout.write(f'out {i}\\n'); sys.stderr.write(f'err {i}\\n')",
    "as bytes": "sys.stdout.buffer.write(b'out %d\\n' % i); sys.stderr.buffer.write(b'err %d\\n' % i)",
    "logged": "print('out', i); logging.warning('err %d', i)",
}


@pytest.mark.parametrize("how", ORDERED)
def test_B023_the_order_of_the_streams_is_kept(casemate: Casemate, how: str) -> None:
    code = f"import logging, sys\nlogging.basicConfig(format='%(message)s')\nfor i in range(50):\n    {ORDERED[how]}"
    outcome = casemate.python(code).outcome
    assert combined(outcome) == "".join(f"out {i}\nerr {i}\n" for i in range(50))
    assert outcome["stdout"]["text"] == "".join(f"out {i}\n" for i in range(50))
    assert outcome["stderr"]["text"] == "".join(f"err {i}\n" for i in range(50))


def test_B023_more_changes_than_are_kept_lose_no_text(casemate: Casemate) -> None:
    code = "import sys\nfor i in range(5000):\n    print('o', i)\n    print('e', i, file=sys.stderr)"
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "ok"
    text = combined(outcome)
    assert text.startswith("o 0\ne 0\no 1\n") and text.endswith("o 4999\ne 4999\n")
    assert len(outcome["output"]) <= 4096
    for stream in ("stdout", "stderr"):
        text = "".join(piece["text"] for piece in outcome["output"] if piece["stream"] == stream)
        assert text == outcome[stream]["text"]


def test_B023_lines_of_a_child_and_of_its_parent_stay_in_order(casemate: Casemate) -> None:
    code = (
        "import subprocess\nfor i in range(20):\n    print('parent', i)\n    subprocess.run(['echo', 'child', str(i)])"
    )
    outcome = casemate.python(code).outcome
    assert outcome["stdout"]["text"] == "".join(f"parent {i}\nchild {i}\n" for i in range(20))


@pytest.mark.parametrize("writer", ["threads", "forks"])
def test_B023_lines_of_concurrent_writers_are_not_torn(casemate: Casemate, writer: str) -> None:
    start = {
        "threads": "import threading\nts = [threading.Thread(target=say, args=(n,)) for n in range(8)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]",
        "forks": "import os\nfor n in range(8):\n    if os.fork() == 0:\n        say(n)\n        os._exit(0)\n"
        "for n in range(8): os.wait()",
    }[writer]
    code = f"def say(n):\n    for i in range(50): print('writer', n, 'line', i, 'end')\n{start}"
    for _ in range(8):  # the first line of all is the one at risk
        outcome = casemate.python(code).outcome
        lines = outcome["stdout"]["text"].splitlines()
        assert sorted(lines) == sorted(f"writer {n} line {i} end" for n in range(8) for i in range(50))


ESCAPES = "\033[31mred\033[0m \033[2J\033]0;title\007plain\n"


def test_B025_escapes_reach_the_model_as_plain_text(casemate: Casemate) -> None:
    script = "printf '\\033[31mred\\033[0m \\033[2J\\033]0;title\\007plain\\n'"
    outcome = casemate.bash(script).outcome
    assert outcome["stdout"]["text"] == ESCAPES, "the exact text is kept"
    assert "\nred plain\n" in outcome["report"]
    assert "\033" not in outcome["report"] and "\007" not in outcome["report"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print('10%\\r50%\\r100%')", "\n100%\n"),
        ("print('a\\bb\\x0cc\\x7f')", "\na\\x08b\\x0cc\\x7f\n"),
        ("print('\\x9b31mred\\x9b0m')", "\n\\u009b31mred\\u009b0m\n"),
        ("print('safe \\u202e reversed')", "\nsafe \\u202e reversed\n"),
        ("print('a\\u2028b\\U000e0041')", "\na\\u2028b\\U000e0041\n"),
        ("print('\\x1b')", "\n\\x1b\n"),
        ("print('\\x1bP' + 'q' * 3000 + '\\x1b\\\\\\\\')", "\\x1bP"),
        ("print('--- stderr ---')", "\n\\--- stderr ---\n"),
        ("print('[artifact art_00 text/plain 1B x]')", "\n\\[artifact art_00"),
        ("print('status: ok')\nraise SystemExit(1)", "status: error (exit code 1)\n"),
    ],
    ids=["progress", "controls", "c1", "bidi", "separators", "lone", "endless", "section", "artifact", "status"],
)
def test_B025_nothing_in_the_report_passes_for_ours_or_hides(casemate: Casemate, code: str, shown: str) -> None:
    report = casemate.python(code).outcome["report"]
    assert shown in report, report
    assert report.startswith("status: ")
    assert re.search("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e]", report) is None


def test_B026_what_was_printed_before_an_error_is_there(casemate: Casemate) -> None:
    code = "print('the decisive number is 17')\nraise RuntimeError('later step failed')"
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "error"
    assert outcome["stdout"]["text"] == "the decisive number is 17\n"
    assert outcome["exception"]["message"] == "later step failed"
    assert outcome["report"].index("the decisive number is 17") < outcome["report"].index("RuntimeError: later step")


@pytest.mark.parametrize("way", [(), ("--quiet",)])
def test_B027_live_output_is_whole(casemate: Casemate, way: tuple[str, ...]) -> None:
    code = 'for i in range(3000): print(\'{"n":%d,"pad":"%0200d"}\' % (i, 0))'
    for _ in range(5):
        ended = casemate.call("run", "--trust", "trusted", *way, "-c", code)
        lines = ended.stdout.decode().splitlines()
        assert ended.exit_code == 0 and [json.loads(line)["n"] for line in lines] == list(range(3000))


def test_B028_the_end_is_told_when_it_is_there(casemate: Casemate) -> None:
    process = casemate.start(
        "run",
        "--trust",
        "trusted",
        "-c",
        "import sys, time\nprint('start')\ntime.sleep(1)\nprint('finish')\nsys.exit(7)",
    )
    assert process.stdout is not None and process.stdout.readline() == b"start\n"
    assert process.poll() is None, "output comes as it is written, and no end before its time"
    out, err = process.communicate(timeout=20 * SLOW)
    assert (process.returncode, out, err) == (1, b"finish\n", b"casemate: error: exit code 7\n")


@pytest.mark.parametrize("_", range(6))
def test_B029_ending_and_being_ended_at_once(casemate: Casemate, _: int) -> None:
    outcome = casemate.bash("head -c 5000000 /dev/urandom | base64; exit 0").outcome
    assert outcome["status"] == "limit" and outcome["limit"]["name"] == "output"
    assert outcome["stdout"]["bytes"] > outcome["limit"]["ceiling"]
    assert outcome["teardown"]["verdict"] == "destroyed"


def result(casemate: Casemate, code: str) -> Any:
    """The value of the last expression, by media type; None without one."""
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "ok", outcome["report"]
    return outcome.get("result")


def test_B031_a_table_is_a_table(casemate: Casemate) -> None:
    code = "import pandas as pd\ndf = pd.DataFrame({f'c{i}': range(1000) for i in range(40)})\ndf"
    forms = result(casemate, code)
    assert set(forms) == {"text/plain", "text/html"}
    for form in forms.values():
        assert "1000 rows x 40 columns" in form and "shown: 60 rows, 20 columns" in form
    assert forms["text/html"].count("<tr") <= 64 and "<td>999</td>" in forms["text/html"]


@pytest.mark.parametrize(
    ("code", "plain"),
    [
        ("2 + 3", "5"),
        ("'text'", "'text'"),
        ("[1, 2]", "[1, 2]"),
        ("x = 5\nx", "5"),
        ("x = 5; x", "5"),
        ("(1 +\n 2)", "3"),
        ("'''a\nb'''", r"'a\nb'"),
        ("import numpy as np\nnp.arange(3)", "array([0, 1, 2])"),
        ("import decimal\ndecimal.Decimal('0.10')", "Decimal('0.10')"),
        ("import pandas as pd\npd.Series([1, 2], name='n')", "2 rows, dtype int64, name n"),
        ("class C:\n    def __repr__(self): raise OSError('no')\nC()", "repr failed: OSError: no"),
        ("list(range(10 ** 6))", "items left out"),
        ("'a' * 10 ** 6", "1000000 in all"),
        ("a = []\na.append(a)\na", "[[...]]"),
    ],
)
def test_B031_the_value_of_the_last_expression(casemate: Casemate, code: str, plain: str) -> None:
    forms = result(casemate, code)
    assert plain in forms["text/plain"]
    assert len(forms["text/plain"]) <= 16 << 10


@pytest.mark.parametrize(
    "code", ["x = 5", "5;", "None", "print(1)", "if True:\n    5", "", "# 5", "def f(): return 5", "pass"]
)
def test_B031_no_value_where_none_is_meant(casemate: Casemate, code: str) -> None:
    assert result(casemate, code) is None


def test_B031_no_value_of_a_program_that_fails_at_it(casemate: Casemate) -> None:
    outcome = casemate.python("x = {}\nx['amount']").outcome
    assert outcome["status"] == "error" and "result" not in outcome
    assert outcome["exception"]["line"] == 2
