"""The command line: what is wrong with a call is one clear line and an exit code, before anything runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Casemate, Ended

PROGRAM = "print('ran')"
TRUSTED = ("run", "--trust", "trusted")


def one_line(ended: Ended, exit_code: int, *parts: str) -> None:
    """A refusal: this exit code, nothing on stdout, one line on stderr that names the parts."""
    assert ended.exit_code == exit_code, ended
    assert ended.stdout == b"", ended
    assert ended.stderr.startswith("casemate") and ended.stderr.count("\n") == 1, ended
    assert "\x1b" not in ended.stderr
    for part in parts:
        assert part in ended.stderr, ended
    assert len(ended.stderr) < 1000


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--no-such-option", "-c", PROGRAM], ["--no-such-option", "--help"]),
        (["-c"], ["-c"]),
        ([], ["no program", "-c"]),
        (["-c", PROGRAM, "a.py"], ["either"]),
        (["a.py", "b.py"], ["b.py"]),
        (["nowhere.py"], ["nowhere.py", "No such file"]),
        (["."], ["directory"]),
        (["/"], ["directory"]),
        (["a/b.py"], ["a/b.py"]),
        (["--language", "node", "-c", "1"], ["node", "python"]),
        (["--trust", "maybe", "-c", "1"], ["maybe", "trusted"]),
        (["--isolation", "chroot", "-c", "1"], ["chroot", "jail"]),
        (["--weaken", "all", "-c", "1"], ["all", "single-id"]),
        (["--weaken", "", "-c", "1"], ["single-id"]),
        (["--trust", "\x1b[31mred", "-c", "1"], []),
        (["--\x1b[31mred", "-c", "1"], []),
        (["--memmory", "1GiB", "-c", "1"], ["--memmory", "is it --memory?"]),
        (["--mem", "1GiB", "-c", "1"], ["no option '--mem'"]),
        (["--memory"], ["--memory needs a value"]),
        (["--memory=1GiB", "--memory", "2GiB", "-c", "1"], ["--memory is given twice"]),
        (["--json=yes", "-c", "1"], ["--json takes no value"]),
        (["-x"], ["no option '-x'"]),
        (["\x1b[31mred.py"], []),
    ],
)
def test_bad_usage_is_one_line(casemate: Casemate, args: list[str], parts: list[str]) -> None:
    one_line(casemate.call("run", *args), 2, *parts)


@pytest.mark.parametrize("args", [["nonsense"], ["\x1b[31mred"], ["--no-such-option"], ["image", "nonsense"], ["image"],
                                  ["image", "inspect"], ["image", "\x1b[31mred"], ["image", "list", "--nope"], ["doctor", "--nope"],
                                  ["doctor", "extra"]])  # fmt: skip
def test_an_unknown_command_is_one_line(casemate: Casemate, args: list[str]) -> None:
    one_line(casemate.call(*args), 2)


@pytest.mark.parametrize("command", [[], ["run"], ["doctor"], ["image"], ["image", "build"], ["image", "list"],
                                     ["image", "inspect"], ["image", "verify"], ["image", "import"]])  # fmt: skip
def test_help_has_examples(casemate: Casemate, command: list[str]) -> None:
    ended = casemate.call(*command, "--help")
    assert ended.exit_code == 0 and ended.stderr == ""
    text = ended.stdout.decode()
    assert f"casemate {' '.join(command)}".strip() in text
    assert "Examples:" in text or command == ["image"] and "build" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("args", [["-c", PROGRAM], [f"-c{PROGRAM}"], ["--memory=100MiB", "-c", PROGRAM], ["-c", PROGRAM, "--wall", "9s"],
                                  ["-c", PROGRAM, "--env=A=B=C"], ["-c", PROGRAM, "--", "--help"], ["-c", PROGRAM, "--", "--", "-x"]])  # fmt: skip
def test_an_option_has_more_than_one_spelling(casemate: Casemate, args: list[str]) -> None:
    ended = casemate.call(*TRUSTED, *args)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, b"ran\n", "")


def test_no_command_is_told_what_there_is(casemate: Casemate) -> None:
    ended = casemate.call()
    assert ended.exit_code == 2 and b"casemate run PROGRAM" in ended.stdout + ended.stderr.encode()
    assert casemate.call("--version").stdout.startswith(b"casemate ")


@pytest.mark.parametrize("program", [b"", b"\n", b"# a comment\n", b"\xef\xbb\xbf", b"pass"])
def test_an_empty_program_is_a_program(casemate: Casemate, tmp_path: Path, program: bytes) -> None:
    (tmp_path / "p.py").write_bytes(program)
    for args in ([str(tmp_path / "p.py")], ["-"], ["-c", program.decode()]):
        outcome = casemate.run(*args, stdin=program).outcome
        assert (outcome["status"], outcome["exit_code"], outcome["stdout"]["text"]) == ("ok", 0, "")


@pytest.mark.parametrize("program", [b"print(1)\0\n", b"\0", b"#" * 50_000_000, b"#" * ((8 << 20) + 1)],
                         ids=["nul", "only nul", "50 MB", "8 MiB and a byte"])  # fmt: skip
def test_what_is_no_program_is_refused(casemate: Casemate, tmp_path: Path, program: bytes) -> None:
    (tmp_path / "p.py").write_bytes(program)
    one_line(casemate.call(*TRUSTED, tmp_path / "p.py"), 2, "the program")
    one_line(casemate.call(*TRUSTED, "-", stdin=program), 2, "the program")


def test_the_largest_program_runs(casemate: Casemate) -> None:
    program = b"print('ran')\n" + b"#" * ((8 << 20) - 13)
    assert casemate.run("-", stdin=program).outcome["stdout"]["text"] == "ran\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_a_program_that_may_not_be_read(casemate: Casemate, user: list[str], tmp_path: Path) -> None:
    secret = Path(tempfile.mkdtemp()) / "p.py"
    secret.write_text(PROGRAM)
    secret.parent.chmod(0o700)
    ended = subprocess.run([*user, casemate.binary, *TRUSTED, secret], capture_output=True, check=False)
    shutil.rmtree(secret.parent)
    assert ended.returncode == 2 and b"Permission denied" in ended.stderr and ended.stdout == b""


LIMITS = {
    "--wall": ["0", "0s", "-1s", "25h", "1e3", "1d", "soon", "", " 1s", "1 s", "nan", "inf", "1s1s", "9" * 30],
    "--cpu-time": ["0", "0ms", "-1", "25h", "x", ""],
    "--memory": ["0", "1", "15MiB", "1PiB", "9999TiB", "512 MB of it", "512mib", "-1MiB", "0x100", "", "nan"],
    "--disk": ["0", "1KiB", "9999TiB", "x", ""],
    "--file-size": ["x", "-1", ""],
    "--output": ["0", "63", "65MiB", "x", ""],
    "--cpus": ["0", "-1", "0.001", "4096", "1e400", "nan", "x", ""],
    "--pids": ["0", "-1", "32769", "1000001", "1.5", "x", "", "9" * 30],
    "--open-files": ["0", "-1", "15", "999999", "x", ""],
}


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in LIMITS.items() for value in values]
)
def test_a_limit_that_cannot_be_kept_is_refused(casemate: Casemate, option: str, value: str) -> None:
    ended = subprocess.run([casemate.binary, *TRUSTED, option, value, "-c", PROGRAM], capture_output=True, check=False)
    one_line(Ended(ended.returncode, ended.stdout, ended.stderr.decode(), 0), 2)


@pytest.mark.parametrize(
    "args",
    [["--wall", "1.5s"], ["--wall", "0.5m"], ["--memory", "64MB"], ["--memory", "0.1GiB"], ["--disk", "256KiB"], ["--cpus", "0.01"],
     ["--pids", "8"], ["--open-files", "16"], ["--output", "64"], ["--file-size", "1KiB"], ["--wall=24h"]],
)  # fmt: skip
def test_a_limit_at_its_end_is_taken(casemate: Casemate, args: list[str]) -> None:
    assert casemate.run(*args, "-c", "print(1)").outcome["stdout"]["text"] == "1\n"


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("{tmp}/nowhere", ["nowhere", "No such file"]),
        ("{tmp}", ["not a regular file"]),
        ("{tmp}/pipe", ["not a regular file"]),
        ("/dev/zero", ["not a regular file"]),
        ("", []),
        (":x", []),
        ("{tmp}/a:../x", ["leads out"]),
        ("{tmp}/a:x/../../y", ["leads out"]),
        ("{tmp}/a:/etc/x", ["relative to /work"]),
        ("{tmp}/a:out", ["directory"]),
        ("{tmp}/a:" + "n" * 256, ["longer than 255"]),
        ("{tmp}/a:" + "n/" * 2100 + "x", ["too long"]),
    ],
)
def test_an_input_file_that_cannot_be_one(casemate: Casemate, tmp_path: Path, given: str, parts: list[str]) -> None:
    (tmp_path / "a").write_text("a")
    os.mkfifo(tmp_path / "pipe")
    ended = casemate.call(*TRUSTED, f"--file={given.format(tmp=tmp_path)}", "-c", PROGRAM)
    assert ended.exit_code == 2 and ended.stdout == b"" and ended.stderr.startswith("casemate run: ")
    assert all(part in ended.stderr for part in parts), ended.stderr


@pytest.mark.parametrize(
    ("given", "found"),
    [("a", "a"), ("a:b", "b"), ("a:b/c", "b/c"), ("a:b/", "b/a"), ("a:./b", "b"), ("a:b//c", "b/c"), ("a:.", "a"), ("a:", "a"),
     ("a:/work/b", "b"), ("a:b", "b"), ("x:y", "x:y"), ("x:y:z", "z"), ("a:--help", "--help"), ("a: b ", " b ")],
)  # fmt: skip
def test_where_an_input_file_is_found(casemate: Casemate, tmp_path: Path, given: str, found: str) -> None:
    for name in ("a", "x:y"):
        (tmp_path / name).write_text("content")
    code = (
        "import os\nprint([os.path.join(d, f) for d, _, fs in os.walk('.') for f in fs], open(os.sys.argv[1]).read())"
    )
    outcome = casemate.run(f"--file={tmp_path}/{given}", "-c", code, "--", found).outcome
    assert outcome["stdout"]["text"] == f"[{'./' + found!r}] content\n"


def test_input_files_may_not_be_in_each_others_way(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    for pair in (("x", "x"), ("x", "x/y"), ("x/y", "x"), ("x/y/z", "x/y")):
        ended = casemate.call(*TRUSTED, *[f"--file={tmp_path}/a:{path}" for path in pair], "-c", PROGRAM)
        one_line(ended, 2, "x")


@pytest.mark.parametrize("given", ["A", "=x", "", "\x1b[31m"])
def test_a_variable_without_a_name(casemate: Casemate, given: str) -> None:
    one_line(casemate.call(*TRUSTED, "--env", given, "-c", PROGRAM), 2, "NAME=VALUE")


def test_the_longest_path_is_found(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content")
    path = "/".join(["n" * 100] * 41)[: 4096 - len("/vol/work/") - 1]
    code = "import sys\nprint(open('/vol/work/' + sys.argv[1]).read())"
    assert casemate.run(f"--file={tmp_path}/a:{path}", "-c", code, "--", path).outcome["stdout"]["text"] == "content\n"
    longer = casemate.call(*TRUSTED, f"--file={tmp_path}/a:{path}n", "-c", PROGRAM)
    assert longer.exit_code == 2 and longer.stderr.endswith("has a path that is too long\n")


def test_too_many_of_anything_is_refused(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    deep = ["/".join(f"{i}d{j}" for j in range(20)) for i in range(900)]
    one_line(casemate.call(*TRUSTED, *[f"--file={tmp_path}/a:{path}/f" for path in deep], "-c", "1"), 2, "directories")
    one_line(casemate.call(*TRUSTED, *[f"--env=V{i}=1" for i in range(257)], "-c", "1"), 2, "variables")
    one_line(casemate.call(*TRUSTED, *[f"--artifact=f{i}" for i in range(257)], "-c", "1"), 2, "artifacts")
    one_line(casemate.call(*TRUSTED, "-c", "1", "--", *["x"] * 1025), 2, "arguments")
    one_line(casemate.call(*TRUSTED, "-c", "1", "--", *["x" * 100_000] * 8), 2, "too long")


@pytest.mark.parametrize("kind", ["file", "below a file", "no such device", "empty"])
def test_out_must_be_a_directory_that_can_be_made(casemate: Casemate, tmp_path: Path, kind: str) -> None:
    (tmp_path / "f").write_text("mine")
    out = {"file": f"{tmp_path}/f", "below a file": f"{tmp_path}/f/x", "no such device": "/proc/nowhere", "empty": ""}[
        kind
    ]
    one_line(casemate.call(*TRUSTED, "--out", out, "-c", PROGRAM), 2, "directory")
    assert (tmp_path / "f").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_out_must_be_writable(casemate: Casemate, user: list[str], tmp_path: Path) -> None:
    closed = tempfile.mkdtemp()
    os.chmod(closed, 0o755)
    ended = subprocess.run(
        [*user, casemate.binary, *TRUSTED, "--out", closed, "-c", PROGRAM], capture_output=True, check=False
    )
    os.rmdir(closed)
    one_line(Ended(ended.returncode, ended.stdout, ended.stderr.decode(), 0), 2, "cannot write", "--out")


@pytest.mark.parametrize("given", ["nowhere", ".", "", "big"])
def test_standard_input_that_cannot_be_given(casemate: Casemate, tmp_path: Path, given: str) -> None:
    with open(casemate.folder / "big", "wb") as file:
        file.truncate((64 << 20) + 1)
    one_line(casemate.call(*TRUSTED, "--stdin", given, "-c", PROGRAM), 2, "--stdin")
    os.unlink(casemate.folder / "big")


@pytest.mark.parametrize(
    "name", ["nope", "sha256:abcd", "sha256:" + "0" * 64, "../python", "", "a/b", "\x1b[31m", "PYTHON"]
)
def test_an_unknown_image_is_one_line(casemate: Casemate, name: str) -> None:
    one_line(casemate.call(*TRUSTED, "--image", name, "-c", PROGRAM), 2, "image")


@pytest.fixture(name="user")
def ordinary_user() -> Iterator[list[str]]:
    """A command's beginning that makes it nobody's, who has no subordinate ids; with its own folder for sockets."""
    folder = tempfile.mkdtemp()
    os.chown(folder, 65534, 65534)
    if not os.access("/usr/bin/setpriv", os.X_OK):
        pytest.skip("needs setpriv")
    yield [
        "/usr/bin/setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "env",
        "-i",
        f"XDG_RUNTIME_DIR={folder}",
    ]
    shutil.rmtree(folder)


def as_user(casemate: Casemate, user: list[str], *args: str) -> Ended:
    """A call by that user; skips where the program is out of that user's reach."""
    if subprocess.run([*user, casemate.binary, "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs a build that every user can reach")
    ended = subprocess.run([*user, casemate.binary, *args], capture_output=True, check=False, timeout=120, cwd="/")
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode(), 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_without_privilege_a_run_is_refused_with_the_remedy(casemate: Casemate, user: list[str]) -> None:
    one_line(
        as_user(casemate, user, *TRUSTED, "-c", PROGRAM),
        3,
        "isolation_unavailable",
        "usermod --add-subuids",
        "--weaken",
    )
    outcome = as_user(casemate, user, *TRUSTED, "--json", "-c", PROGRAM).outcome
    assert (outcome["status"], outcome["reason"]["code"]) == ("refused", "isolation_unavailable")
    assert outcome["teardown"]["verdict"] == "destroyed", "no box was made"
    assert as_user(casemate, user, "doctor").exit_code == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_a_weakening_is_shown_in_the_outcome_with_what_it_costs(casemate: Casemate, user: list[str]) -> None:
    weaker = ("--weaken", "single-id", "--weaken", "no-cgroup")
    outcome = as_user(casemate, user, *TRUSTED, *weaker, "--json", "-c", PROGRAM).outcome
    assert outcome["status"] == "ok", outcome["report"]
    assert outcome["weakenings"] == ["single-id", "no-cgroup"]
    assert "no-cgroup" in outcome["report"] and "per process" in outcome["report"]
    shown = as_user(casemate, user, *TRUSTED, *weaker, "-c", PROGRAM)
    assert shown.stdout == b"ran\n" and "no-cgroup" in shown.stderr


def test_parts_that_are_missing_are_named(casemate: Casemate, tmp_path: Path) -> None:
    shutil.copy(casemate.binary, tmp_path / "casemate")
    ended = subprocess.run(
        [tmp_path / "casemate", *TRUSTED, "-c", PROGRAM], capture_output=True, check=False, cwd=tmp_path
    )
    one_line(Ended(ended.returncode, ended.stdout, ended.stderr.decode(), 0), 4, "casemate-warden", "build or install")
