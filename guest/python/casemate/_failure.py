"""What the hints ask about a failure: its frames, the syntax around it, and values that are safe."""

from __future__ import annotations

import _ast
from _warnings import filters  # type: ignore[attr-defined]

from casemate import _look, _render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from casemate._frames import Entry, Sources, Trace

_ONLY_AST = 0x400
_TREE_MAX = 256 << 10  # characters of source whose tree is made
_NODES_MAX = 200_000
_TEXT_MAX = 80


def walk(node: _ast.AST) -> Iterator[_ast.AST]:
    """The node and all below it, parents first; without the ast module, which is slow to import."""
    waiting: list[_ast.AST] = [node]
    count = 0
    while waiting and count < _NODES_MAX:
        current = waiting.pop()
        count += 1
        yield current
        below: list[_ast.AST] = []
        for name in current._fields:
            value = getattr(current, name, None)
            if isinstance(value, _ast.AST):
                below.append(value)
            elif isinstance(value, list):
                below += [element for element in value if isinstance(element, _ast.AST)]
        waiting += reversed(below)


def text_of(node: _ast.AST) -> str:
    """A short expression as text; "" for one that is not short. Positions within f-strings lie
    before 3.12, so the source is not cut instead."""
    text = _text(node)
    return text if len(text) <= _TEXT_MAX and "\n" not in text else ""


def _text(node: _ast.AST) -> str:
    if isinstance(node, _ast.Name):
        return node.id
    if isinstance(node, _ast.Constant):
        return _look.show(node.value, _TEXT_MAX)
    if isinstance(node, _ast.Attribute):
        owner = _text(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    if isinstance(node, _ast.Subscript):
        owner, index = _text(node.value), _text(_look.index_of(node))
        return f"{owner}[{index}]" if owner and index else ""
    if isinstance(node, _ast.Call):
        function = _text(node.func)
        arguments = [_text(argument) for argument in node.args]
        if not function:
            return ""
        return (
            f"{function}({', '.join(arguments)})"
            if all(arguments) and not node.keywords
            else f"{function}(...)"
        )
    if isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub):
        return f"-{_text(node.operand)}"
    if isinstance(node, _ast.BinOp):
        sign = {
            _ast.Add: "+",
            _ast.Sub: "-",
            _ast.Mult: "*",
            _ast.Div: "/",
            _ast.Mod: "%",
        }.get(type(node.op))
        left, right = _text(node.left), _text(node.right)
        return f"{left} {sign} {right}" if sign and left and right else ""
    return ""


