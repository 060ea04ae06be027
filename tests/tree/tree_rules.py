"""Rules for every file of the tree: tree_rules.py [ROOT]

Lengths of files and functions, names, leftovers, machine paths, white space, and links of the
documents. What is above its ceiling needs a line in long.txt beside this script.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from sources import text_of, tree_files

HEADER_MAX = 250
SOURCE_MAX = 400
HARD_MAX = 700
FUNCTION_MAX = 70
SOURCES = {".h", ".cc", ".py", ".sh", ".js", ".ts"}

# As a whole word of a file's or folder's name: such a name says nothing about what is in it.
EMPTY_NAMES = {"util", "utils", "common", "misc", "helper", "helpers", "manager", "managers"}

_HERE = "tests/tree/"
# What may not be left in a text, and where it may be all the same (prefixes of paths). A bare TODO is
# a leftover; TODO(area): says what, and when it matters.
LEFTOVERS: list[tuple[str, str, tuple[str, ...]]] = [
    (r"\b(?:FIXME|XXX|HACK|NOCOMMIT)\b|\bTODO\b(?!\([a-z0-9_-]+\): )", "a leftover marker", (_HERE,)),
    (r"^(?:<{7} |>{7} |={7}$)", "a merge conflict", ()),
    (r"\bpdb\.set_trace\(|^\s*breakpoint\(\)", "a debugger call", (_HERE,)),
    # /work alone is the box's own folder, and hostile guests look for /root on purpose.
    (r"/work/(?:main|shared|reference|\.[a-z])", "a path of one machine", (_HERE,)),
    (r"(?<![\w.])/root/|/home/(?![a-z]\b|user\b|tester\b)[a-z]", "a path of one machine", (_HERE, "tests/escape/")),
    (
        r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|npmjs\.com|proxy\.golang\.org|crates\.io"
        r"|deb\.debian\.org|security\.debian\.org|docker\.io|ghcr\.io|quay\.io)\b",
        "the host name of a registry",
        (_HERE,),
    ),
]

# Bytes that are so on purpose.
RAW = ("fuzz/corpus/", "LICENSE", "bench/fix_next_turn/programs/")
TABS_ALLOWED = {"Makefile", ".gitmodules"}

_MD_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# The first line of a function's body in clang-format's layout: no deeper than a class in a namespace.
_CC_NOT_A_FUNCTION = re.compile(
    r"^\s*(?:namespace|class|struct|union|enum|extern \"C\"|if|for|while|switch|else|do|try|static_assert)\b"
)


def line_of(text: str, at: int) -> int:
    """The number of the line that holds the character `at`."""
    return text.count("\n", 0, at) + 1


def read_long(root: Path) -> dict[str, int]:
    """The allow list: a path, or path:function, and the lines that it may have. Numbers only get smaller."""
    allowed = {}
    path = root / _HERE / "long.txt"
    for line in path.read_text().splitlines() if path.is_file() else []:
        if line.strip() and not line.startswith("#"):
            name, length = line.split()
            allowed[name] = int(length)
    return allowed


def check_length(name: str, where: str, length: int, ceiling: int, allowed: dict[str, int]) -> list[str]:
    """A ceiling of CONVENTIONS for one file or function; `where` begins what is said."""
    if name in allowed:
        if length <= ceiling:
            return [f"{where}: {length} lines, no longer above its ceiling: take it out of {_HERE}long.txt"]
        if length > allowed[name]:
            return [f"{where}: {length} lines; {_HERE}long.txt allows {allowed[name]}, and that list shrinks"]
        return []
    return [f"{where}: {length} lines; the ceiling is {ceiling}"] if length > ceiling else []


def cc_functions(text: str) -> list[tuple[str, int, int]]:
    """(name, line, length) of the functions in C++ text, read off clang-format's indentation."""
    lines = text.splitlines()
    found = []
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip(" "))]
        if opened is None:
            # The signature may be continued from the line before; then this one is indented by four.
            if not line.endswith("{") or _CC_NOT_A_FUNCTION.match(line) or "(" not in line + lines[number - 1]:
                continue
            if "= {" in line or "={" in line:
                continue
            start = number
            while start > 0 and len(lines[start]) - len(lines[start].lstrip(" ")) >= 4 and lines[start - 1].strip():
                start -= 1
            head = lines[start]
            opened = (start, head[: len(head) - len(head.lstrip(" "))])
        elif line.startswith(opened[1] + "}") and indent == opened[1]:
            name = re.search(r"([\w:~]+)\(", " ".join(lines[opened[0] : opened[0] + 2]))
            found.append((name[1] if name else "?", opened[0] + 1, number - opened[0] + 1))
            opened = None
    return found


