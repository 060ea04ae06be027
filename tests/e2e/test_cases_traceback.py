"""Rows of reference kind `traceback`: the program's own failure, told as its author would want it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import Casemate


def failed(casemate: Casemate, code: str | bytes, *options: str) -> dict[str, Any]:
    """The exception of a program that ends in one, with exit code 1."""
    outcome = casemate.run(*options, "-", stdin=code).outcome
    assert outcome["status"] == "error" and outcome["exit_code"] == 1, outcome["report"]
    found: dict[str, Any] = outcome["exception"]
    assert "/usr/lib/casemate" not in str(found), "no frame of the runner's"
    assert outcome["stderr"]["text"] == "", "told once"
    return found


def test_B041_lines_are_the_users_own(casemate: Casemate) -> None:
    found = failed(casemate, "a = 1\nb = 2\n# comment\nraise ValueError('line four')\n")
    assert (found["type"], found["message"]) == ("ValueError", "line four")
    assert (found["file"], found["line"]) == ("program.py", 4)
    assert found["source"] == "raise ValueError('line four')"
    assert found["hidden_frames"] == 0
    (frame,) = found["frames"]
    assert (frame["line"], frame["function"]) == (4, "<module>")


SOURCES: dict[str, tuple[bytes, str, int]] = {
    "CR LF": (b"a = 1\r\nb = 2\r\n1/0\r\n", "ZeroDivisionError", 3),
    "CR": (b"a = 1\rb = 2\r1/0\r", "ZeroDivisionError", 3),
    "byte order mark": (b"\xef\xbb\xbfa = 1\n1/0\n", "ZeroDivisionError", 2),
    "latin-1 cookie": (b"# -*- coding: latin-1 -*-\na = '\xe9'\n1/0\n", "ZeroDivisionError", 3),
    "shebang": (b"#!/usr/bin/env python3\n\n1/0\n", "ZeroDivisionError", 3),
    "blank lines": (b"\n\n\n\n1/0", "ZeroDivisionError", 5),
    "form feed": (b"\x0c\na = 1\n1/0\n", "ZeroDivisionError", 3),
    "tabs": (b"if True:\n\tif True:\n\t\t1/0\n", "ZeroDivisionError", 3),
    "future": (b"from __future__ import annotations\n1/0\n", "ZeroDivisionError", 2),
    "docstring": (b'"""a\nb\nc"""\n1/0\n', "ZeroDivisionError", 4),
    "continued": (b"a = 1\nb = (1 +\n     1/0)\n", "ZeroDivisionError", 3),
    "last expression": (b"a = 1\n\n(1 +\n 1/0)", "ZeroDivisionError", 4),
    "in a function": (b"def f():\n    return 1/0\n\nf()\n", "ZeroDivisionError", 2),
    "in a lambda": (b"f = lambda: 1/0\n\nf()\n", "ZeroDivisionError", 1),
    "in a comprehension": (b"[1\n for x in [1]\n if 1/0]\n", "ZeroDivisionError", 3),
    "in a class body": (b"class C:\n    a = 1\n    b = 1/0\n", "ZeroDivisionError", 3),
    "in a decorator": (b"def d(f):\n    1/0\n\n@d\ndef g(): pass\n", "ZeroDivisionError", 2),
    "syntax": (b"a = 1\nb = = 2\n", "SyntaxError", 2),
    "indentation": (b"a = 1\n  b = 2\n", "IndentationError", 2),
    "open bracket": (b"a = 1\nb = (1\nc = 2\n", "SyntaxError", 2),
    "open string": (b"a = 1\nb = 'x\nc = 2\n", "SyntaxError", 2),
    "not utf-8": (b"a = 1\nb = '\xff'\n", "SyntaxError", 2),
    "mixed tabs": (b"if True:\n\ta = 1\n        b = 2\n", "TabError", 3),
    "return": (b"a = 1\nreturn a\n", "SyntaxError", 2),
    "await": (b"a = 1\nprint(await a)\n", "SyntaxError", 2),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_B041_whatever_the_source_looks_like(casemate: Casemate, kind: str) -> None:
    code, error, line = SOURCES[kind]
    found = failed(casemate, code)
    assert (found["type"], found["line"]) == (error, line)
    assert (
        found["source"]
        and found["source"].strip().encode() in code.replace(b"\xef\xbb\xbf", b"")
        or kind
        in (
            "latin-1 cookie",
            "not utf-8",
        )
    )


def test_B041_in_a_module_that_came_with_the_program(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("def total(rows):\n    return rows[0]['amount']\n")
    found = failed(casemate, "import shop\n\nshop.total([{}])\n", f"--file={tmp_path}/shop.py")
    assert found["line"] == 2 and found["file"].endswith("shop.py")
    assert [frame["line"] for frame in found["frames"]] == [3, 2]


def test_B041_frames_of_libraries_are_counted_and_not_shown(casemate: Casemate) -> None:
    found = failed(casemate, "import json\n\njson.loads('{')\n")
    assert found["line"] == 3 and found["hidden_frames"] > 0
    assert [frame["function"] for frame in found["frames"]] == ["<module>"]


EXITS: list[tuple[str, int, str]] = [
    ("sys.exit(3)", 3, ""),
    ("sys.exit('bad input')", 1, "bad input\n"),
    ("sys.exit()", 0, ""),
    ("sys.exit(None)", 0, ""),
    ("sys.exit(0)", 0, ""),
    ("sys.exit(True)", 1, ""),
    ("sys.exit(-1)", 255, ""),
    ("sys.exit(256)", 0, ""),
    ("sys.exit(300)", 44, ""),
    ("sys.exit([1, 2])", 1, "[1, 2]\n"),
    ("sys.exit((4,))", 4, ""),  # a tuple is the arguments of SystemExit
    ("sys.exit('\\u4f60')", 1, "你\n"),
    ("raise SystemExit(4)", 4, ""),
    ("raise SystemExit", 0, ""),
    ("exit(5)", 5, ""),
    ("quit(6)", 6, ""),
    ("os._exit(9)", 9, ""),
    ("(lambda: sys.exit(7))()", 7, ""),
    ("try:\n    1/0\nexcept ZeroDivisionError:\n    sys.exit(8)", 8, ""),
    ("try:\n    sys.exit(1)\nfinally:\n    sys.exit(10)", 10, ""),
    ("atexit.register(lambda: print('bye'))\nsys.exit(11)", 11, ""),
    ("atexit.register(os._exit, 12)", 12, ""),
    ("class Stop(SystemExit): pass\nraise Stop(13)", 13, ""),
    ("t = threading.Thread(target=sys.exit, args=(3,))\nt.start(); t.join()", 0, ""),
    ("threading.Thread(target=os._exit, args=(14,)).start()\nimport time\ntime.sleep(9)", 14, ""),
    ("os.execv('/bin/sh', ['sh', '-c', 'exit 15'])", 15, ""),
    ("sys.stdout.close()\nsys.exit(16)", 16, ""),
]


@pytest.mark.parametrize(("end", "code", "said"), EXITS)
def test_B043_an_exit_is_the_programs_own_and_no_crash(casemate: Casemate, end: str, code: int, said: str) -> None:
    outcome = casemate.python(f"import atexit, os, sys, threading\nprint('kept')\n{end}").outcome
    assert outcome["exit_code"] == code, outcome["report"]
    assert outcome["status"] == ("ok" if code == 0 else "error")
    assert outcome["stderr"]["text"] == said
    assert outcome["stdout"]["text"].startswith("kept\n")
    assert "exception" not in outcome and "signal" not in outcome


def test_B044_what_cannot_be_started_is_told_with_its_limit(casemate: Casemate) -> None:
    code = "import subprocess\nsleepers = []\nwhile True:\n    sleepers.append(subprocess.Popen(['sleep', '60']))"
    outcome = casemate.python(code, "--pids", "12").outcome
    found = outcome["exception"]
    assert found["type"] == "BlockingIOError" and found["line"] == 4
    assert isinstance(found["frames"], list) and isinstance(found["hints"], list)
    assert found["hints"][0].startswith("limit pids (12 processes): ")
    assert [met["name"] for met in outcome["limits_met"]] == ["pids"]


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ("subprocess.run(['no-such-program'])", "FileNotFoundError"),
        ("subprocess.run(['/etc/passwd'])", "PermissionError"),
        ("subprocess.run(['true'], cwd='/nowhere')", "FileNotFoundError"),
        ("subprocess.run('exit 3', shell=True, check=True)", "subprocess.CalledProcessError"),
        ("subprocess.run(['sleep', '9'], timeout=0.1)", "subprocess.TimeoutExpired"),
        ("threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(50)]\n"
         "[t.start() for t in threads]", "RuntimeError"),
    ],
)  # fmt: skip
def test_B044_other_ways_not_to_start(casemate: Casemate, start: str, error: str) -> None:
    outcome = casemate.python(f"import subprocess, threading\n{start}", "--pids", "20").outcome
    assert outcome["exception"]["type"].rpartition(".")[2] == error.rpartition(".")[2]
    assert outcome["exception"]["line"] >= 2


@pytest.mark.parametrize(
    ("code", "signal"),
    [
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("import os\nos.abort()", "SIGABRT"),
        ("import os\nos.kill(os.getpid(), 9)", "SIGKILL"),
        ("import os\nos.kill(os.getpid(), 15)", "SIGTERM"),
        ("import os, signal\nsignal.signal(13, signal.SIG_DFL)\nos.kill(os.getpid(), 13)", "SIGPIPE"),
        ("import os, signal\nsignal.alarm(1)\nsignal.pause()", "SIGALRM"),
        ("import os\nos.kill(os.getpid(), 8)", "SIGFPE"),
        ("import os\nos.kill(os.getpid(), 34)", "SIG34"),
        ("raise KeyboardInterrupt", "SIGINT"),
        ("import os\nos.execv('/bin/sh', ['sh', '-c', 'kill -11 $$'])", "SIGSEGV"),
    ],
)
def test_B045_a_signal_has_its_name(casemate: Casemate, code: str, signal: str) -> None:
    outcome = casemate.python(f"print('kept')\n{code}").outcome
    assert outcome["status"] == "error"
    assert outcome["signal"] == signal
    assert f"killed by {signal}" in outcome["report"]
    assert outcome["stdout"]["text"] == "kept\n"
    assert outcome["limits_met"] == [] and "limit" not in outcome


def test_B045_the_python_stack_is_there_if_it_was_asked_for(casemate: Casemate) -> None:
    code = "import ctypes, faulthandler\nfaulthandler.enable()\ndef deep():\n    ctypes.string_at(0)\ndeep()"
    outcome = casemate.python(code).outcome
    assert outcome["signal"] == "SIGSEGV"
    assert "line 4 in deep" in outcome["stderr"]["text"]


def test_B046_a_group_is_told_with_its_members_and_its_cause(casemate: Casemate) -> None:
    code = (
        "try:\n    1 / 0\nexcept ZeroDivisionError as z:\n"
        "    raise ExceptionGroup('two', [ValueError('a'), OSError('b')]) from z"
    )
    outcome = casemate.python(code).outcome
    found = outcome["exception"]
    assert found["type"] == "ExceptionGroup" and found["message"] == "two (2 sub-exceptions)"
    assert found["line"] == 4
    for text in (found["rendered"], outcome["report"]):
        for part in ("ValueError: a", "OSError: b", "ZeroDivisionError: division by zero", "was the direct cause"):
            assert part in text, part


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("try: {}['a']\nexcept KeyError: 1/0", ["KeyError: 'a'", "During handling of the above exception"]),
        ("try: {}['a']\nexcept KeyError: raise ValueError('v') from None", ["ValueError: v"]),
        ("e = ValueError('v')\ne.add_note('a note')\nraise e", ["ValueError: v\na note"]),
        ("raise ExceptionGroup('g', [ExceptionGroup('h', [KeyError('k')]), ValueError('v')])", ["KeyError: 'k'", "h (1"]),
        ("raise ExceptionGroup('g', [ValueError(i) for i in range(100)])", ["ValueError: 14", "and 85 more exceptions"]),
        ("a, b = ValueError('a'), ValueError('b')\na.__cause__ = b\nb.__cause__ = a\nraise a", ["ValueError: b"]),
        ("e = None\nfor i in range(100):\n    n = ValueError(i)\n    n.__cause__ = e\n    e = n\nraise e", ["ValueError: 99"]),
        ("class E(Exception):\n    def __str__(self): raise OSError('no')\nraise E", ["str() failed: OSError"]),
        ("class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E", ["did not return"]),
        ("raise ValueError('x' * 10**6)", ["bytes left out"]),
        ("raise ValueError('a\\nb\\nc')", ["ValueError: a\nb\nc"]),
        ("raise ValueError()", ["ValueError"]),
        ("assert 1 == 2, 'they differ'", ["AssertionError: they differ"]),
    ],
)  # fmt: skip
def test_B046_causes_notes_and_odd_exceptions(casemate: Casemate, code: str, parts: list[str]) -> None:
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "error" and outcome["exit_code"] == 1
    for part in parts:
        assert part in outcome["exception"]["rendered"], outcome["exception"]["rendered"]
    assert len(outcome["report"]) < 32_000
    if "from None" in code:
        assert "KeyError: 'a'" not in outcome["exception"]["rendered"]


RECURSION = """import sys
def f(n): return f(n + 1)
try: f(0)
except RecursionError as e: print("caught", e)
sys.setrecursionlimit(10**7); f(0)
"""


def test_B047_recursion_neither_hangs_nor_floods(casemate: Casemate) -> None:
    outcome = casemate.python(RECURSION).outcome
    assert outcome["stdout"]["text"].startswith("caught maximum recursion depth exceeded")
    assert outcome["status"] in ("error", "limit")
    if outcome["status"] == "error":
        assert outcome.get("signal") == "SIGSEGV" or outcome["exception"]["type"] == "RecursionError"
    assert len(outcome["report"]) < 32_000


@pytest.mark.parametrize(
    "code",
    [
        "def f(n): return f(n + 1)\nf(0)",
        "def f(n): return g(n + 1)\ndef g(n): return f(n + 1)\nf(0)",
        "class C:\n    def __repr__(self): return repr(self)\nprint(C())",
        "class C:\n    def __getattr__(self, name): return self.other\nC().x",
        "import sys\nsys.setrecursionlimit(60)\ndef f(n): return f(n + 1)\nf(0)",
        "import json\njson.loads('[' * 10**6)",
        "a = []\nfor _ in range(10**5): a = [a]\nprint(a)",
    ],
    ids=["self", "mutual", "repr", "getattr", "low limit", "json", "print"],
)
def test_B047_each_kind_of_recursion_is_one_error(casemate: Casemate, code: str) -> None:
    found = failed(casemate, code)
    assert found["type"] == "RecursionError"
    assert len(found["frames"]) <= 64 and len(found["rendered"]) < 20_000
    assert found["line"]


LATE = {
    "thread": ("import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()", "ZeroDivisionError"),
    "task": ("import asyncio\nasync def bad(): raise TypeError('late failure')\nasync def main():\n"
             "    t = asyncio.create_task(bad())\n    await asyncio.sleep(0.01)\nasyncio.run(main())", "TypeError: late"),
    "destructor": ("class C:\n    def __del__(self): raise TypeError('late failure')\nC()", "TypeError: late failure"),
    "atexit": ("import atexit\natexit.register(lambda: 1/0)", "ZeroDivisionError"),
    "child": ("import subprocess\nsubprocess.run(['python3', '-c', 'raise TypeError(\"late failure\")'])", "TypeError: late"),
    "pool": ("from concurrent.futures import ThreadPoolExecutor\n"
             "with ThreadPoolExecutor() as e: e.submit(lambda: 1/0)\nimport sys\nprint('said', file=sys.stderr)", "said"),
}  # fmt: skip


@pytest.mark.parametrize("where", LATE)
def test_B048_failures_outside_the_main_path_are_on_stderr(casemate: Casemate, where: str) -> None:
    code, said = LATE[where]
    outcome = casemate.python(f"print('to stdout')\n{code}").outcome
    assert outcome["status"] == "ok", "as with Python itself"
    assert outcome["stdout"]["text"].startswith("to stdout\n")
    assert said in outcome["stderr"]["text"]
