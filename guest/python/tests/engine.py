"""Plays the engine: starts the real runner on a socket pair and collects what it does.

A run gets a directory of its own in place of /vol, descriptors 0 to 3 as in a box, and the command
line of the launcher but for `root`.
"""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass, field
from typing import Callable, Optional

PACKAGE_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PACKAGE_ROOT))

from casemate import _wire  # noqa: E402
from messages import frame, parse, request  # noqa: E402, F401

# Another interpreter than the image's can be tried: CASEMATE_TEST_PYTHON=/path/to/python3.13.
PYTHON = os.environ.get("CASEMATE_TEST_PYTHON", sys.executable)

COMMAND = "import sys; sys.path.insert(0, {package!r}); from casemate import _runner; _runner.main(root={root!r})"


@dataclass
class Report:
    """One EXCEPTION frame, taken apart."""

    type: str = ""
    message: str = ""
    errno: Optional[int] = None
    file: Optional[str] = None
    line: Optional[int] = None
    source: Optional[str] = None
    hidden_frames: int = 0
    frames: list[dict[str, object]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    rendered: str = ""
    exit_code: Optional[int] = None


@dataclass
class Ended:
    """What one run did."""

    status: int  # as subprocess has it: the exit code, or minus the signal
    stdout: bytes
    stderr: bytes
    frames: list[tuple[int, list[tuple[int, bytes]]]]
    root: pathlib.Path
    seconds: float
    control: bytes = b""
    done: Optional[int] = None  # the exit code of the DONE frame, which comes last and is not in `frames`

    def of(self, kind: int) -> list[list[tuple[int, bytes]]]:
        return [fields for type_, fields in self.frames if type_ == kind]

    @property
    def result(self) -> dict[str, str]:
        found = self.of(_wire.RESULT)
        if not found:
            return {}
        (fields,) = found
        texts = [data.decode() for _, data in fields]
        return dict(zip(texts[0::2], texts[1::2]))

    @property
    def artifacts(self) -> list[dict[str, str]]:
        names = {
            _wire.TAG_PATH: "path",
            _wire.TAG_NAME: "name",
            _wire.TAG_TEXT: "summary",
            _wire.TAG_MEDIA_TYPE: "media_type",
            _wire.TAG_ORIGIN: "origin",
        }
        return [
            {names[tag]: os.fsdecode(data) for tag, data in fields}
            for fields in self.of(_wire.ARTIFACT)
        ]

    @property
    def orders(self) -> list[tuple[int, int]]:
        return [
            (fields[0][1][0], int.from_bytes(fields[1][1], "little"))
            for fields in self.of(_wire.ORDER)
        ]

    def combined(self) -> bytes:
        """stdout and stderr in the order that the ORDER frames tell, as the supervisor joins them."""
        streams, out = {1: self.stdout, 2: self.stderr}, b""
        segments = [(1, 0), *self.orders]
        for number, (stream, start) in enumerate(segments):
            later = [
                total for other, total in segments[number + 1 :] if other == stream
            ]
            out += streams[stream][start : later[0] if later else None]
        return out

    @property
    def report(self) -> Report:
        found = self.of(_wire.EXCEPTION)
        if len(found) != 1:
            raise AssertionError(
                f"{len(found)} reports; stderr: {self.stderr.decode(errors='replace')}"
            )
        return parse_report(found[0])


DONE_HEAD = frame(_wire.DONE, _wire.number_field(_wire.TAG_EXIT_CODE, 0))[:8]
NUMBERS = (
    _wire.TAG_ERRNO,
    _wire.TAG_LINE,
    _wire.TAG_HIDDEN_FRAMES,
    _wire.TAG_FRAME_LINE,
    _wire.TAG_EXIT_CODE,
)


def parse_report(fields: list[tuple[int, bytes]]) -> Report:
    """Takes a report apart, checking the order of guest.h on the way."""
    report = Report()
    tags = [tag for tag, _ in fields]
    assert tags[:2] == [_wire.TAG_TYPE, _wire.TAG_MESSAGE], tags
    stages = {
        _wire.TAG_FRAME_FILE: 1,
        _wire.TAG_FRAME_LINE: 1,
        _wire.TAG_FRAME_FUNCTION: 1,
        _wire.TAG_FRAME_SOURCE: 1,
        _wire.TAG_HINT: 2,
        _wire.TAG_RENDERED: 3,
    }
    order = [stages.get(tag, 0) for tag in tags]
    assert order == sorted(order), tags
    for tag, data in fields:
        if tag in NUMBERS:
            assert len(data) == 8, tag
        number, text = (
            int.from_bytes(data, "little"),
            "" if tag in NUMBERS else data.decode(),
        )
        if tag == _wire.TAG_TYPE:
            report.type = text
        elif tag == _wire.TAG_MESSAGE:
            report.message = text
        elif tag == _wire.TAG_ERRNO:
            report.errno = number
        elif tag == _wire.TAG_FILE:
            report.file = text
        elif tag == _wire.TAG_LINE:
            report.line = number
        elif tag == _wire.TAG_SOURCE:
            report.source = text
        elif tag == _wire.TAG_HIDDEN_FRAMES:
            report.hidden_frames = number
        elif tag == _wire.TAG_FRAME_FILE:
            report.frames.append({"file": text})
        elif tag == _wire.TAG_FRAME_LINE:
            report.frames[-1]["line"] = number
        elif tag == _wire.TAG_FRAME_FUNCTION:
            report.frames[-1]["function"] = text
        elif tag == _wire.TAG_FRAME_SOURCE:
            report.frames[-1]["source"] = text
        elif tag == _wire.TAG_HINT:
            report.hints.append(text)
        elif tag == _wire.TAG_RENDERED:
            report.rendered = text
        elif tag == _wire.TAG_EXIT_CODE:
            report.exit_code = number
        else:
            raise AssertionError(f"unknown tag {tag}")
    return report


@functools.lru_cache(maxsize=None)
def built_package(python: str) -> pathlib.Path:
    """The package as the build makes it: copied, with unchecked bytecode. Removed at exit."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="casemate-package-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    shutil.copytree(
        PACKAGE_ROOT / "casemate",
        directory / "casemate",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    subprocess.run(
        [
            python,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "unchecked-hash",
            str(directory),
        ],
        check=True,
    )
    return directory


def environment(root: pathlib.Path) -> dict[str, str]:
    """What a program finds, as the engine has it but for the places."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(root / "tmp"),
    }


