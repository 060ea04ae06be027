"""The full text of an exception as Python prints it, with the user's frames only.

Written here and not taken from the traceback module: that one asks the program's objects more than
is safe (dir(), __notes__, properties), imports a dozen modules, and can be told only to keep the
last or the first frames. Causes, contexts, groups and notes are Python's; the carets mark the same
range, without the finer marks within it.
"""

from __future__ import annotations

import builtins

from casemate import _frames, _look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from casemate._frames import Entry, Sources, Trace

_CHAIN_MAX = 12  # causes and contexts; a loop among them ends at the first repetition
_GROUP_WIDTH = 15  # as the traceback module
_GROUP_DEPTH = 10
_LINE_MAX = 600
_REPEATS_MAX = (
    3  # a recursive line is printed so many times, then counted, as Python does
)

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def slot(error: BaseException, name: str) -> Any:
    """__cause__, __context__ and the like from BaseException itself, whatever a subclass did."""
    return BaseException.__dict__[name].__get__(error)


def members(error: BaseException) -> Optional[tuple[BaseException, ...]]:
    """The exceptions of an exception group; None for any other exception."""
    group = getattr(builtins, "BaseExceptionGroup", None)  # since 3.11
    if group is None or not _look.derives(error, group):
        return None
    found = group.__dict__["exceptions"].__get__(error)
    return found if type(found) is tuple else None


def render(
    error: BaseException, sources: Sources, message: Callable[[BaseException], str]
) -> str:
    """The text; `message` gives str(error), guarded. Bounded by the frames, lines and depths above."""
    printer = _Printer(sources, message)
    printer.chain(error)
    return "".join(printer.out)


class _Printer:
    """Python's own layout of chains and groups (traceback.TracebackException.format)."""

    def __init__(
        self, sources: Sources, message: Callable[[BaseException], str]
    ) -> None:
        self.out: list[str] = []
        self._sources = sources
        self._message = message
        self._seen: set[int] = set()
        self._depth = 0
        self._need_close = False

    def _indent(self) -> str:
        return "  " * self._depth

    def _emit(self, lines: list[str], margin: str = "|") -> None:
        lead = f"{self._indent()}{margin} " if self._depth else ""
        for text in lines:
            self.out += [lead + line for line in text.splitlines(keepends=True)]

    def chain(self, error: BaseException) -> None:
        """The exception with what caused it, the cause first."""
        links: list[tuple[BaseException, str]] = []
        current: Optional[BaseException] = error
        joint = ""
        # One that was told already is not told again as a cause, but is as a member of a group.
        while (
            current is not None
            and (not links or id(current) not in self._seen)
            and len(links) < _CHAIN_MAX
        ):
            self._seen.add(id(current))
            links.append((current, joint))
            cause, context = slot(current, "__cause__"), slot(current, "__context__")
            if cause is not None:
                current, joint = cause, _CAUSE
            elif context is not None and not slot(current, "__suppress_context__"):
                current, joint = context, _CONTEXT
            else:
                current = None
        for one, after in reversed(links):
            self._one(one)
            if after:
                self._emit([after])

    def _one(self, error: BaseException) -> None:
        inner = members(error)
        stack: list[str] = []
        _stack(_frames.collect(slot(error, "__traceback__"), self._sources), stack)
        final = final_lines(error, self._sources, self._message(error))
        if inner is None:
            self._emit(
                ["Traceback (most recent call last):\n", *stack] if stack else []
            )
            self._emit(final)
            return
        if self._depth > _GROUP_DEPTH:
            self._emit([f"... (max_group_depth is {_GROUP_DEPTH})\n"])
            return
        outermost = self._depth == 0
        if outermost:
            self._depth += 1
        if stack:
            self._emit(
                ["Exception Group Traceback (most recent call last):\n"],
                "+" if outermost else "|",
            )
            self._emit(stack)
        self._emit(final)
        self._members(inner)
        if outermost:
            self._depth = 0

    def _members(self, inner: tuple[BaseException, ...]) -> None:
        count = min(len(inner), _GROUP_WIDTH + 1)
        self._need_close = False
        for number in range(count):
            # The closing line may be written by a group within the last member.
            last = number == count - 1
            self._need_close = self._need_close or last
            title = str(number + 1) if number < _GROUP_WIDTH else "..."
            corner = "+-" if number == 0 else "  "
            self.out.append(
                f"{self._indent()}{corner}+---------------- {title} ----------------\n"
            )
            self._depth += 1
            if number < _GROUP_WIDTH:
                self.chain(inner[number])
            else:
                more = len(inner) - _GROUP_WIDTH
                self._emit([f"and {more} more exception{'s' if more > 1 else ''}\n"])
            if last and self._need_close:
                self.out.append(
                    f"{self._indent()}+------------------------------------\n"
                )
                self._need_close = False
            self._depth -= 1


