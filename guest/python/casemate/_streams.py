"""The program's stdout and stderr: nothing held back, in true order, never dying on a character.

Each is a TextIOWrapper straight over a FileIO of ours, as under `python -u`: text reaches the
descriptor when it is written, so a SIGKILL at the wall limit loses none of it. A print of several
pieces is several writes then, which is slow where there are very many, and lines of concurrent
writers would be torn. Hence from the program's first fork or thread on, and after _PIECES_MAX
writes, text is held until its line is complete: one write per line. What can be lost then is an
unfinished line, at a kill or at the program's own os._exit.

Encoding is UTF-8. stdout gives back bytes that came in through surrogateescape (file names that
are not UTF-8) as they were; any other lone surrogate becomes a visible escape such as \\ud83d, for
bytes that no UTF-8 decoder takes would only turn into replacement marks on the way. stderr shows
all surrogates as escapes, as Python's own does.
"""

import os
import sys
from _codecs import register_error
from _io import FileIO, TextIOWrapper
from _thread import _count as threads_running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from casemate._wire import Channel

STDOUT = 1
STDERR = 2
# Some thousand lines. Whoever prints more is hardly read piece by piece.
_PIECES_MAX = 4096

_write = FileIO.write


class _Stream(FileIO):  # type: ignore[misc]
    """One of the two descriptors; counts its bytes and tells the channel when the writer changes."""

    total = 0
    # What a thread had written of its line when lines began to be held: it goes out with the rest.
    _begun = b""

    def write(self, data: "Any") -> int:
        """Writes all of the bytes-like `data`. Raises OSError as FileIO does; never short."""
        global _latest, _pieces_left
        given = size = len(data) if type(data) is bytes else memoryview(data).nbytes
        if self._begun:
            data, self._begun = self._begun + bytes(data), b""
            size = len(data)
        if _pieces_left < 0:
            flush()  # An unfinished line of the other stream came before this one.
        if _latest is not self:
            _latest = self
            _channel.order(self.fileno(), self.total)
        if _pieces_left >= 0:
            _pieces_left -= 1
            if _pieces_left < 0 or threads_running():
                hold_lines()
                if size and bytes(data)[-1:] != b"\n":
                    self._begun = bytes(data)
                    return given
        done = _write(self, data)
        self.total += done or 0
        if done != size:
            self._write_rest(data, done or 0)
        return given

    def flush(self) -> None:
        """Writes out what is begun."""
        if self._begun:
            self.write(b"")
        FileIO.flush(self)

    def _write_rest(self, data: "Any", done: int) -> None:
        # A pipe takes part of a write when a signal handler ran, or nothing when some child made
        # the shared open file non-blocking. Both are no reason to lose output.
        view = memoryview(data).cast("B")
        while done < len(view):
            written = _write(self, view[done:])
            if written is None:
                os.set_blocking(self.fileno(), True)
            else:
                self.total += written
                done += written


_channel: "Channel"
_latest: "Optional[_Stream]" = None
_pieces_left = _PIECES_MAX  # below 0, lines are held
_texts: "tuple[TextIOWrapper, ...]" = ()
_watched = False  # whether forks are told to us


def _escape(error: "UnicodeError") -> "tuple[str | bytes, int]":
    """The codec error handler of stdout: one character at a time."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    code = ord(error.object[error.start])
    if 0xDC80 <= code <= 0xDCFF:
        return bytes((code - 0xDC00,)), error.start + 1
    return "\\u%04x" % code, error.start + 1


def _open(number: int, name: str, errors: str) -> "TextIOWrapper":
    stream = _Stream(number, "wb", closefd=False)
    stream.name = name
    text = TextIOWrapper(stream, "utf-8", errors, newline="\n", write_through=True)
    text.mode = "w"  # type: ignore[misc]
    return text


def install(channel: "Channel") -> None:
    """Replaces sys.stdout and sys.stderr, before any byte was written.

    Once per process, but for a slot: its rehearsals have streams of their own first.
    """
    global _channel, _latest, _pieces_left, _texts, _watched
    _channel = channel
    _pieces_left = _PIECES_MAX
    register_error("casemate.escape", _escape)
    sys.stdout = sys.__stdout__ = stdout = _open(STDOUT, "<stdout>", "casemate.escape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = stderr = _open(STDERR, "<stderr>", "backslashreplace")  # type: ignore[misc]
    _texts = (stdout, stderr)
    # The reader starts with stdout, so a program that only prints sends no order at all.
    _latest = stdout.buffer  # type: ignore[assignment]
    # Before a fork, held text goes out, or both sides would write it.
    if not _watched:
        _watched = True
        os.register_at_fork(before=hold_lines, after_in_child=_forget)


def _forget() -> None:
    _channel.forget()


def forget() -> None:
    """Undoes install(), for whoever gives up descriptors 1 and 2 and the channel next."""
    global _texts
    _channel.forget()
    _texts = ()


def hold_lines() -> None:
    """From here on a line is written when it is complete; what is held goes out now."""
    global _pieces_left
    _pieces_left = -1
    for text in _texts:
        try:
            text.reconfigure(line_buffering=True, write_through=False)
        except (OSError, ValueError):
            pass  # Closed or detached by the program, which then keeps what it asked for.


def flush() -> None:
    """Writes out what is held, whatever the program did to sys.stdout. Never raises."""
    for text in _texts:
        try:
            text.flush()
        except (OSError, ValueError):
            pass
