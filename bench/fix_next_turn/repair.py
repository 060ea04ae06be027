"""A mechanical repairer: from a failed program's source and the text that reported the failure, one
edited program, or None.

It knows Python's grammar and its standard library, and nothing of the programs. The rules are the
same for whatever text they get: a bare traceback (with Python's own "Did you mean") or casemate's
report. A rule either finds in the text what to write instead, or it does not apply. It stands for a
reader who does the obvious and nothing more, so that two texts can be compared; how often a real
model repairs a program is another question.
"""

from __future__ import annotations

import difflib
import re
import sys
from typing import Callable, List, Optional

_STRAIGHT = {0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'"}


class Case:
    """The source, the report, and what every text says: the line and the exception."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.text = text
        found = re.findall(r'program\.py", line (\d+)', text) or re.findall(
            r"^at line (\d+)", text, re.M
        )
        self.line = int(found[-1]) if found else 0
        last = re.findall(
            r"^(?:\w+\.)*(\w*(?:Error|Exception|Operation|Interrupt|Exit)): ?(.*)$",
            text,
            re.M,
        )
        self.kind, self.message = last[-1] if last else ("", "")

    @property
    def failing(self) -> str:
        """The source of the failing line."""
        return self.lines[self.line - 1] if 0 < self.line <= len(self.lines) else ""

    def with_line(self, new: str, line: int = 0) -> Optional[str]:
        """The source with one line replaced; None if that changes nothing."""
        at = (line or self.line) - 1
        if not 0 <= at < len(self.lines) or self.lines[at] == new:
            return None
        return "\n".join([*self.lines[:at], new, *self.lines[at + 1 :]])

    def with_inserted(self, line: int, *new: str) -> str:
        """The source with lines put before line `line`."""
        return "\n".join([*self.lines[: line - 1], *new, *self.lines[line - 1 :]])

    def search(self, pattern: str) -> Optional["re.Match[str]"]:
        """The first match in the report."""
        return re.search(pattern, self.text, re.M)

    def suggested(self) -> str:
        """What "did you mean" names, without quotes; Python 3.11 and casemate write it alike."""
        found = self.search(r"[Dd]id you mean:? (?:'([^']*)'|\"([^\"]*)\"|([^\s?]+))\?")
        return (
            next((group for group in found.groups() if group is not None), "")
            if found
            else ""
        )


def repair(source: str, text: str) -> Optional[str]:
    """The first edit that a rule proposes."""
    case = Case(source, text)
    for rule in _RULES:
        edited = rule(case)
        if edited is not None and edited != source:
            return edited
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def add_import(case: Case) -> Optional[str]:
    """A missing import that the text spells out, or whose name is a module of the standard library."""
    found = case.search(
        r'[Dd]id you forget (?:to import |")((?:from [\w.]+ )?import [\w. ]+|\'\w+\')'
    )
    if found:
        statement = found.group(1).strip("'")
        return case.with_inserted(
            1, statement if "import" in statement else f"import {statement}"
        )
    name = re.match(r"name '(\w+)' is not defined", case.message)
    if name and name.group(1) in sys.stdlib_module_names:
        return case.with_inserted(1, f"import {name.group(1)}")
    return None


def replace_import(case: Case) -> Optional[str]:
    """`did you mean 'from a.b import c'?`"""
    found = case.search(r"did you mean '(from [\w.]+ import \w+)'\?")
    return case.with_line(_indent(case.failing) + found.group(1)) if found else None


def replace_key(case: Case) -> Optional[str]:
    """A key by one that the text suggests or lists, or a key that is one level down."""
    if case.kind != "KeyError":
        return None
    key = case.message.strip()
    below = case.search(re.escape(key) + r" is a key of (\S+)$")
    if below:
        owner = re.match(r"\w+", below.group(1))
        if owner:
            wanted = re.escape(owner.group(0)) + r"\[" + _either_quote(key) + r"\]"
            return case.with_line(
                re.sub(
                    wanted, lambda _: f"{below.group(1)}[{key}]", case.failing, count=1
                )
            )
    found = case.search(r"did you mean ('[^']*'|\"[^\"]*\"|-?[\d.]+)\?")
    new = found.group(1) if found else ""
    if not new:
        listed = case.search(r"present: \[(.*)\]")
        near = (
            difflib.get_close_matches(
                key.strip("'\""), re.findall(r"'([^']*)'", listed.group(1)), 1, 0.5
            )
            if listed
            else []
        )
        new = repr(near[0]) if near else ""
    if not new:
        return None

    def same_quote(match: "re.Match[str]") -> str:
        return (
            match.group(0)[0] + new[1:-1] + match.group(0)[0]
            if new[0] in "'\"" and match.group(0)[0] in "'\""
            else new
        )

    return case.with_line(re.sub(_either_quote(key), same_quote, case.failing, count=1))


def _either_quote(literal: str) -> str:
    bare = re.escape(literal.strip("'\""))
    return f"(?:'{bare}'|\"{bare}\")" if literal[:1] in "'\"" else rf"\b{bare}\b"


def replace_name(case: Case) -> Optional[str]:
    """A name, attribute, keyword, module or operand by what the text suggests."""
    new = case.suggested()
    if not new:
        return None
    if case.kind in ("NameError", "UnboundLocalError"):
        old = re.search(r"name '(\w+)'", case.message)
        return (
            case.with_line(
                re.sub(rf"(?<![\w.]){old.group(1)}\b(?!\s*=[^=])", new, case.failing)
            )
            if old
            else None
        )
    if case.kind == "AttributeError":
        old = re.search(r"attribute '(\w+)'", case.message)
        if not old:
            return None
        # With dots it is the whole expression, without it is the attribute.
        wanted = (
            rf"[\w.]+\.{old.group(1)}\b" if "." in new else rf"(?<=\.){old.group(1)}\b"
        )
        return case.with_line(re.sub(wanted, new, case.failing, count=1))
    if case.kind in ("ImportError", "ModuleNotFoundError"):
        old = re.search(r"'([\w.]+)'", case.message)
        # The module is used under its name in the rest of the program too.
        return (
            re.sub(rf"\b{re.escape(old.group(1))}\b", new, case.source) if old else None
        )
    if case.kind == "TypeError" and "unexpected keyword argument" in case.message:
        old = re.search(r"argument '(\w+)'", case.message)
        return (
            case.with_line(
                re.sub(rf"\b{old.group(1)}(\s*=)", rf"{new}\1", case.failing, count=1)
            )
            if old
            else None
        )
    if case.kind == "TypeError":
        inner = re.fullmatch(r"(?:str|int|float)\((.+)\)", new)
        if inner:
            operand = rf"(?<![\w.'\"]){re.escape(inner.group(1))}\b(?!['\"])"
            return case.with_line(re.sub(operand, lambda _: new, case.failing, count=1))
        selected = re.fullmatch(r"(\w+)(\[-?\d+\])(\[.+\])", new)
        if selected:
            return case.with_line(
                re.sub(
                    rf"\b{selected.group(1)}\[",
                    f"{selected.group(1)}{selected.group(2)}[",
                    case.failing,
                    count=1,
                )
            )
    if case.kind == "FileNotFoundError":
        old = re.search(r"directory: ('.*')", case.message)
        return (
            case.with_line(
                re.sub(_either_quote(old.group(1)), repr(new), case.failing, count=1)
            )
            if old
            else None
        )
    return None


def rewrite_attribute(case: Case) -> Optional[str]:
    """`instead of .length: len(...)`: the object goes where the dots are."""
    found = case.search(r"instead of \.(\w+): (\w+)\(\.\.\.\)")
    if not found:
        return None
    pattern = rf"([\w.]+(?:\[[^\]]*\])?)\.{found.group(1)}\b(?:\(\))?"
    return case.with_line(
        re.sub(pattern, rf"{found.group(2)}(\1)", case.failing, count=1)
    )


def move_down(case: Case) -> Optional[str]:
    """A call above the definition that it needs goes to the end."""
    name = re.match(r"name '(\w+)' is not defined", case.message)
    if (
        not name
        or not re.search(rf"^(?:def|class) {name.group(1)}\b", case.source, re.M)
        or _indent(case.failing)
    ):
        return None
    rest = [line for number, line in enumerate(case.lines, 1) if number != case.line]
    return "\n".join([*rest, case.failing, ""])


def declare_global(case: Case) -> Optional[str]:
    """A name of the module that a function assigns to."""
    name = (
        re.search(r"variable '(\w+)'", case.message)
        if case.kind == "UnboundLocalError"
        else None
    )
    if not name or not re.search(rf"^{name.group(1)}\s*=", case.source, re.M):
        return None
    for number in range(case.line, 0, -1):
        if re.match(r"\s*def ", case.lines[number - 1]):
            return case.with_inserted(
                number + 1,
                f"{_indent(case.lines[number - 1])}    global {name.group(1)}",
            )
    return None


def make_directory(case: Case) -> Optional[str]:
    """`os.makedirs('results', exist_ok=True) makes it`"""
    found = case.search(r"(os\.makedirs\('[^']*', exist_ok=True\)) makes it")
    if not found:
        return None
    return case.with_inserted(
        case.line, f"{_indent(case.failing)}import os; {found.group(1)}"
    )


def set_encoding(case: Case) -> Optional[str]:
    """The encoding that the text names; without one, latin-1, which decodes anything."""
    found = case.search(r"encoding='([\w-]+)'")
    if not found and case.kind != "UnicodeDecodeError":
        return None
    encoding = found.group(1) if found else "latin-1"
    for number in range(case.line, 0, -1):
        line = case.lines[number - 1]
        if "open(" in line or "read_text(" in line:
            if "encoding=" in line:
                return case.with_line(
                    re.sub(r"encoding=(['\"]).*?\1", f"encoding={encoding!r}", line),
                    number,
                )
            return case.with_line(
                re.sub(
                    r"\b(open|read_text)\(([^()]*)\)",
                    lambda m: f"{m[1]}({m[2]}{', ' if m[2] else ''}encoding={encoding!r})",
                    line,
                    count=1,
                ),
                number,
            )
    return None


def fix_syntax(case: Case) -> Optional[str]:
    """What the compiler or the text says is missing or too much."""
    if case.kind not in ("SyntaxError", "IndentationError"):
        return None
    fence = case.search(r"line \d+ is a Markdown fence")
    if fence:
        return "\n".join(line for line in case.lines if not line.startswith("```"))
    closed = re.search(r"'([(\[{])' was never closed", case.message)
    if closed:
        return case.with_line(
            case.failing + {"(": ")", "[": "]", "{": "}"}[closed.group(1)]
        )
    if "expected ':'" in case.message:
        return case.with_line(case.failing.rstrip() + ":")
    if "invalid character" in case.message:
        return case.source.translate(_STRAIGHT)
    if "expected an indented block" in case.message:
        return case.with_line("    " + case.failing)
    if "unindent does not match" in case.message:
        levels = {
            len(_indent(line)) for line in case.lines[: case.line - 1] if line.strip()
        }
        here = len(_indent(case.failing))
        # A line between two levels closes the inner block.
        return case.with_line(
            " " * max((level for level in levels if level < here), default=0)
            + case.failing.lstrip()
        )
    return None


def convert(case: Case) -> Optional[str]:
    """Conversions that the text spells out, and str() around what cannot be joined to a str."""
    source, line = case.source, case.failing
    if case.search(r"text\.replace\(',', ''\)"):
        return case.with_line(
            re.sub(
                r"\b(int|float|Decimal)\(([\w.\[\]'\"]+)\)",
                r"\1(\2.replace(',', ''))",
                line,
                count=1,
            )
        )
    if case.search(r"int\(float\("):
        return case.with_line(
            re.sub(r"\bint\(([\w.\[\]'\"]+)\)", r"int(float(\1))", line, count=1)
        )
    form = case.search(r"fits '([^']+)'")
    if form:
        return case.with_line(
            re.sub(r"(['\"])(%[^'\"]*)\1", repr(form.group(1)), line, count=1)
        )
    if case.search(r"default=str\)"):
        return case.with_line(
            re.sub(r"\b(dumps?)\(([^()]*)\)", r"\1(\2, default=str)", line, count=1)
        )
    pairs = case.search(r"(\w+)\.items\(\) gives pairs")
    if pairs:
        return case.with_line(
            re.sub(
                rf"\bin {pairs.group(1)}\b",
                f"in {pairs.group(1)}.items()",
                line,
                count=1,
            )
        )
    every = case.search(r"so (range\(len\((\w+)\)\)) reaches")
    if every:
        for number in range(case.line, 0, -1):
            if "range(" in case.lines[number - 1]:
                return case.with_line(
                    re.sub(
                        r"range\([^()]*\)",
                        every.group(1),
                        case.lines[number - 1],
                        count=1,
                    ),
                    number,
                )
    if case.search(
        r"\[json\.loads\(line\) for line in text\.splitlines\(\) if line\.strip\(\)\]"
    ):
        return re.sub(
            r"json\.loads\((\w[\w.]*(?:\(\))?)\)",
            r"[json.loads(line) for line in \1.splitlines() if line.strip()]",
            source,
            count=1,
        )
    if case.search(r"ast\.literal_eval reads"):
        return "import ast\n" + re.sub(r"json\.loads\(", "ast.literal_eval(", source)
    mapped = case.search(r"(map\(str, (\w+)\))")
    if mapped:
        return case.with_line(
            re.sub(
                rf"join\({mapped.group(2)}\)", f"join({mapped.group(1)})", line, count=1
            )
        )
    statement = case.search(r"at line (\d+) changes its object and returns None")
    if statement:
        number = int(statement.group(1))
        parts = re.match(r"(\s*)(\w+) = ((\w+)\.\w+\(.*\))$", case.lines[number - 1])
        return (
            case.with_line(f"{parts[1]}{parts[3]}; {parts[2]} = {parts[4]}", number)
            if parts
            else None
        )
    if "can only concatenate str" in case.message:
        return case.with_line(
            re.sub(
                r"(['\"]\s*\+\s*)([A-Za-z_]\w*)\b(?!\()", r"\1str(\2)", line, count=1
            )
        )
    return None


_RULES: List[Callable[[Case], Optional[str]]] = [
    fix_syntax,
    replace_import,
    convert,
    add_import,
    rewrite_attribute,
    replace_key,
    set_encoding,
    make_directory,
    move_down,
    declare_global,
    replace_name,
]