def _stack(trace: Trace, out: list[str]) -> None:
    if trace.hidden_before:
        out.append(_hidden(trace.hidden_before))
    before: Optional[tuple[str, int, str]] = None
    repeated = 0
    for number, entry in enumerate(trace.entries):
        if number == _frames._ENDS and trace.left_out:
            _repeats(repeated, out)
            before, repeated = None, 0
            out.append(f"  [... {trace.left_out} frames of the program left out ...]\n")
        place = (entry.path, entry.line, entry.function)
        if place != before:
            _repeats(repeated, out)
            repeated = -1
        before, repeated = place, repeated + 1
        if repeated < _REPEATS_MAX:
            _frame(entry, out)
        if entry.hidden_after:
            out.append(_hidden(entry.hidden_after))
    _repeats(repeated, out)


def _repeats(repeated: int, out: list[str]) -> None:
    more = repeated - _REPEATS_MAX + 1
    if more > 0:
        out.append(
            f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n"
        )


def _frame(entry: Entry, out: list[str]) -> None:
    out.append(f'  File "{entry.file}", line {entry.line}, in {entry.function}\n')
    source = entry.source.strip()
    if source:
        out.append(f"    {source[:_LINE_MAX]}\n")
        carets = _carets(entry)
        if carets:
            out.append(f"    {carets}\n")


def _hidden(count: int) -> str:
    return f"  [{count} frame{'s' if count > 1 else ''} outside the program]\n"


def _carets(entry: Entry) -> str:
    """Marks below the failing part of the line; none where that is the whole line, as in Python."""
    if entry.column < 0 or len(entry.source) > _LINE_MAX:
        return ""
    data = entry.source.encode("utf-8", "backslashreplace")
    start = len(data[: entry.column].decode("utf-8", "replace"))
    stripped = len(entry.source) - len(entry.source.lstrip())
    length = len(entry.source.rstrip())
    end = length
    if entry.end_line == entry.line:
        end = len(data[: entry.end_column].decode("utf-8", "replace"))
    if start >= end or (start <= stripped and end >= length):
        return ""
    return " " * (start - stripped) + "^" * (end - start)


def final_lines(error: BaseException, sources: Sources, text: str) -> list[str]:
    """`Type: message`, before it the place of a syntax error, after it the notes."""
    name = _look.class_name(type(error))
    lines: list[str] = []
    if _look.derives(error, SyntaxError):
        lines = _syntax_lines(error, sources)
    lines.append(f"{name}: {text}\n" if text else f"{name}\n")
    notes = _look.instance_dict(error).get("__notes__")
    if type(notes) is list:
        lines += [f"{note}\n" for note in notes[:20] if type(note) is str]
    return lines


def syntax_place(error: BaseException) -> tuple[str, int, int, int, str]:
    """(file, line, column, end column, text) of a SyntaxError; 0 and "" for what it does not have."""

    def own(name: str, kind: type) -> Any:
        value = SyntaxError.__dict__[name].__get__(error)
        return value if type(value) is kind else kind()

    end = own("end_offset", int) if "end_offset" in SyntaxError.__dict__ else 0
    if "end_lineno" in SyntaxError.__dict__ and own("end_lineno", int) != own(
        "lineno", int
    ):
        end = 0
    return (
        own("filename", str),
        own("lineno", int),
        own("offset", int),
        end,
        own("text", str),
    )


def _syntax_lines(error: BaseException, sources: Sources) -> list[str]:
    path, line, column, end, text = syntax_place(error)
    if not line:
        return []
    lines = [f'  File "{sources.display(path) or path or "<string>"}", line {line}\n']
    if sources.display(path) is not None:
        text = sources.line(path, line) or text
    shown = text.strip("\n").lstrip(" \n\t\f").rstrip()
    if shown:
        lines.append(f"    {shown[:_LINE_MAX]}\n")
        start = (
            column
            - 1
            - (len(text.strip("\n")) - len(text.strip("\n").lstrip(" \n\t\f")))
        )
        if 0 <= start < _LINE_MAX:
            lines.append(
                f"    {' ' * start}{'^' * max(1, min(end, len(text) + 1) - column)}\n"
            )
    return lines
