"""What every end-to-end test has: the built program, a way to run it, and a proof that nothing is left.

Tests use public interfaces only. CASEMATE_BIN names the program; without it the newest one below
build/ is taken. These fixtures serve tests/escape too.
"""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CGROUPS = Path("/sys/fs/cgroup")

# Exit codes of the CLI by status (DESIGN section 12).
EXIT_CODES = {"ok": 0, "error": 1, "refused": 3, "unavailable": 4, "limit": 5, "cancelled": 6}

# A machine that is emulated sets this: every time limit of the tests is multiplied by it.
SLOW = float(os.environ.get("CASEMATE_TEST_SLOW", "1"))

_PR_SET_CHILD_SUBREAPER = 36
_TIME_LIMITS = {"--wall": "30s", "--cpu-time": "20s"}  # with their defaults
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}

# Hands its argument to the box's shell; the run ends as the shell does.
_BASH = "import subprocess, sys\ncode = subprocess.run(['bash', '-c', sys.argv[1]]).returncode\nsys.exit(code if code >= 0 else 128 - code)\n"


# How boxes are started: "hot" runs every test of this folder in slots (CASEMATE_TEST_START).
START = os.environ.get("CASEMATE_TEST_START", "")
# A suite of their own (tests/CMakeLists.txt), which says itself how each of its boxes is started; and what has
# no box is not tested again with other ones.
collect_ignore_glob = ["rungs_*", *(["*_image_test.py", "audit_test.py", "test_examples.py"] if START else [])]


def scaled(args: tuple[str | os.PathLike[str], ...]) -> list[str | os.PathLike[str]]:
    """Arguments of `run` with their time limits, named or not, for this machine."""
    if SLOW == 1 or not args or args[0] != "run":
        return list(args)
    own = list(args)
    for name, default in _TIME_LIMITS.items():
        if any(str(argument).startswith(name + "=") for argument in own):
            continue
        if name not in own:
            own[1:1] = [name, default]
        at = own.index(name) + 1
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", str(own[at]))
        if parts:
            own[at] = f"{float(parts[1]) * _UNITS[parts[2]] * SLOW:.3f}s"
    return own


