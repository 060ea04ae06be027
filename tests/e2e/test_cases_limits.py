"""Rows of reference kind `limits`: what ends a run, what a program meets, and how both are told."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate, descendants, weigh

KIB, MIB = 1 << 10, 1 << 20


def limit(outcome: dict[str, Any], name: str) -> dict[str, Any]:
    """The limit that ended the run, which must be `name` and explain itself."""
    assert outcome["status"] == "limit", outcome["report"]
    found: dict[str, Any] = outcome["limit"]
    assert found["name"] == name, outcome["report"]
    assert found["advice"].endswith(".") and len(found["advice"]) > 20
    assert found["ceiling"] > 0
    assert f"{name}: the run was ended at its limit" in outcome["report"]
    assert "signal" not in outcome, "a limit is not shown as an unexplained signal"
    return found


def met(outcome: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The limits that the program met as ordinary errors, by name."""
    return {entry["name"]: entry for entry in outcome["limits_met"]}


def test_B001_three_thousand_short_lines_are_no_limit(casemate: Casemate) -> None:
    outcome = casemate.python("for i in range(3000):\n    print('row', i)").outcome
    assert outcome["status"] == "ok" and outcome["exit_code"] == 0
    assert outcome["stdout"]["text"] == "".join(f"row {i}\n" for i in range(3000))
    assert not outcome["stdout"]["truncated"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("over", [0, 1])
def test_B001_the_cap_counts_to_the_byte(casemate: Casemate, stream: str, over: int) -> None:
    outcome = casemate.python(f"import sys\nsys.{stream}.write('a' * {4 * KIB + over})", "--output", "4KiB").outcome
    assert outcome["status"] == "ok"
    assert outcome[stream]["bytes"] == 4 * KIB + over
    assert outcome[stream]["truncated"] == bool(over)


def test_B001_beyond_the_cap_head_and_tail_stay_and_the_whole_is_an_artifact(
    casemate: Casemate, tmp_path: Path
) -> None:
    code = "for i in range(20000):\n    print('row', i)"
    outcome = casemate.python(code, "--out", str(tmp_path)).outcome
    whole = "".join(f"row {i}\n" for i in range(20000))
    assert outcome["status"] == "ok", outcome["report"]
    text = outcome["stdout"]["text"]
    assert text.startswith("row 0\nrow 1\n") and text.endswith("row 19998\nrow 19999\n")
    assert outcome["stdout"]["truncated"] and outcome["stdout"]["bytes"] == len(whole)
    dropped = re.search(r"\n\[(\d+) bytes of stdout left out here\]\n", text)
    assert dropped and len(text) - len(dropped[0]) + int(dropped[1]) == len(whole)
    (artifact,) = outcome["artifacts"]
    assert artifact["id"] == outcome["stdout"]["artifact"]
    assert Path(artifact["uri"]).read_text() == whole


@pytest.mark.parametrize(
    "write",
    [
        "print('step one done')",
        "print('step one done', end='')",
        "sys.stdout.write('step one done')",
        "os.write(1, b'step one done')",
        "subprocess.run(['echo', 'step one done'])",
        "threading.Thread(target=print, args=('step one done',)).start()",
        "multiprocessing.Process(target=print, args=('step one done',)).start(); time.sleep(0.3)",
    ],
)
def test_B002_what_was_printed_before_a_timeout_is_kept(casemate: Casemate, write: str) -> None:
    code = f"import multiprocessing, os, subprocess, sys, threading, time\n{write}\ntime.sleep(30)"
    ended = casemate.python(code, "--wall", "1s")
    limit(ended.outcome, "wall")
    assert "step one done" in ended.outcome["stdout"]["text"]
    assert ended.seconds < (1 + 5) * SLOW


@pytest.mark.parametrize(
    ("name", "options", "end"),
    [
        ("cpu_time", ["--cpu-time", "400ms"], "while True: pass"),
        ("memory", ["--memory", "48MiB"], "blocks = [bytearray(1 << 20) for _ in range(100)]"),
        ("output", ["--output", "1KiB"], "while True: os.write(2, b'x' * 5000)"),
    ],
)
def test_B002_and_before_every_other_limit(casemate: Casemate, name: str, options: list[str], end: str) -> None:
    outcome = casemate.python(f"import os\nprint('kept')\nprint('as it is', end='')\n{end}", *options).outcome
    limit(outcome, name)
    assert outcome["stdout"]["text"] == "kept\nas it is"


def test_B003_endless_output_ends_and_does_not_fill_the_supervisor(casemate: Casemate, tmp_path: Path) -> None:
    process = casemate.start(
        "run", "--trust", "trusted", "--json", "--output", "1MiB", "--out", tmp_path,
        "-c", "while True:\n    print('0123456789' * 100)",
    )  # fmt: skip
    out, err, peak = weigh(process)
    assert process.returncode == 5, err
    assert out.count(b"0123456789") > 100
    assert casemate.sanitized or 0 < peak < 40 * MIB, "64 MiB went through it"


def test_B003_head_and_tail_of_endless_output_are_kept(casemate: Casemate) -> None:
    code = "n = 0\nwhile True:\n    print('line', n)\n    n += 1"
    outcome = casemate.python(code, "--output", "2KiB").outcome
    ceiling = limit(outcome, "output")["ceiling"]
    assert ceiling == 64 * 2 * KIB and outcome["limit"]["used"] > ceiling
    lines = outcome["stdout"]["text"].splitlines()
    assert lines[0] == "line 0"
    assert int(lines[-2].split()[1]) > 1000
    assert outcome["stdout"]["bytes"] >= outcome["limit"]["used"]


@pytest.mark.parametrize(("written", "status"), [(64 * 64, "ok"), (64 * 64 + 1, "limit")])
def test_B020_the_end_of_all_output_is_exact(casemate: Casemate, written: int, status: str) -> None:
    outcome = casemate.python(f"import os\nos.write(1, b'x' * {written})", "--output", "64").outcome
    assert outcome["status"] == status
    assert outcome["stdout"]["bytes"] == written


def test_B020_too_much_output_has_a_name_and_a_total(casemate: Casemate) -> None:
    outcome = casemate.bash("head -c 200000000 /dev/zero | tr '\\0' 'a'").outcome
    found = limit(outcome, "output")
    assert found["ceiling"] == 64 * 64 * KIB
    assert found["used"] == outcome["stdout"]["bytes"] > found["ceiling"]


def test_B004_memory_has_a_status_of_its_own(casemate: Casemate) -> None:
    code = "print('begun')\nblocks = []\nwhile True:\n    blocks.append(bytearray(16 << 20))"
    outcome = casemate.python(code, "--memory", "128MiB").outcome
    found = limit(outcome, "memory")
    assert found["ceiling"] == 128 * MIB
    assert 100 * MIB < outcome["usage"]["memory_peak_bytes"] <= 130 * MIB
    assert casemate.python("print(1)").outcome["status"] == "ok"


@pytest.mark.parametrize(
    "code",
    [
        "f = open('/vol/work/f', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        "f = open('/dev/shm/f', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        "import mmap\nm = mmap.mmap(-1, 300 << 20)\nm.write(b'x' * (300 << 20))",
        "import multiprocessing.shared_memory as s\nm = s.SharedMemory(create=True, size=90 << 20)\nm.buf[:] = bytes(90 << 20)",
        "import os\nif os.fork() == 0: x = [bytearray(1 << 20) for _ in range(200)]\nos.wait()\nprint('not told')",
        "import threading\nt = threading.Thread(target=lambda: [bytearray(1 << 20) for _ in range(200)])\nt.start(); t.join()",
    ],
    ids=["file", "shm", "mmap", "shared", "child", "thread"],
)
def test_B004_whatever_holds_the_memory(casemate: Casemate, code: str) -> None:
    limit(casemate.python(code, "--memory", "64MiB").outcome, "memory")


def test_B005_a_child_killed_for_memory_is_told(casemate: Casemate) -> None:
    script = "python3 -c \"import mmap; m=mmap.mmap(-1, 900<<20); m.write(b'x'*(900<<20))\"\necho rc=$?\nsleep 5"
    outcome = casemate.bash(script, "--memory", "128MiB").outcome
    limit(outcome, "memory")
    # The end may come before the shell can say what became of its child; never another code.
    assert outcome["stdout"]["text"] in ("", "rc=137\n")
    assert outcome["usage"]["memory_peak_bytes"] > 100 * MIB


@pytest.mark.parametrize("memory", ["16MiB", "20MiB", "24MiB"])
def test_B005_too_little_to_start_in_is_a_memory_limit_too(casemate: Casemate, memory: str) -> None:
    outcome = casemate.python(
        "import decimal, json, email.message\nx = bytearray(30 << 20)", "--memory", memory
    ).outcome
    limit(outcome, "memory")


@pytest.mark.parametrize("code", ["bytearray(1 << 50)", "[0] * (1 << 50)", "import mmap\nmmap.mmap(-1, 1 << 46)"])
def test_B005_memory_that_no_machine_has_is_an_error_with_a_hint(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "error"
    assert outcome["exception"]["type"] in ("MemoryError", "OSError")
    assert "512 MiB" in " ".join(outcome["exception"]["hints"])


def test_B007_a_run_that_burns_everything_can_be_cancelled(casemate: Casemate) -> None:
    code = (
        "import multiprocessing as mp\ndef burn():\n    while True: pass\n"
        "ps = [mp.Process(target=burn) for _ in range(32)]\n"
        "[p.start() for p in ps]\nprint('burning', flush=True)\nps[0].join()"
    )
    process = casemate.start("run", "--trust", "trusted", "-c", code)
    assert process.stdout is not None
    assert process.stdout.readline() == b"burning\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20 * SLOW)
    assert process.returncode == 6, err
    assert time.monotonic() - begun < 5 * SLOW
    assert not any("burn" in command or "/usr/bin/python3 -I" in command for command in descendants().values())


def test_B008_the_call_returns_when_the_limit_is_reached(casemate: Casemate) -> None:
    ended = casemate.python("import time\ntime.sleep(60)", "--wall", "1s")
    found = limit(ended.outcome, "wall")
    assert found["ceiling"] == 1000 * SLOW <= found["used"] < 2500 * SLOW
    assert ended.seconds < 5 * SLOW


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['sleep', '120'])",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        "import threading\nthreading.Event().wait()",
        "import os\nr, w = os.pipe()\nos.read(r, 1)",
        "import signal\nsignal.pause()",
        "import signal, time\n[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15)]\ntime.sleep(60)",
        "import fcntl, os\nf = open('l', 'w')\nfcntl.flock(f, 2)\nfcntl.flock(open('l'), 2)",
    ],
    ids=["child", "stopped", "event", "pipe", "pause", "deaf", "lock"],
)
def test_B009_waiting_is_ended_by_the_wall_and_not_by_cpu_time(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(code, "--wall", "1s", "--cpu-time", "1s").outcome
    limit(outcome, "wall")
    assert outcome["usage"]["cpu_ms"] < 900 * SLOW


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import os\nfor _ in range(3): os.fork()\nwhile True: pass",
        "import subprocess\nwhile True: subprocess.run(['true'])",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        "import threading\nfor _ in range(4): threading.Thread(target=lambda: sum(range(10**12))).start()",
    ],
    ids=["loop", "forks", "children", "deaf", "threads"],
)
def test_B009_cpu_time_is_of_all_processes_together(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(code, "--cpu-time", "400ms").outcome
    found = limit(outcome, "cpu_time")
    assert found["ceiling"] == 400 * SLOW
    assert 350 * SLOW < outcome["usage"]["cpu_ms"] < 1400 * SLOW


def test_B010_the_shape_of_the_code_does_not_matter(casemate: Casemate) -> None:
    code = (
        "def inner(a):\n    for j in range(10_000_000): a += j\n    return a\n"
        "t = 0\nfor i in range(10_000): t = inner(t)"
    )
    outcome = casemate.python(code, "--wall", "1s").outcome
    limit(outcome, "wall")


@pytest.mark.parametrize(("memory", "status"), [("64MiB", "limit"), ("256MiB", "ok"), ("64MiB", "limit")])
def test_B011_each_run_obeys_its_own_limit(casemate: Casemate, memory: str, status: str) -> None:
    outcome = casemate.python("print(len(bytearray(b'x') * (150 << 20)))", "--memory", memory).outcome
    assert outcome["status"] == status


@pytest.mark.parametrize(("cpus", "seen"), [("1", 1), ("0.5", 1), ("2", 2), ("1.5", 2)])
def test_B014_programs_see_the_processors_that_they_have(casemate: Casemate, cpus: str, seen: int) -> None:
    if seen > len(os.sched_getaffinity(0)):
        pytest.skip("needs two processors")
    code = "import os\nprint(len(os.sched_getaffinity(0)), flush=True)\nos.system('nproc')"
    outcome = casemate.python(code, "--cpus", cpus).outcome
    assert outcome["stdout"]["text"] == f"{seen}\n{seen}\n"
    assert outcome["limits"]["effective"]["cpus"] == float(cpus)


@pytest.mark.parametrize("memory", [None, "64MiB", "300MB"])
def test_B015_the_memory_limit_is_told_to_the_program(casemate: Casemate, memory: str | None) -> None:
    code = "import os\nprint(os.environ['CASEMATE_MEMORY_BYTES'], os.path.exists('/proc/meminfo'), flush=True)\n"
    code += "os.system('echo $CASEMATE_MEMORY_BYTES; cat /sys/fs/cgroup/memory.max 2>/dev/null')"
    outcome = casemate.python(code, *(["--memory", memory] if memory else [])).outcome
    told = outcome["limits"]["effective"]["memory_bytes"]
    assert outcome["stdout"]["text"] == f"{told} False\n{told}\n"
    assert told == {None: 512 * MIB, "64MiB": 64 * MIB, "300MB": 300_000_000}[memory]


NESTED = {
    "parentheses": "'(' * 3000 + '1' + ')' * 3000",
    "many parentheses": "'(' * 100000 + '1' + ')' * 100000",
    "lists": "'[' * 5000 + ']' * 5000",
    "minus": "'-' * 100000 + '1'",
    "sums": "'1' + '+1' * 100000",
    "nots": "'not ' * 50000 + '1'",
    "attributes": "'a' + '.a' * 50000",
    "lambdas": "'lambda: ' * 20000 + '1'",
    "blocks": "'\\n'.join(' ' * i + 'if 1:' for i in range(500)) + ' pass'",
}


@pytest.mark.parametrize("nest", NESTED)
def test_B017_deep_source_is_an_ordinary_error_of_that_run(casemate: Casemate, nest: str) -> None:
    source = eval(NESTED[nest])  # our own table
    inner = casemate.python(
        f"src = {NESTED[nest]}\ntry:\n    compile(src, 'x', 'exec')\n"
        "except (SyntaxError, MemoryError, RecursionError) as e:\n    print(type(e).__name__)\nprint('alive')"
    ).outcome
    # CPython's own compiler overflows its stack on some of these before 3.12: the program's own signal.
    assert inner["status"] == "ok" or inner["signal"] == "SIGSEGV", inner["report"]
    whole = casemate.python(source).outcome
    assert whole["status"] in ("ok", "error"), whole["report"]
    if whole["status"] == "error" and "signal" not in whole:
        assert whole["exception"]["type"] in (
            "SyntaxError",
            "MemoryError",
            "RecursionError",
            "IndentationError",
            "NameError",
        )
    assert casemate.python("print(1)").outcome["status"] == "ok"


@pytest.mark.parametrize(
    "code", ["x = 10 ** (10 ** 9)", "x = 7 ** (10 ** 8)", "import re\nre.match('(a*)*b', 'a' * 99)"]
)
def test_B018_what_holds_the_interpreter_is_ended_from_outside(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(f"print('begun')\n{code}\nprint('unreachable')", "--wall", "1s").outcome
    assert outcome["status"] == "limit" and outcome["limit"]["name"] in ("wall", "memory")
    assert outcome["stdout"]["text"] == "begun\n"


@pytest.mark.parametrize("code", ["print(7 ** 20000)", "str(7 ** 20000)", "int('7' * 5000)", "7 ** 20000"])
def test_B019_a_large_integer_is_pythons_own_error(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(f"\n\n{code}").outcome
    if code == "7 ** 20000":  # as a result it is shown by repr(), and nothing failed in the program
        assert outcome["status"] == "ok" and "ValueError" in outcome["result"]["text/plain"]
        return
    assert outcome["status"] == "error"
    assert outcome["exception"]["type"] == "ValueError" and outcome["exception"]["line"] == 3
    assert "Exceeds the limit (4300 digits)" in outcome["exception"]["message"]
