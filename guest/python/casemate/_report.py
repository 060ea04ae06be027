"""Makes and sends the report of an uncaught exception. Loaded only when there is one.

Everything is bounded, and nothing that the program defined is called but str() of its exception,
which Python would call too. What might not return is watched by a timer: see Patience.
"""

from __future__ import annotations

import _signal
import os
import sys

from casemate import _frames, _look, _render, _result, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Optional

    from casemate._frames import Entry, Trace
    from casemate._runner import Place

_HINT_MAX = 500
_SOURCE_MAX = 1000
_NAME_MAX = 300
_MESSAGE_MAX = 8 << 10
# Seconds that code of the program may take while a report is made, then between reminders.
_PATIENCE = 2.0
_REMINDER = 0.05
_REMINDERS_MAX = 20


class Impatient(BaseException):
    """Raised by the timer in whatever runs too long."""


class Patience:
    """Interrupts what runs longer than _PATIENCE seconds in the main thread's Python code.

    Code that swallows the interruption is reminded; after _REMINDERS_MAX times, `give_up` is called
    and the process ends there. A loop in C cannot be interrupted: that is the wall limit's work.
    """

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._reminders = 0
        self._handler: Any = None
        self._timer = (0.0, 0.0)

    def __enter__(self) -> None:
        try:
            self._handler = _signal.signal(_signal.SIGALRM, self._on_alarm)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
            self._timer = _signal.setitimer(_signal.ITIMER_REAL, _PATIENCE, _REMINDER)
        except (OSError, ValueError):
            pass  # Not allowed here: then there is no guard, and the report is made all the same.

    def __exit__(self, kind: Optional[type], error: object, trace: object) -> None:
        try:
            _signal.setitimer(_signal.ITIMER_REAL, *self._timer)
            if self._handler is not None:
                _signal.signal(_signal.SIGALRM, self._handler)
        except (OSError, ValueError):
            pass

    def _on_alarm(self, _number: int, _frame: object) -> None:
        self._reminders += 1
        if self._reminders > _REMINDERS_MAX:
            self._give_up()
        raise Impatient


