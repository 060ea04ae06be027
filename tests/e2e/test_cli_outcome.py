"""What the command line shows: one JSON document or a summary, exit codes, a harmless terminal, the host's checks."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import EXIT_CODES, ROOT, SLOW, Casemate
from test_cases_security import DOCUMENTED

TRUSTED = ("run", "--trust", "trusted")
ALWAYS = {
    "run_id", "sandbox_id", "tenant", "volume", "image_digest", "isolation", "program_sha256", "limits", "status", "limits_met",
    "stdout", "stderr", "output", "artifacts", "calls", "labels", "withheld", "usage", "timing", "teardown", "report",
}  # fmt: skip
USAGE = {"wall_ms", "cpu_ms", "memory_peak_bytes", "disk_peak_bytes", "pids_peak", "occupied_ms", "minor_faults"}
TIMES = {"queue_wait_ms", "checkout_ms", "execution_ms", "artifact_ms", "teardown_ms"}

# Program, options, exit code, and the fields beyond those that every outcome has.
ENDINGS: dict[str, tuple[str, list[str], int, set[str]]] = {
    "ok": ("print(1)", [], 0, {"exit_code"}),
    "value": ("6 * 7", [], 0, {"exit_code", "result"}),
    "exit": ("raise SystemExit(3)", [], 1, {"exit_code"}),
    "exception": ("1/0", [], 1, {"exit_code", "exception"}),
    "signal": ("import os; os.abort()", [], 1, {"signal"}),
    "limit": ("import time; time.sleep(60)", ["--wall", "1s"], 5, {"limit"}),
    "refused": ("print(1)", ["--trust", "hostile"], 3, {"reason"}),
    "below": ("print(1)", ["--trust", "untrusted", "--isolation", "jail", "--allow-below-floor"], 0, {"exit_code", "below_floor"}),
    "not needed": ("print(1)", ["--allow-below-floor"], 0, {"exit_code"}),
    "image": ("print(1)", ["--store", "{store}"], 4, {"reason"}),
}


def broken_store(folder: Path) -> Path:
    """A store whose name leads nowhere."""
    (folder / "names").mkdir(parents=True)
    (folder / "sha256").mkdir()
    (folder / "names" / "python").write_text("sha256:" + "0" * 64 + "\n")
    return folder


@pytest.mark.parametrize("ending", ENDINGS)
def test_json_is_one_document_with_the_documented_fields(casemate: Casemate, tmp_path: Path, ending: str) -> None:
    code, options, exit_code, extra = ENDINGS[ending]
    options = [option.format(store=broken_store(tmp_path / "store")) if "{" in option else option for option in options]
    trust = () if "--trust" in options else ("--trust", "trusted")
    ended = casemate.call("run", "--json", *trust, *options, "-c", code)
    assert ended.exit_code == exit_code and ended.stderr == "", ended
    assert ended.stdout.count(b"\n") == 1 and ended.stdout.endswith(b"}\n")
    outcome = ended.outcome
    assert set(outcome) == ALWAYS | extra
    assert EXIT_CODES[outcome["status"]] == exit_code
    assert outcome["teardown"] == {"verdict": "destroyed"}, "after the proof, or no box was made"
    assert outcome["program_sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert set(outcome["usage"]) == USAGE and TIMES <= set(outcome["timing"]) <= TIMES | {"start"}
    wanted = "microvm" if ending == "refused" else "jail"  # the rung that it would have needed
    assert outcome["isolation"] == wanted and outcome["tenant"] == "local"
    assert outcome["volume"]["state"] == "fresh"
    if "reason" not in extra:
        assert outcome["timing"]["start"] == "cold"
        assert outcome["image_digest"].startswith("sha256:") and outcome["usage"]["wall_ms"] > 0
        assert outcome["usage"]["minor_faults"] > 0 and outcome["usage"]["memory_peak_bytes"] > 1 << 20
    assert outcome.get("below_floor") == (True if ending == "below" else None)
    assert outcome["report"].startswith(f"status: {outcome['status']}")


@pytest.mark.parametrize("trust", [None, "untrusted", "hostile"])
def test_the_floor_is_told_with_both_ways_out(casemate: Casemate, trust: str | None) -> None:
    weaker = ["--isolation", "jail", *(["--trust", trust] if trust else [])]
    ended = casemate.call("run", *weaker, "-c", "print('ran')")
    assert ended.exit_code == 3 and ended.stdout == b"" and ended.stderr.count("\n") == 1
    for part in (
        "isolation_unavailable",
        "--trust trusted",
        "--allow-below-floor",
        "microvm" if trust == "hostile" else "gvisor",
    ):
        assert part in ended.stderr
    quiet = casemate.call("run", "--quiet", *weaker, "-c", "print('ran')")
    assert quiet.exit_code == 3 and "--trust trusted" in quiet.stderr, "even --quiet says that nothing ran"


def test_the_summary_is_for_a_reader(casemate: Casemate, tmp_path: Path) -> None:
    plain = casemate.call(*TRUSTED, "-c", "print('out')\nimport sys\nprint('err', file=sys.stderr)\n6 * 7")
    assert (plain.exit_code, plain.stdout, plain.stderr) == (0, b"out\n42\n", "err\n")
    failed = casemate.call(*TRUSTED, "-c", "print('out')\n{}['amount']")
    assert failed.exit_code == 1 and failed.stdout == b"out\n"
    assert "KeyError: 'amount'" in failed.stderr and failed.stderr.endswith("casemate: error: exit code 1\n")
    limited = casemate.call(*TRUSTED, "--wall", "1s", "-c", "import time\ntime.sleep(9)")
    assert limited.exit_code == 5 and "wall limit" in limited.stderr and "ask for a longer wall limit" in limited.stderr
    code = "import casemate\nopen('a.csv', 'w').write('a')\ncasemate.artifact('a.csv', summary='one')"
    made = casemate.call(*TRUSTED, f"--out={tmp_path}/o", "-c", code)
    assert made.stderr == f'[artifact] {tmp_path}/o/a.csv  "one"\n'


def test_quiet_shows_the_programs_own_output_alone(casemate: Casemate) -> None:
    for code, exit_code in (
        ("print('out')\n6 * 7", 0),
        ("print('out')\n1/0", 1),
        ("print('out')\nraise SystemExit(3)", 1),
    ):
        ended = casemate.call(*TRUSTED, "--quiet", "-c", code)
        assert (ended.exit_code, ended.stdout, ended.stderr) == (exit_code, b"out\n", "")


def test_products_go_to_a_new_directory_unless_one_is_named(casemate: Casemate, tmp_path: Path) -> None:
    code = "import casemate\nopen('a', 'w').write('a')\ncasemate.artifact('a')"
    for _ in range(2):
        assert casemate.call(*TRUSTED, "-c", code, cwd=tmp_path).exit_code == 0
    made = list((tmp_path / "casemate-out").iterdir())
    assert len(made) == 2 and all([path.name for path in folder.iterdir()] == ["a"] for folder in made)
    casemate.call(*TRUSTED, "-c", "print(1)", cwd=tmp_path)
    assert len(list((tmp_path / "casemate-out").iterdir())) == 2, "none for a run without products"


def test_products_replace_those_of_an_earlier_run_whole(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "a").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "o" / "kept").write_text("kept")
    code = "import casemate\nopen('a', 'w').write('new')\ncasemate.artifact('a')"
    assert casemate.run(f"--out={tmp_path}/o", "-c", code).outcome["status"] == "ok"
    assert (tmp_path / "elsewhere").read_text() == "mine", "a link there is not followed"
    assert (tmp_path / "o" / "a").read_text() == "new" and (tmp_path / "o" / "kept").read_text() == "kept"


def test_a_directory_in_a_products_place_is_our_failure_and_told(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    code = "import casemate\nopen('a', 'w').write('a')\ncasemate.artifact('a')"
    outcome = casemate.run(f"--out={tmp_path}", "-c", code).outcome
    assert outcome["status"] == "unavailable" and outcome["reason"]["code"] == "artifact_not_stored"
    assert outcome["exit_code"] == 0, "the program's own end beside it"
    assert "not the program's fault" in outcome["report"]


@pytest.mark.parametrize("way", ["file", "dash", "code"])
def test_program_arguments_and_standard_input(casemate: Casemate, tmp_path: Path, way: str) -> None:
    code = "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()), __name__)"
    (tmp_path / "p.py").write_text(code)
    (tmp_path / "in").write_text("given")
    program = {"file": [str(tmp_path / "p.py")], "dash": ["-"], "code": ["-c", code]}[way]
    arguments = ["-x", "--json", "", "--", "a b", "-"]
    ended = casemate.call(
        *TRUSTED, f"--stdin={tmp_path}/in", *program, "--", *arguments, stdin=code if way == "dash" else "ignored"
    )
    assert ended.stdout.decode() == f"{arguments} 'given' __main__\n", ended


def test_standard_input_of_the_command_is_not_the_programs(casemate: Casemate) -> None:
    ended = casemate.call(*TRUSTED, "-c", "import sys\nprint(repr(sys.stdin.read()))", stdin="secret typing")
    assert ended.stdout == b"''\n"


def test_an_option_takes_one_value_and_leaves_the_program(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "p.py").write_text(
        "import os\nprint(open('a').read(), os.environ['V'])\nopen('made', 'w').write('m'); None"
    )
    ended = casemate.call(
        *TRUSTED, "--file", tmp_path / "a", tmp_path / "p.py", "--env", "V=1", "--artifact", "made", cwd=tmp_path
    )
    assert ended.exit_code == 0 and ended.stdout == b"a 1\n" and "made" in ended.stderr


HOSTILE = (
    "import sys\nprint('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07\\x1b[2J\\x9b31mplain 你好')\nprint('\\x1b]52;c;aGk=\\x07', file=sys.stderr)\n"
    "class C:\n    def __repr__(self): return '\\x1b[31mvalue'\n"
)


@pytest.mark.parametrize("end", ["C()", "raise ValueError('\\x1b[31mbad')", "import casemate\nn = '\\x1b[31mn'\nopen(n, 'w')\ncasemate.artifact(n)",
                                 "import os\nos.write(1, b'\\x1b[31')\nos.write(1, b'mred')", "print('\\x1b[3', end='')\nprint('1mx')",
                                 "raise SystemExit('\\x1b[31mbad')", "print('\\u202ereversed')"])  # fmt: skip
def test_what_a_program_writes_never_drives_the_terminal(casemate: Casemate, end: str) -> None:
    shown = casemate.terminal(*TRUSTED, "-c", HOSTILE + end).stdout
    text = shown.decode()
    own = re.sub(r"\x1b\[(?:3[0-9]|0)m(?=casemate: |\r?\n|$)|(?<=[^\x1b])\x1b\[0m", "", text)
    assert "\x1b" not in own and "\x07" not in own and "\x9b" not in own and "\u202e" not in own, text
    assert "red plain 你好" in text.replace("\\u009b31m", "")


def test_colour_is_for_a_terminal_alone(casemate: Casemate) -> None:
    shown = casemate.terminal(*TRUSTED, "-c", "1/0")
    assert shown.exit_code == 1
    assert re.search(rb"\x1b\[31mcasemate: error: exit code 1\x1b\[0m", shown.stdout)
    assert b"\x1b" not in casemate.call(*TRUSTED, "-c", "1/0").stderr.encode()
    good = casemate.terminal(*TRUSTED, "-c", "print('fine')")
    assert good.exit_code == 0 and good.stdout == b"fine\r\n"


def test_characters_are_whole_on_a_terminal(casemate: Casemate) -> None:
    code = "import os, time\nfor b in '─✓😀\\n'.encode():\n    os.write(1, bytes([b]))\n    time.sleep(0.02)\nb = None"
    assert casemate.terminal(*TRUSTED, "-c", code).stdout.decode() == "─✓😀\r\n"


def test_control_c_at_a_terminal_ends_the_run_and_keeps_the_output(casemate: Casemate) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [casemate.binary, *TRUSTED, "-c", "print('kept', flush=True)\nimport time\ntime.sleep(60)"],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=casemate.folder, start_new_session=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(casemate.runtime)},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"kept\r\n" not in shown:
        shown += os.read(ours, 1000)
    os.write(ours, b"\x03")
    begun = time.monotonic()
    assert process.wait(20 * SLOW) == 6 and time.monotonic() - begun < 3 * SLOW
    try:
        while piece := os.read(ours, 1000):
            shown += piece
    except OSError:
        pass
    os.close(ours)
    assert b"kept\r\n" in shown and b"casemate: cancelled" in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", [0.0, 0.01, 0.03])
def test_a_signal_at_any_moment_leaves_nothing(casemate: Casemate, number: signal.Signals, moment: float) -> None:
    process = casemate.start(*TRUSTED, "--json", "-c", "import time\ntime.sleep(60)")
    time.sleep(moment)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20 * SLOW)
    # Before it listens for signals there is no run, and the signal's own effect is the right one.
    assert process.returncode in (6, -number)
    if process.returncode == 6:
        assert json.loads(out)["status"] == "cancelled"


def test_an_outcome_that_cannot_be_written_is_no_success(casemate: Casemate) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [casemate.binary, *TRUSTED, "--json", "-c", "print(1)"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 4 and b"No space left on device" in ended.stderr and ended.stderr.count(b"\n") == 1


def test_control_c_while_the_image_is_made_is_heard(casemate: Casemate, tmp_path: Path) -> None:
    process = casemate.start(*TRUSTED, f"--store={tmp_path}/store", "-c", "print(1)")
    assert process.stderr is not None and b"is made now" in process.stderr.readline()
    for stage in process.stderr:
        if b"copy" in stage:
            break
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60 * SLOW)
    assert process.returncode in (6, -signal.SIGINT)
    assert time.monotonic() - begun < 3 * SLOW


@pytest.mark.parametrize("close", ["stdout", "stderr", "both"])
def test_a_reader_that_goes_away_does_not_stop_the_run(casemate: Casemate, tmp_path: Path, close: str) -> None:
    code = "import casemate, sys\nfor i in range(200): print('x' * 500); print('y' * 500, file=sys.stderr)\n"
    code += "open('end', 'w').write('reached')\ncasemate.artifact('end')"
    process = casemate.start(*TRUSTED, f"--out={tmp_path}/o", "-c", code)
    for name in ("stdout", "stderr"):
        stream = getattr(process, name)
        if close in (name, "both"):
            stream.close()
            setattr(process, name, None)
    process.communicate(timeout=20 * SLOW)
    assert process.returncode == 0
    assert (tmp_path / "o" / "end").read_text() == "reached"


def test_doctor_says_what_this_host_gives(casemate: Casemate) -> None:
    ended = casemate.call("doctor")
    assert ended.exit_code == 0, ended
    text = ended.stdout.decode()
    for promise in ("rung jail", "proven teardown", "limits", "hot slots", "rung gvisor", "rung microvm"):
        assert promise in text
    assert re.search(r"yes +hot slots +a run took less than \d+ ms", text), text
    assert "fix: " in text
    found = json.loads(casemate.call("doctor", "--json").stdout)
    assert {"name", "kept", "detail"} <= set(found["findings"][0])
    for finding in found["findings"]:
        assert finding["kept"] or finding["fix"], finding
        assert finding["kept"] or finding["name"] in ("rung gvisor", "rung microvm")


def sections(text: str) -> dict[str, list[str]]:
    """What `doctor --inside` prints, by its headings."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        heading = re.fullmatch(r"\[(.+)\]", line)
        if heading:
            found[heading[1]] = []
        else:
            found[list(found)[-1]].append(line)
    return found