class Engine:
    """Runs programs, each in a fresh root, all removed by close()."""

    def __init__(self, python: str = PYTHON) -> None:
        self._python = python
        self._package = built_package(python)
        self._roots: list[pathlib.Path] = []

    def close(self) -> None:
        for root in self._roots:
            subprocess.run(
                ["chmod", "-R", "u+rwx", str(root)],
                check=False,
                stderr=subprocess.DEVNULL,
            )
            shutil.rmtree(root, ignore_errors=True)

    def new_root(self, make_run_directory: bool = True) -> pathlib.Path:
        """A new directory in place of /vol."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="casemate-guest-"))
        self._roots.append(root)
        for directory in ("work", "home", "tmp") + (
            ("run",) if make_run_directory else ()
        ):
            (root / directory).mkdir()
        return root

    def _start(
        self,
        root: pathlib.Path,
        number: int,
        flags: tuple[str, ...],
        extra_path: Optional[str],
    ) -> "subprocess.Popen[bytes]":
        """The process of a run whose control socket is descriptor `number`."""
        code = COMMAND.format(package=str(self._package), root=str(root))
        if extra_path:
            code = f"import sys; sys.path.append({extra_path!r}); " + code
        # The shell moves the socket to 3 and leaves no other descriptor open.
        move = "" if number == 3 else f"exec 3<&{number} {number}<&-; "
        return subprocess.Popen(
            ["/bin/sh", "-c", move + 'exec "$@"', "sh"]
            + [self._python, "-I", "-B", *flags, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=root / "work",
            env=environment(root),
            pass_fds=(number,),
        )

    def run(
        self,
        source: str | bytes,
        *,
        files: Optional[dict[bytes, bytes]] = None,
        arguments: tuple[bytes, ...] = (),
        environment: tuple[bytes, ...] = (),
        memory_bytes: int = 0,
        name: Optional[bytes] = None,
        raw: Optional[bytes] = None,
        kill_when: Optional[bytes] = None,
        answer: Optional[Callable[[list[tuple[int, list[tuple[int, bytes]]]]], bytes]] = None,
        timeout: float = 60,
        make_run_directory: bool = True,
        flags: tuple[str, ...] = (),
        extra_path: Optional[str] = None,
    ) -> Ended:
        """Runs to the end, or kills when stdout holds `kill_when`. `raw` replaces the request. `answer` is given
        the frames that came since it was asked last, and says what is sent back."""
        root = self.new_root(make_run_directory)
        data = source.encode() if isinstance(source, str) else source
        message = (
            raw
            if raw is not None
            else request(data, files, arguments, environment, memory_bytes, name)
        )
        ours, theirs = socket.socketpair()
        begin = time.monotonic()
        process = self._start(root, theirs.fileno(), flags, extra_path)
        theirs.close()
        outputs = _pump(process, ours, message, kill_when, begin + timeout, answer)
        status = process.wait()
        ours.close()
        frames = parse(outputs["control"])
        done = None
        if frames and frames[-1][0] == _wire.DONE:
            done = int.from_bytes(frames.pop()[1][0][1], "little")
        return Ended(
            status,
            outputs["stdout"],
            outputs["stderr"],
            frames,
            root,
            time.monotonic() - begin,
            outputs["control"],
            done,
        )


def _pump(
    process: "subprocess.Popen[bytes]",
    ours: socket.socket,
    message: bytes,
    kill_when: Optional[bytes],
    deadline: float,
    answer: Optional[Callable[[list[tuple[int, list[tuple[int, bytes]]]]], bytes]] = None,
) -> dict[str, bytes]:
    told = 0  # how much of what came was shown to `answer`
    assert process.stdout is not None and process.stderr is not None
    held = {"stdout": bytearray(), "stderr": bytearray(), "control": bytearray()}
    ours.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")
        selector.register(ours, selectors.EVENT_READ | selectors.EVENT_WRITE, "control")
        # A child of the program may hold the pipes open: the run ends with its process.
        quiet_since = None
        while selector.get_map():
            for key, events in selector.select(0.05):
                if events & selectors.EVENT_WRITE:
                    try:
                        message = message[ours.send(message) :]
                    except OSError:
                        message = b""
                    if not message:
                        selector.modify(ours, selectors.EVENT_READ, "control")
                if events & selectors.EVENT_READ:
                    try:
                        data = os.read(key.fd, 1 << 16)
                    except ConnectionResetError:
                        data = b""
                    held[key.data] += data
                    if key.data == "control" and answer is not None:
                        frames = parse(bytes(held["control"][told:]))
                        told += sum(8 + sum(8 + len(data) for _, data in fields) for _, fields in frames)
                        message += answer(frames)
                        if message:
                            selector.modify(ours, selectors.EVENT_READ | selectors.EVENT_WRITE, "control")
                    if key.data == "control" and held["control"][-24:-16] == DONE_HEAD:
                        ours.shutdown(socket.SHUT_WR)  # The slot waits for this.
                    if not data:
                        selector.unregister(key.fileobj)
            if kill_when is not None and kill_when in held["stdout"]:
                time.sleep(0.1)
                process.send_signal(signal.SIGKILL)
                kill_when = None
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError(
                    f"the run hangs; so far: {bytes(held['stdout'])!r} {bytes(held['stderr'])!r}"
                )
            if process.poll() is not None:
                quiet_since = quiet_since or time.monotonic()
                if time.monotonic() - quiet_since > 1:
                    break
    process.stdout.close()
    process.stderr.close()
    return {name: bytes(data) for name, data in held.items()}


class RunnerTest(unittest.TestCase):
    """A test case with an engine."""

    engine: Engine
    new_engine: Callable[[], Engine] = Engine  # test_hot has another

    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = cls.new_engine()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()

    def run_ok(self, source: str | bytes, **options: object) -> Ended:
        """Runs a program that must succeed without a report."""
        ended = self.engine.run(source, **options)  # type: ignore[arg-type]
        reports = ended.of(_wire.EXCEPTION)
        told = parse_report(reports[0]).rendered if reports else ""
        self.assertEqual(
            (ended.status, told), (0, ""), ended.stderr.decode("utf-8", "replace")
        )
        return ended

    def run_failing(self, source: str | bytes, **options: object) -> Report:
        """Runs a program that must end by an exception, reported and not printed."""
        ended = self.engine.run(source, **options)  # type: ignore[arg-type]
        report = ended.report
        self.assertEqual(ended.status, 1)
        self.assertNotIn(b"Traceback", ended.stderr)
        self.assertNotIn("_runner", report.rendered)
        return report