@dataclass(frozen=True)
class Ended:
    """How one call of the program ended."""

    exit_code: int  # negative: the signal that ended it
    stdout: bytes
    stderr: str
    seconds: float

    @property
    def outcome(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        document = json.loads(self.stdout)
        assert isinstance(document, dict), document
        return document


class Casemate:
    """The built program. `run` and `call` end it, and all its children, when its time is over."""

    def __init__(self, binary: Path, runtime: Path, folder: Path) -> None:
        self.binary = binary
        self.runtime = runtime
        self.folder = folder  # where it is called unless a test says otherwise
        image = binary.read_bytes()
        # Such a build keeps what it freed: its memory says nothing.
        self.sanitized = b"__asan_init" in image or b"__tsan_init" in image

    def call(
        self,
        *args: str | os.PathLike[str],
        stdin: bytes | str = b"",
        timeout: float = 60.0,
        env: dict[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Ended:
        """Calls the program with just these arguments; `timeout` in seconds fails the test."""
        begun = time.monotonic()
        process = self.start(*args, env=env, cwd=cwd)
        try:
            given = stdin.encode() if isinstance(stdin, str) else stdin
            out, err = process.communicate(given, timeout=timeout * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"no end after {timeout} s: {args}\nstdout: {out!r}\nstderr: {err!r}")
        return Ended(process.returncode, out, err.decode(errors="replace"), time.monotonic() - begun)

    def start(
        self,
        *args: str | os.PathLike[str],
        env: dict[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts the program and does not wait: for tests that kill it or run two at once."""
        return subprocess.Popen(
            [self.binary, *scaled(args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | self.environment | (env or {}),
            cwd=cwd or self.folder,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Where the program keeps what it keeps, so that tests leave the user's own alone."""
        return {
            "XDG_RUNTIME_DIR": str(self.runtime),
            "CASEMATE_RECORDS": str(self.runtime / "records.jsonl"),
            "CASEMATE_AUDIT": str(self.runtime / "audit"),
        }

    def run(self, *args: str | os.PathLike[str], stdin: bytes | str = b"", **options: Any) -> Ended:
        """`casemate run --json` as a trusted program, since CI has the jail alone.

        The outcome's status and the exit code must agree. Say `--trust` to say otherwise.
        """
        trust = [] if "--trust" in args else ["--trust", "trusted"]
        start = ["--start", START] if START else []
        ended = self.call("run", "--json", *start, *trust, *args, stdin=stdin, **options)
        assert ended.exit_code in EXIT_CODES.values(), ended
        assert ended.exit_code == EXIT_CODES[ended.outcome["status"]], ended
        return ended

    def python(self, code: str, *args: str, **options: Any) -> Ended:
        """Runs Python code given on stdin."""
        return self.run(*args, "-", stdin=code, **options)

    def bash(self, script: str, *args: str, **options: Any) -> Ended:
        """Runs a script by the box's shell, through a Python program of one line."""
        return self.run(*args, "-", "--", script, stdin=_BASH, **options)

    def terminal(self, *args: str, timeout: float = 60.0, env: dict[str, str] | None = None) -> Ended:
        """Calls the program with a terminal as its standard input, output and error: all in `stdout`."""
        begun = time.monotonic()
        ours, theirs = pty.openpty()
        given = os.environ | self.environment | (env or {})
        command = [self.binary, *scaled(args)]
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=given, cwd=self.folder, start_new_session=True
        ) as process:
            os.close(theirs)
            shown = _read_terminal(ours, begun + timeout * SLOW)
            os.close(ours)
            process.wait(timeout * SLOW)
        return Ended(process.returncode, shown, "", time.monotonic() - begun)


def _read_terminal(ours: int, end: float) -> bytes:
    shown = b""
    while select.select([ours], [], [], max(0.0, end - time.monotonic()))[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # EIO: nobody holds the other side any more
            return shown
        if not piece:
            return shown
        shown += piece
    pytest.fail(f"the terminal was not let go of in time; it shows {shown!r}")


def _binary() -> Path:
    named = os.environ.get("CASEMATE_BIN")
    if named:
        return Path(named)
    built = sorted(ROOT.glob("build/*/bin/casemate"), key=lambda path: path.stat().st_mtime)
    assert built, "no casemate is built; `make test` builds it and sets CASEMATE_BIN"
    return built[-1]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of this session keep what lives only while they run."""
    folder = tmp_path_factory.mktemp("rt")
    folder.chmod(0o700)
    return folder


@pytest.fixture(scope="session")
def casemate(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Casemate:
    """The program under test."""
    # An orphan of it becomes our child and not init's, so that it cannot leave unseen.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return Casemate(_binary(), runtime, tmp_path_factory.mktemp("cwd"))


def _children() -> dict[int, list[int]]:
    """The living children of every process."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(folder.name))
    return children


def descendants(of: int | None = None, *, generations: int = 1 << 20) -> dict[int, str]:
    """The living descendants of a process (ours, if none is named), with their command lines."""
    children = _children()
    found: dict[int, str] = {}
    generation = [os.getpid() if of is None else of]
    while generation and generations > 0:
        generation = [child for parent in generation for child in children.get(parent, [])]
        generations -= 1
        for pid in generation:
            try:
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time; for what no event tells us."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def weigh(process: subprocess.Popen[bytes], timeout: float = 60.0) -> tuple[bytes, bytes, int]:
    """Waits for a process's end: its stdout, its stderr and the highest resident size in bytes that was seen."""
    peak = 0

    def look() -> None:
        nonlocal peak
        while process.poll() is None:
            try:
                found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            except OSError:  # it has just ended
                return
            peak = max(peak, int(found[1]) << 10 if found else 0)
            time.sleep(0.005)

    watcher = threading.Thread(target=look)
    watcher.start()
    out, err = process.communicate(timeout=timeout * SLOW)
    watcher.join()
    return out, err, peak


def _reap() -> None:
    """Takes away the dead children that were nobody else's."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def _mounts() -> set[str]:
    """Mount points in our own namespace, without their numbers. What build tools mount is below build/."""
    lines = [line.split(" ")[3:] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {" ".join(fields) for fields in lines if not fields[1].startswith(f"{ROOT}/build/")}


def _instances(runtime: Path) -> list[Path]:
    """The directories in which instances keep their locks."""
    return [runtime / "casemate", Path("/run/casemate")]


def _of_others(runtime: Path, ours: dict[int, str]) -> set[str]:
    """Numbers of instances that live and are nobody's of ours: somebody else works on this machine."""
    names = {}
    for base in _instances(runtime):
        for lock in base.glob("*.lock"):
            names[lock.stat().st_ino] = lock.stem
    found = set()
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1] != "FLOCK":
            continue
        holder, inode = int(fields[4]), int(fields[5].rpartition(":")[2])
        if inode in names and holder not in ours:
            found.add(names[inode])
    return found


def _cgroups(others: set[str]) -> set[str]:
    """Groups of ours: casemate.i<instance>.b<box>, below our own group or the hierarchy's top."""
    own = {line.split(":", 2)[2].strip("/") for line in Path("/proc/self/cgroup").read_text().splitlines()}
    alien = re.compile(rf"casemate\.i(?:{'|'.join(others) or '-'})\.")
    # On a host with v2 alone the first is the one hierarchy, and what is below it are others' groups.
    hierarchies = [CGROUPS] if (CGROUPS / "cgroup.controllers").exists() else [CGROUPS, *CGROUPS.iterdir()]
    return {
        str(group)
        for hierarchy in hierarchies
        for parent in {"", *own}
        for group in (hierarchy / parent).glob("casemate.i*")
        if not alien.match(group.name)
    }


def _files(runtime: Path, others: set[str]) -> set[str]:
    """What stands in the runtime directories. An instance's lock file is there for ever, by design."""
    found: set[str] = set()
    for base in _instances(runtime):
        for folder, folders, files in os.walk(base):
            names = [name for name in files + folders if not name.endswith(".lock")]
            found |= {str(Path(folder, name)) for name in names if name.split(".")[0] not in others}
    return found


def _what_is(runtime: Path) -> dict[str, set[str]]:
    ours = descendants()
    others = _of_others(runtime, ours)
    return {
        "processes": {f"{pid}: {name}" for pid, name in ours.items()},
        "mounts": _mounts(),
        "cgroups": _cgroups(others),
        "files": _files(runtime, others),
    }


@pytest.fixture(autouse=True)
def nothing_left(casemate: Casemate) -> Iterator[None]:
    """Fails a test that leaves something behind."""
    yield from watch_for_remains(casemate)


def watch_for_remains(casemate: Casemate) -> Iterator[None]:
    """Fails a test that leaves a process, a mount, a cgroup or a runtime file behind.

    A program that was killed has a warden that ends by itself; it has five seconds for that.
    """
    before = _what_is(casemate.runtime)
    yield
    left: dict[str, set[str]] = {}

    def is_clean() -> bool:
        # Nothing tells us the end of a process that is not our child yet.
        _reap()
        left.clear()
        left.update({kind: now - before[kind] for kind, now in _what_is(casemate.runtime).items()})
        return not any(left.values())

    if not wait_for(is_clean, seconds=5.0 * SLOW):
        for process in left["processes"]:
            os.kill(int(process.split(":")[0]), signal.SIGKILL)
        pytest.fail(f"left behind: { {kind: what for kind, what in left.items() if what} }")
