"""A traceback seen from the program: its own frames with their source, the others counted."""

from __future__ import annotations

import os
from _collections import deque

from casemate import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType, TracebackType
    from typing import Any, Optional

    from casemate._runner import Place

_SOURCE_MAX = 1 << 20  # a user's file larger than this is not read for its lines
_FILES_MAX = 32
_ENDS = (
    _wire.REPORT_FRAMES_MAX // 2
)  # frames that are kept at each end of a long traceback


class Entry:
    """One frame of the user's code. Lines count from 1, columns are bytes of UTF-8 from 0, or -1."""

    def __init__(
        self, file: str, path: str, line: int, frame: FrameType, lasti: int
    ) -> None:
        self.file = file  # as the user knows it
        self.path = path  # as the code object has it
        self.line = line
        self.frame = frame
        self.lasti = lasti
        self.function = frame.f_code.co_name
        self.end_line, self.column, self.end_column = _position(
            frame.f_code, lasti, line
        )
        self.source = ""
        self.hidden_after = 0  # frames of libraries between this one and the next


class Trace:
    """The user's frames of one traceback, outermost first, the middle of a long one left out."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.hidden = 0  # frames outside the user's code
        self.hidden_before = 0  # those before the first of the user's
        self.left_out = 0  # user frames left out of the middle, after the first _ENDS
        self.last_hidden: Optional[
            CodeType
        ] = None  # the innermost frame, when that is hidden


def _position(code: CodeType, lasti: int, line: int) -> tuple[int, int, int]:
    positions = getattr(code, "co_positions", None)
    if positions is not None and lasti >= 0:
        for number, (start, end, column, end_column) in enumerate(positions()):
            if number == lasti // 2:
                # The traceback's own line wins: they differ when a frame is reported at its call.
                if (
                    start == line
                    and end is not None
                    and column is not None
                    and end_column is not None
                ):
                    return end, column, end_column
                break
    return line, -1, -1


class Sources:
    """The lines of the user's files, the program's from what was submitted."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lines: dict[str, list[str]] = {}
        self._texts: dict[str, str] = {}
        self._roots = tuple(
            prefix + "/"
            for prefix in {
                place.work,
                place.root,
                os.path.realpath(place.root),
                "/work",
            }
        )

    def display(self, path: str) -> Optional[str]:
        """The name of a user's file as the user knows it; None for a file that is not the user's."""
        if path == self._place.program:
            return self._place.name
        if (
            path.startswith("<")
            or "/site-packages/" in path
            or "/dist-packages/" in path
        ):
            return None
        if not path.startswith("/"):
            return path if os.path.isfile(path) else None
        for root in sorted(self._roots, key=len, reverse=True):
            if path.startswith(root):
                inner = path[len(root) :]
                return inner if root in (self._place.work + "/", "/work/") else path
        return None

    def text(self, path: str) -> str:
        """The whole text; empty when it cannot be had. Newlines are \\n."""
        if path not in self._texts:
            if len(self._texts) >= _FILES_MAX:
                return ""
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str:
        data = b""
        if path == self._place.program:
            data = self._place.source
        else:
            try:
                if os.path.isfile(path) and os.path.getsize(path) <= _SOURCE_MAX:
                    with open(path, "rb") as file:
                        data = file.read(_SOURCE_MAX)
            except OSError:
                return ""
        try:
            if b"coding" in data[:512]:
                from _frozen_importlib_external import decode_source  # type: ignore[attr-defined]

                return str(decode_source(data))
            text = data.decode("utf-8-sig")
        except (SyntaxError, LookupError, UnicodeError):
            text = data.decode("utf-8", "backslashreplace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def line(self, path: str, number: int) -> str:
        """Line `number`, counted from 1, without its newline; empty when there is none."""
        if path not in self._lines:
            self._lines[path] = self.text(path).split("\n")
        lines = self._lines[path]
        return lines[number - 1] if 0 < number <= len(lines) else ""


def walk(trace: Optional[TracebackType]) -> Iterator[TracebackType]:
    """The links of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def collect(trace: Optional[TracebackType], sources: Sources) -> Trace:
    """Sorts a traceback into the user's frames and others. Memory is bounded, whatever its length."""
    found = Trace()
    names: dict[str, Optional[str]] = {}
    first: list[Any] = []
    last: deque[Any] = deque(maxlen=_ENDS)
    count = 0
    hidden = 0
    for link in walk(trace):
        path = link.tb_frame.f_code.co_filename
        if path not in names:
            names[path] = sources.display(path)
        if names[path] is None:
            found.hidden += 1
            hidden += 1
            found.last_hidden = link.tb_frame.f_code
            continue
        if count:
            (last or first)[-1][1] += hidden
        else:
            found.hidden_before = hidden
        hidden = 0
        count += 1
        found.last_hidden = None
        (first if len(first) < _ENDS else last).append([link, 0])
    if count:
        (last or first)[-1][1] += hidden
    found.left_out = count - len(first) - len(last)
    for link, hidden_after in [*first, *last]:
        code = link.tb_frame.f_code
        file = names[code.co_filename] or code.co_filename
        entry = Entry(
            file, code.co_filename, link.tb_lineno or 0, link.tb_frame, link.tb_lasti
        )
        entry.hidden_after = hidden_after
        entry.source = sources.line(entry.path, entry.line)
        found.entries.append(entry)
    return found