def test_doctor_shows_what_a_box_sees(casemate: Casemate) -> None:
    ended = casemate.call("doctor", "--inside", env={"SOME_SECRET": "s-3141"})
    assert ended.exit_code == 0, ended
    seen = sections(ended.stdout.decode())
    assert {line.split("=")[0] for line in seen["environment"]} == DOCUMENTED
    assert [line.split()[0] for line in seen["descriptors"]][:4] == ["0", "1", "2", "3"] and len(
        seen["descriptors"]
    ) <= 5
    assert set(seen["writable"]) <= {"/vol", "/tmp", "/dev/shm"}
    assert "uid 1000" in seen["identity"][0] and "host box" in seen["identity"][0]
    assert {line.split()[1] for line in seen["identity"] if line.startswith("Cap")} == {"0" * 16}
    assert "NoNewPrivs: 1" in seen["identity"] and "Seccomp: 2" in seen["identity"]
    assert all("ro," in line for line in seen["mounts"] if line.split()[0] in ("/", "/dev"))
    assert seen["network"] == ["interface lo", "192.0.2.1: Network is unreachable"]
    assert len(seen["processes"][0].split()) == 1
    for trace in (
        "3141",
        os.uname().nodename,
        str(ROOT),
        str(casemate.binary.parent),
        str(casemate.runtime),
        "/var/lib",
    ):
        assert trace not in ended.stdout.decode(), trace