class _Messages:
    """str() of exceptions, each asked once."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._known: dict[int, str] = {}

    def __call__(self, error: BaseException) -> str:
        key = id(error)
        if key not in self._known:
            self._known[
                key
            ] = "<the exception's str() did not return>"  # What give_up() will send.
            self._known[key] = self._ask(error)
        return self._known[key]

    def _ask(self, error: BaseException) -> str:
        if _look.derives(error, SyntaxError):
            # str() of it repeats file and line.
            text = SyntaxError.__dict__["msg"].__get__(error)
            return (
                _result.cut(text, _MESSAGE_MAX)
                if type(text) is str
                else "invalid syntax"
            )
        try:
            with self._patience:
                text = str(error)
                if type(text) is not str:
                    text = str.__str__(text)
            return _result.cut(text, _MESSAGE_MAX)
        except Impatient:
            return "<the exception's str() did not return>"
        except BaseException as broken:
            return f"<the exception's str() failed: {_look.type_name(broken)}>"


class _Draft:
    """A report as far as it is made."""

    def __init__(self, place: Place, error: BaseException, exit_code: int) -> None:
        self.error = error
        self.exit_code = exit_code
        self.sources = _frames.Sources(place)
        self.message = ""
        self.trace = _frames.Trace()
        self.hints: list[str] = []
        self.rendered = ""

    def payload(self) -> bytes:
        """The fields in the order of guest.h."""
        error, trace = self.error, self.trace
        parts = [
            _wire.text_field(
                _wire.TAG_TYPE, _look.one_line(_look.class_name(type(error)), _NAME_MAX)
            ),
            _wire.text_field(_wire.TAG_MESSAGE, self.message),
        ]
        if _look.derives(error, OSError):
            number = OSError.__dict__["errno"].__get__(error)
            if type(number) is int and 0 < number < 4096:
                parts.append(_wire.number_field(_wire.TAG_ERRNO, number))
        file, line, source = self.failing()
        if file:
            parts.append(
                _wire.text_field(_wire.TAG_FILE, _look.one_line(file, _NAME_MAX))
            )
            parts.append(_wire.number_field(_wire.TAG_LINE, line))
            parts.append(_wire.text_field(_wire.TAG_SOURCE, _shown_line(source)))
        parts.append(_wire.number_field(_wire.TAG_HIDDEN_FRAMES, trace.hidden))
        parts.append(_wire.number_field(_wire.TAG_EXIT_CODE, self.exit_code))
        for entry in trace.entries:
            parts.append(
                _wire.text_field(
                    _wire.TAG_FRAME_FILE, _look.one_line(entry.file, _NAME_MAX)
                )
            )
            parts.append(_wire.number_field(_wire.TAG_FRAME_LINE, entry.line))
            parts.append(
                _wire.text_field(
                    _wire.TAG_FRAME_FUNCTION, _look.one_line(entry.function, _NAME_MAX)
                )
            )
            parts.append(
                _wire.text_field(_wire.TAG_FRAME_SOURCE, _shown_line(entry.source))
            )
        parts += [_wire.text_field(_wire.TAG_HINT, hint) for hint in self.hints]
        if self.rendered:
            parts.append(_wire.text_field(_wire.TAG_RENDERED, self.rendered))
        return b"".join(parts)

    def failing(self) -> tuple[str, int, str]:
        """File, line and source of the place that failed in the user's code; "" when there is none."""
        if _look.derives(self.error, SyntaxError):
            path, line, _, _, text = _render.syntax_place(self.error)
            file = self.sources.display(path)
            # A syntax error in text that the program itself compiles is at the line that did so.
            if file is not None and line > 0:
                return file, line, self.sources.line(path, line) or text
        if not self.trace.entries:
            return "", 0, ""
        entry = self.trace.entries[-1]
        return entry.file, entry.line, entry.source


def _shown_line(source: str) -> str:
    return _look.one_line(source.rstrip().expandtabs(4), _SOURCE_MAX)


def send(
    channel: _wire.Channel,
    place: Place,
    error: BaseException,
    trace: Optional[TracebackType],
    exit_code: int,
) -> bool:
    """Sends the report; False when the channel is gone. Raises only when memory is short."""
    draft = _Draft(place, error, exit_code)

    def give_up() -> None:
        channel.send(_wire.EXCEPTION, draft.payload())
        os._exit(exit_code)

    patience = Patience(give_up)
    messages = _Messages(patience)
    draft.trace = _frames.collect(trace, draft.sources)
    draft.message = "<the exception's str() did not return>"
    draft.message = messages(error)
    try:
        draft.rendered = _result.cut(
            _render.render(error, draft.sources, messages), _wire.REPORT_TEXT_MAX
        )
    except (Exception, Impatient):
        draft.rendered = ""  # The fields say the essential.
    _add_hints(draft, patience)
    if draft.trace.left_out:
        draft.hints.insert(
            0,
            f"{draft.trace.left_out} frames were left out of the middle of the traceback",
        )
    del draft.hints[_wire.REPORT_HINTS_MAX :]
    return channel.send(_wire.EXCEPTION, draft.payload())


def _add_hints(draft: _Draft, patience: Patience) -> None:
    try:
        with patience:
            from casemate import _hints

            for hint in _hints.hints(
                draft.error, draft.message, draft.trace, draft.sources
            ):
                text = _look.one_line(hint, _HINT_MAX)
                if text and text not in draft.hints:
                    draft.hints.append(text)
                if len(draft.hints) >= _wire.REPORT_HINTS_MAX:
                    break
    except (Exception, Impatient) as failure:
        # A hint is a kindness, not a promise. Tests want to know why there is none.
        if sys.flags.dev_mode:
            sys.stderr.write(
                f"casemate: hints failed: {type(failure).__name__}: {failure}\n"
            )