def py_functions(text: str) -> list[tuple[str, int, int]]:
    """(name, line, length) of the functions in Python text."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return [(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1) for node in found]


def functions_of(path: Path, text: str) -> list[tuple[str, int, int]]:
    """(name, line, length) of the functions in a source."""
    if path.suffix in (".h", ".cc"):
        return cc_functions(text)
    return py_functions(text) if path.suffix == ".py" else []


def check_lengths(path: Path, text: str, allowed: dict[str, int]) -> tuple[list[str], set[str]]:
    """The ceilings for a source and its functions; also which names of the allow list it has."""
    length = text.count("\n")
    name = path.as_posix()
    if length > HARD_MAX:
        return [f"{path}: {length} lines; no file has more than {HARD_MAX}"], {name}
    wrong = check_length(name, name, length, HEADER_MAX if path.suffix == ".h" else SOURCE_MAX, allowed)
    met = {name}
    for function, line, lines in functions_of(path, text):
        met.add(f"{name}:{function}")
        wrong += check_length(f"{name}:{function}", f"{path}:{line}: {function}()", lines, FUNCTION_MAX, allowed)
    return wrong, met


def check_name(path: Path) -> list[str]:
    """Names that say nothing."""
    wrong = []
    for part in path.parts:
        empty = EMPTY_NAMES & set(re.split(r"[^a-z]+", part.lower()))
        if empty:
            wrong.append(f"{path}: a name with '{empty.pop()}' does not say what is in it")
    return wrong


def check_text(path: Path, text: str) -> list[str]:
    """White space and leftovers."""
    name = path.as_posix()
    wrong = []
    if "\r\n" in text:
        wrong.append(f"{path}: has CR LF line ends")
    if path.name not in TABS_ALLOWED and "\t" in text:
        wrong.append(f"{path}:{line_of(text, text.index(chr(9)))}: a tab")
    for match in re.finditer(r"[ \t]+$", text, re.MULTILINE):
        wrong.append(f"{path}:{line_of(text, match.start())}: white space at the end")
    if text and not text.endswith("\n"):
        wrong.append(f"{path}: no line end at the end of the file")
    for pattern, what, allowed in LEFTOVERS:
        if name.startswith(allowed):
            continue
        for match in re.finditer(pattern, text, re.MULTILINE):
            wrong.append(f"{path}:{line_of(text, match.start())}: {what}: {match.group().strip()}")
    return wrong


def check_links(root: Path, path: Path, text: str) -> list[str]:
    """Links of a document to files that are not there."""
    wrong = []
    prose = _CODE_BLOCK.sub(lambda block: "\n" * block.group().count("\n"), text)
    for match in _MD_LINK.finditer(prose):
        target = (match.group(1) or match.group(2)).split("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            continue
        if not (root / path.parent / target).exists():
            wrong.append(f"{path}:{line_of(prose, match.start())}: links to {target}, which is not there")
    return wrong


def check(root: Path) -> list[str]:
    """All that is wrong below `root`."""
    allowed = read_long(root)
    met: set[str] = set()
    wrong: list[str] = []
    for path in tree_files(root):
        wrong += check_name(path)
        if path.as_posix().startswith(RAW):
            continue
        text = text_of(root / path)
        if text is None:
            continue
        wrong += check_text(path, text)
        if path.suffix in SOURCES:
            found, names = check_lengths(path, text, allowed)
            wrong += found
            met |= names
        if path.suffix == ".md":
            wrong += check_links(root, path, text)
    return wrong + [f"{_HERE}long.txt: {name} is not there" for name in allowed if name not in met]


def main() -> int:
    """Prints what is wrong; the exit code says whether anything is."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2])
    wrong = check(root)
    print("\n".join(wrong) if wrong else "tree rules: all hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
