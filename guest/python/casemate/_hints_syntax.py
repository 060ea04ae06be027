"""Hints for SyntaxError, IndentationError and TabError."""

from __future__ import annotations

from casemate import _look, _render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from casemate._failure import Failure

_PAIRS = {")": "(", "]": "[", "}": "{"}
_QUOTES = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u00ab": '"',
    "\u00bb": '"',
}
_LOOKALIKES = {
    "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u00f7": "/", "\u2264": "<=",
    "\u2265": ">=", "\u2260": "!=", "\u00a0": " ", "\u200b": "", "\ufeff": "", "\uff08": "(", "\uff09": ")",
    "\uff0c": ",", "\uff1a": ":", "\u2026": "...", "\u3000": " ",
}  # fmt: skip
_SHOWN_MAX = 160


def syntax(failure: Failure) -> Iterator[str]:
    """What the compiler stumbled over, with a caret, and the usual reasons."""
    path, line, column, _, _ = _render.syntax_place(failure.error)
    source = (
        failure.sources.text(path) if failure.sources.display(path) is not None else ""
    )
    text = failure.sources.line(path, line) if source else ""
    if text.strip() and column > 0:
        yield from _caret(text, line, column)
    if not source:
        return
    lines = source.split("\n")
    if any(text.startswith("```") for text in lines):
        number = next(n for n, text in enumerate(lines, 1) if text.startswith("```"))
        yield (
            f"line {number} is a Markdown fence (```), not Python; submit the lines between the fences alone"
        )
    if failure.derives(TabError) or "inconsistent use of tabs" in failure.message:
        tabs = [
            n
            for n, text in enumerate(lines, 1)
            if "\t" in text[: len(text) - len(text.lstrip())]
        ]
        yield f"lines indented by tabs: {_look.show_names(tabs, 120)}; use spaces throughout"
    elif failure.derives(IndentationError):
        yield from _indentation(lines, line, failure.message)
    else:
        yield from _brackets(source, failure.message)
        yield from _characters(text, line)
        yield from _usual(text, failure.message)


def _caret(text: str, line: int, column: int) -> Iterator[str]:
    stripped = text.lstrip()
    at = max(0, column - 1 - (len(text) - len(stripped)))
    left = max(0, at - _SHOWN_MAX // 2)
    lead = f"line {line}: "
    yield lead + _look.one_line(stripped[left : left + _SHOWN_MAX], 400)
    yield " " * (len(lead) + at - left) + "^"


def _indentation(lines: list[str], line: int, message: str) -> Iterator[str]:
    def width(text: str) -> int:
        return len(text.expandtabs(8)) - len(text.expandtabs(8).lstrip())

    here = lines[line - 1] if 0 < line <= len(lines) else ""
    above = [
        text
        for text in lines[: max(0, line - 1)]
        if text.strip() and not text.lstrip().startswith("#")
    ]
    if "expected an indented block" in message:
        if above:
            yield (
                f"the line before it ({_look.one_line(above[-1].strip(), 80)}) needs an indented block;"
                " `pass` is an empty one"
            )
    elif "unindent does not match" in message:
        levels: list[int] = []
        for text in above:
            while levels and levels[-1] >= width(text):
                levels.pop()
            levels.append(width(text))
        yield (
            f"line {line} is indented by {width(here)} columns; the blocks that are open there are at"
            f" {_look.show_names(levels, 80)}"
        )
    elif "unexpected indent" in message:
        before = width(above[-1]) if above else 0
        yield (
            f"line {line} is indented by {width(here)} columns, the line before it by {before}, and that one"
            " opens no block"
        )


def _brackets(source: str, message: str) -> Iterator[str]:
    """Brackets that do not pair, by a scan that knows strings and comments, but no grammar."""
    opened: list[tuple[str, int]] = []
    at, line, end = 0, 1, len(source)
    while at < end:
        c = source[at]
        if c == "\n":
            line += 1
        elif c == "#":
            at = source.find("\n", at)
            if at < 0:
                break
            continue
        elif c in "'\"":
            at, passed, closed = _skip_string(source, at)
            if not closed:
                yield f"the string that begins on line {line} with {c} is not closed"
                return
            line += passed
            continue
        elif c in "([{":
            opened.append((c, line))
        elif c in ")]}":
            if not opened:
                yield f"{c!r} on line {line} closes nothing"
                return
            bracket, where = opened.pop()
            if bracket != _PAIRS[c]:
                yield f"{c!r} on line {line} does not close the {bracket!r} of line {where}"
                return
        at += 1
    if opened:
        bracket, where = opened[-1]
        yield f"the {bracket!r} of line {where} is never closed"


def _skip_string(source: str, at: int) -> tuple[int, int, bool]:
    """(index after the string, newlines in it, whether it is closed)."""
    quote = source[at]
    long = source.startswith(quote * 3, at)
    mark = quote * 3 if long else quote
    now = at + len(mark)
    while now < len(source):
        if source[now] == "\\":
            now += 2
        elif source.startswith(mark, now):
            return now + len(mark), source.count("\n", at, now), True
        elif source[now] == "\n" and not long:
            return now, 0, False
        else:
            now += 1
    return now, source.count("\n", at, now), False


def _characters(text: str, line: int) -> Iterator[str]:
    for column, c in enumerate(text, 1):
        plain = _QUOTES.get(c, _LOOKALIKES.get(c))
        if (
            plain is not None
            and "'" not in text[: column - 1]
            and '"' not in text[: column - 1]
        ):
            instead = f"write {plain!r}" if plain else "delete it"
            yield (
                f"line {line} column {column} has U+{ord(c):04X} ({c if c.isprintable() else 'invisible'}):"
                f" {instead}"
            )


def _usual(text: str, message: str) -> Iterator[str]:
    stripped = text.strip()
    word = stripped.partition(" ")[0]
    if word in (
        "if",
        "elif",
        "while",
        "for",
        "def",
        "class",
        "with",
        "else",
        "try",
        "except",
        "finally",
    ) or word.rstrip(":") in ("else", "try", "finally"):
        if (
            not stripped.endswith((":", ",", "(", "[", "{", "\\"))
            and "expected ':'" in message
        ):
            yield f"`{word}` needs a colon at the end of the line"
        elif (
            word in ("if", "elif", "while")
            and "=" in stripped
            and "==" not in stripped
            and "invalid syntax" in message
        ):
            yield "a comparison is written =="
    if word in ("print", "exec") and not stripped.startswith(word + "("):
        yield f"{word} is a function: {word}(...)"
    if "'await' outside" in message or "outside async function" in message:
        yield (
            "a program is not a coroutine: put it into `async def main(): ...` and end with"
            " `asyncio.run(main())`"
        )
    if "from __future__ imports must occur at the beginning" in message:
        yield "move the line to the top of the program, before any other statement"
    if "&&" in stripped or "||" in stripped:
        yield "Python writes `and` and `or`"
    if stripped.endswith("++") or stripped.endswith("--"):
        yield "Python writes `+= 1` and `-= 1`"
    if stripped.startswith(("$ ", "% ", "pip install", "!pip", "!")):
        yield "this is a command for a shell, not Python"