class Failure:
    """One uncaught exception, as the hints see it."""

    def __init__(
        self, error: BaseException, message: str, trace: Trace, sources: Sources
    ) -> None:
        self.error = error
        self.kind = type(error)
        self.message = message
        self.trace = trace
        self.sources = sources
        self.entry: Optional[Entry] = trace.entries[-1] if trace.entries else None
        self._scope: Optional[_look.Scope] = None
        self._trees: dict[str, Optional[_ast.AST]] = {}

    def derives(self, *kinds: type) -> bool:
        """Whether the exception is of one of these classes, or of one derived from them."""
        return any(_look.derives(self.error, kind) for kind in kinds)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """error.args, from BaseException itself."""
        found = _render.slot(self.error, "args")
        return found if type(found) is tuple else ()

    def own(self, name: str) -> Any:
        """An attribute of the exception that a builtin class or the instance holds; None if none."""
        for base in _look.mro_of(self.kind):
            if base.__module__ == "builtins" and name in _look.dict_of(base):
                try:
                    return _look.dict_of(base)[name].__get__(self.error)
                except Exception:
                    return None
        return _look.instance_dict(self.error).get(name)

    @property
    def raised_here(self) -> bool:
        """True when the innermost frame is the user's: no library stands between."""
        return self.entry is not None and self.entry.hidden_after == 0

    @property
    def scope(self) -> _look.Scope:
        """The names of the innermost user frame."""
        if self._scope is None:
            if self.entry is None:
                raise _look.Unknown
            self._scope = _look.Scope(self.entry.frame)
        return self._scope

    def value(self, node: _ast.AST) -> Any:
        """What an expression of that frame is worth. Raises Unknown."""
        return self.scope.value(node)

    def tree(self, path: str) -> Optional[_ast.AST]:
        """The syntax tree of a user's file; None when it is too large or no Python."""
        if path not in self._trees:
            self._trees[path] = None
            text = self.sources.text(path)
            if 0 < len(text) <= _TREE_MAX:
                quiet = ("ignore", None, Warning, None, 0)
                filters.insert(0, quiet)
                try:
                    tree: Any = compile(
                        text, path, "exec", _ONLY_AST, dont_inherit=True
                    )
                    self._trees[path] = tree
                except (SyntaxError, ValueError, MemoryError, RecursionError):
                    pass
                finally:
                    filters.remove(quiet)
        return self._trees[path]

    def nodes(self) -> list[_ast.AST]:
        """What may have failed, the likeliest first: the expression at the failing instruction and
        those in it; without positions (before 3.11), all of the statement on the failing line.
        """
        if self.entry is None:
            return []
        tree = self.tree(self.entry.path)
        if tree is None:
            return []
        exact = self._exact(tree)
        if isinstance(exact, _ast.expr):
            return list(walk(exact))
        statement = exact or self.statement()
        if statement is None:
            return []
        # The innermost first: `a[b[0]]` fails in b before it does in a.
        return [
            node
            for node in reversed(list(walk(statement)))
            if node not in self._bodies(statement)
        ]

    def _exact(self, tree: _ast.AST) -> Optional[_ast.AST]:
        entry = self.entry
        if entry is None or entry.column < 0:
            return None
        wanted = (entry.line, entry.column, entry.end_line, entry.end_column)
        found: Optional[_ast.AST] = None
        for node in walk(tree):
            if isinstance(node, (_ast.expr, _ast.stmt)):
                place = (
                    node.lineno,
                    node.col_offset,
                    node.end_lineno,
                    node.end_col_offset,
                )
                # `f(x)` is a statement and its expression; the expression says more.
                if place == wanted and (found is None or isinstance(node, _ast.expr)):
                    found = node
                    if isinstance(node, _ast.expr):
                        break
        return found

    def _bodies(self, statement: _ast.AST) -> set[_ast.AST]:
        """All nodes of the blocks within a compound statement: what failed is in its head."""
        inside: set[_ast.AST] = set()
        for name in ("body", "orelse", "handlers", "finalbody"):
            block = getattr(statement, name, None)
            for node in block if isinstance(block, list) else ():
                inside.update(walk(node))
        return inside

    def statement(self, *kinds: type) -> Optional[_ast.stmt]:
        """The innermost statement (of these kinds, if any are given) that spans the failing line."""
        best: Optional[_ast.stmt] = None
        tree = self.tree(self.entry.path) if self.entry is not None else None
        if tree is None or self.entry is None:
            return None
        for node in walk(tree):
            if isinstance(node, _ast.stmt) and (not kinds or isinstance(node, kinds)):
                if node.lineno <= self.entry.line <= (node.end_lineno or 0):
                    best = node
        return best

    def function(self) -> Optional[_ast.AST]:
        """The innermost function (or else the module) that holds the failing line."""
        best = tree = self.tree(self.entry.path) if self.entry is not None else None
        if tree is None or self.entry is None:
            return None
        for node in walk(tree):
            if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef)):
                if node.lineno <= self.entry.line <= (node.end_lineno or 0):
                    best = node
        return best

    def assignments(self, name: str) -> list[tuple[int, _ast.AST]]:
        """(line, value) of `name = value` in the failing function or module, in order of lines."""
        found: list[tuple[int, _ast.AST]] = []
        function = self.function()
        for node in walk(function) if function is not None else ():
            if isinstance(node, _ast.Assign):
                targets, value = node.targets, node.value
            elif (
                isinstance(node, (_ast.AnnAssign, _ast.NamedExpr))
                and node.value is not None
            ):
                targets, value = [node.target], node.value
            else:
                continue
            if any(
                isinstance(target, _ast.Name) and target.id == name
                for target in targets
            ):
                found.append((node.lineno, value))
        return sorted(found, key=lambda pair: pair[0])