def test_image_list_inspect_and_verify(casemate: Casemate) -> None:
    digest: str = casemate.python("pass").outcome["image_digest"]
    listed = casemate.call("image", "list")
    assert listed.exit_code == 0 and digest in listed.stdout.decode() and b"python " in listed.stdout
    shown: dict[str, Any] = json.loads(casemate.call("image", "inspect", "--json", "python").stdout)
    assert shown["digest"] == digest and {"packages", "modules", "size_bytes", "files"} <= set(shown)
    assert digest in casemate.call("image", "inspect", digest).stdout.decode()
    checked = casemate.call("image", "verify", "--quick", "python")
    assert checked.exit_code == 0 and b"no fault" in checked.stdout
    assert casemate.run("--image", digest, "-c", "print(1)").outcome["stdout"]["text"] == "1\n"


def no_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def file_as_root(image: Path) -> None:
    image.mkdir()
    (image / "rootfs").touch()


NAMED = "sha256/" + "0" * 64
BROKEN: dict[str, Callable[[Path], object]] = {
    "cut name": lambda store: (store / "names" / "python").write_text("sha25"),
    "empty name": lambda store: (store / "names" / "python").write_text(""),
    "name that leads nowhere": lambda store: None,
    "name is a directory": lambda store: no_directory(store / "names" / "python"),
    "no root": lambda store: (store / NAMED).mkdir(),
    "root is a file": lambda store: file_as_root(store / NAMED),
    "writable by all": lambda store: store.chmod(0o777),
    "names writable by all": lambda store: (store / "names").chmod(0o777),
    "of another user": lambda store: os.chown(store, 12345, 12345),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_store_is_ours_and_told_in_one_line(casemate: Casemate, tmp_path: Path, fault: str) -> None:
    if fault == "of another user" and os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    store = broken_store(tmp_path / "store")
    BROKEN[fault](store)
    ended = casemate.call(*TRUSTED, f"--store={store}", "-c", "print('ran')")
    assert (ended.exit_code, ended.stdout, ended.stderr.count("\n")) == (4, b"", 1), ended
    assert ended.stderr.startswith("casemate: unavailable: image_unavailable: ") and str(store) in ended.stderr
    outcome = casemate.run(f"--store={store}", "-c", "print('ran')").outcome
    assert outcome["status"] == "unavailable" and "Do not change the program" in outcome["report"]
    assert casemate.call("image", "inspect", "python", f"--store={store}").exit_code == 4
    assert casemate.call("image", "verify", "python", f"--store={store}").exit_code in (1, 4)
