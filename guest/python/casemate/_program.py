"""Turns the submitted bytes into code, and tells the last expression from what comes before it.

The source is never changed. When the program ends in an expression, it becomes two code objects:
all lines before, and the expression, which keeps its line and column. If both parts compile, the
cut lies between two statements by construction: a compiler that was within a string or a bracket
at the cut would have refused the first part.

This module must not import anything from __future__: exec() and eval() of text inherit the
compiler flags of the function that calls them.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable, List, Optional, Tuple

    Loaded = Tuple[Optional[CodeType], Optional[CodeType]]

# Python versions on which _grasp() is tested; elsewhere compile() does the same for more faults.
_GRASP_VERSIONS = ((3, 9), (3, 10), (3, 11), (3, 12), (3, 13))
# How many places are tried for the start of the last expression. Where the expression holds a text
# whose own lines look like statements, none of them may do, and the syntax tree is asked.
_CUTS_MAX = 3
# A line that begins so is no expression, nor are the lines before it the start of one, unless it
# is within such a text.
_STATEMENTS = (
    b"def ",
    b"class ",
    b"if ",
    b"for ",
    b"while ",
    b"with ",
    b"try:",
    b"from ",
    b"import ",
    b"@",
    b"async ",
)
# What a line cannot begin with if a statement begins there: blanks, comments, closing brackets.
# The empty slice at the end of the text counts as one, since b"" is in every bytes object.
_NOT_A_START = b" \t\n\r\f#)]}\\"
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_BARRY = 0x400000  # the one __future__ flag that changes what an expression means


_pop_top = -1  # the number of that opcode, once it is known


class _Grasped(BaseException):
    """Thrown into a module's frame before its first instruction."""


def load(source: bytes, path: str) -> "Loaded":
    """Code for all but the last expression, and code for that expression; None where there is none.

    Raises what the compiler raises for the whole source: SyntaxError, and ValueError,
    MemoryError, RecursionError or OverflowError for odd ones, always with `path` as the file.
    """
    loaded = _load_quickly(source, path)
    if loaded is not None:
        return loaded
    # Something is unusual, mostly an error or a warning of the compiler: let compile() tell it,
    # with the right file name.
    code = compile(source, path, "exec", dont_inherit=True)
    if _may_end_in_expression(code):
        return _load_by_tree(source, path, code)
    return code, None


def _load_quickly(source: bytes, path: str) -> "Optional[Loaded]":
    # A cookie applies to the first part alone, and carriage returns make lines that we do not count.
    if not _can_grasp() or b"\r" in source or b"coding" in source[:512]:
        return None
    # A SyntaxWarning of this attempt would name the wrong file; as an error it ends the attempt.
    from _warnings import filters  # type: ignore[attr-defined]

    always = ("error", None, SyntaxWarning, None, 0)
    filters.insert(0, always)
    try:
        cut = len(source)
        for _ in range(_CUTS_MAX):
            cut = _line_before(source, cut)
            if cut < 0 or source.startswith(_STATEMENTS, cut) or _assigns(source, cut):
                break
            try:
                value = _grasp(
                    eval, b"\n" * source.count(b"\n", 0, cut) + source[cut:], path
                )
                code = _grasp(exec, source[:cut], path) if cut else None
            except _REFUSALS:
                continue
            return (
                None if code is not None and code.co_flags & _BARRY else (code, value)
            )
        code = _grasp(exec, source, path)
    except _REFUSALS:
        return None
    finally:
        filters.remove(always)
    return None if _may_end_in_expression(code) else (code, None)


_REFUSALS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)


def _can_grasp() -> bool:
    return sys.version_info[:2] in _GRASP_VERSIONS


def _line_before(source: bytes, cut: int) -> int:
    """Where the last line before `cut` begins that could begin a statement; -1 if none does."""
    while cut > 0:
        cut = source.rfind(b"\n", 0, cut - 1) + 1
        if source[cut : cut + 1] not in _NOT_A_START:
            return cut
    return -1


def _assigns(source: bytes, cut: int) -> bool:
    """Whether `name.name = value` begins there and not within a text, which would have to end after
    it: no expression then, and to let the compiler refuse it takes longer than the whole rest."""
    rest = source[cut:]
    if b"\'\'\'" in rest or b'"""' in rest or source.endswith(b"\\\n", 0, cut):
        return False
    target, equals, value = rest.partition(b"=")
    name = target.rstrip(b" ").replace(b".", b"").replace(b"_", b"")
    return name.isalnum() and equals != b"" and value[:1] != b"="


def _grasp(run: "Callable[..., Any]", source: bytes, path: str) -> "CodeType":
    """Compiles as compile() does, for 44 page faults less (on 3.11: 1071 for a bare start).

    The builtin compile() first makes the classes of the _ast module, just to see whether it was
    given a tree. exec() and eval() do not, but run what they compiled; so a profile function takes
    the code from the new frame and stops it before its first instruction. In a slot the zygote has
    made those classes, and compile() is the quicker way.
    """
    if "_ast" in sys.modules:
        kind = "eval" if run is eval else "exec"
        compiled: "CodeType" = compile(source, path, kind, dont_inherit=True)
        return compiled
    from _imp import _fix_co_filename  # type: ignore[attr-defined]

    held: "List[CodeType]" = []

    def on_event(frame: "FrameType", event: str, _argument: object) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_name == "<module>"
            and code.co_filename == "<string>"
        ):
            sys.setprofile(None)
            held.append(code)
            raise _Grasped

    sys.setprofile(on_event)
    try:
        run(source, {})
    except _Grasped:
        pass
    finally:
        sys.setprofile(None)
    _fix_co_filename(held[0], path)
    return held[0]


def _may_end_in_expression(code: "CodeType") -> bool:
    """True for all code whose last statement is an expression with a value, and for little else.

    Such code ends in POP_TOP, then the return of None: one instruction since 3.12, before it two,
    of which the first may have one prefix for a large argument.
    """
    global _pop_top
    if _pop_top < 0:
        sample = _grasp(exec, b"f()", "") if _can_grasp() else compile("f()", "", "exec")
        _pop_top = sample.co_code[-4 if sys.version_info >= (3, 12) else -6]
    tail = 4 if sys.version_info >= (3, 12) else 6
    return _pop_top in code.co_code[-tail - 2 : -tail + 1 : 2]


def _load_by_tree(source: bytes, path: str, code: "CodeType") -> "Loaded":
    """The same through the syntax tree, which is slower but sees `x = 5; x`."""
    from _ast import Expr, Expression
    from _warnings import filters  # type: ignore[attr-defined]

    # As in notebooks, a semicolon at the end says that the value is not wanted.
    if source.rstrip().endswith(b";"):
        return code, None
    told = ("ignore", None, Warning, None, 0)  # The warnings came when `code` was made.
    filters.insert(0, told)
    try:
        tree: "Any" = compile(source, path, "exec", _ONLY_AST, dont_inherit=True)
        if not tree.body or not isinstance(tree.body[-1], Expr):
            return code, None
        last = tree.body.pop()
        flags = code.co_flags & _BARRY
        value = compile(Expression(last.value), path, "eval", flags, dont_inherit=True)
        return compile(tree, path, "exec", dont_inherit=True), value
    except _REFUSALS:
        return code, None  # A tree too deep to walk, though its code is fine.
    finally:
        filters.remove(told)
