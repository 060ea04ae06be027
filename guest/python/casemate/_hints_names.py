"""Hints for NameError, UnboundLocalError and AttributeError."""

from __future__ import annotations

import _ast
import sys
from types import ModuleType

from casemate import _look
from casemate._failure import text_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from casemate._failure import Failure

# Names that programs use as if imported, and the line that imports them.
_IMPORTS = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "mp": "import multiprocessing as mp",
    "ET": "import xml.etree.ElementTree as ET",
    "sp": "import scipy as sp",
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "Path": "from pathlib import Path",
    "Counter": "from collections import Counter",
    "OrderedDict": "from collections import OrderedDict",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "namedtuple": "from collections import namedtuple",
    "dataclass": "from dataclasses import dataclass",
    "field": "from dataclasses import field",
    "asdict": "from dataclasses import asdict",
    "timedelta": "from datetime import timedelta",
    "date": "from datetime import date",
    "timezone": "from datetime import timezone",
    "datetime": "from datetime import datetime",
    "reduce": "from functools import reduce",
    "partial": "from functools import partial",
    "lru_cache": "from functools import lru_cache",
    "wraps": "from functools import wraps",
    "chain": "from itertools import chain",
    "combinations": "from itertools import combinations",
    "permutations": "from itertools import permutations",
    "product": "from itertools import product",
    "groupby": "from itertools import groupby",
    "accumulate": "from itertools import accumulate",
    "islice": "from itertools import islice",
    "sqrt": "from math import sqrt",
    "ceil": "from math import ceil",
    "floor": "from math import floor",
    "pi": "from math import pi",
    "randint": "from random import randint",
    "sleep": "from time import sleep",
    "Enum": "from enum import Enum",
    "ABC": "from abc import ABC",
    "abstractmethod": "from abc import abstractmethod",
    "contextmanager": "from contextlib import contextmanager",
    "StringIO": "from io import StringIO",
    "BytesIO": "from io import BytesIO",
    "heappush": "from heapq import heappush",
    "heappop": "from heapq import heappop",
    "ThreadPoolExecutor": "from concurrent.futures import ThreadPoolExecutor",
    "ProcessPoolExecutor": "from concurrent.futures import ProcessPoolExecutor",
    "pprint": "from pprint import pprint",
    "deepcopy": "from copy import deepcopy",
    "itemgetter": "from operator import itemgetter",
    "mean": "from statistics import mean",
    "median": "from statistics import median",
    "artifact": "from casemate import artifact",
}
_IMPORTS.update(
    (name, f"from typing import {name}")
    for name in (
        "Any",
        "Callable",
        "Dict",
        "Iterable",
        "Iterator",
        "List",
        "Optional",
        "Set",
        "Tuple",
        "Union",
    )
)
# What other languages, or Python 2, call it.
_FOREIGN = {
    "true": "True", "false": "False", "null": "None", "none": "None", "nil": "None", "undefined": "None",
    "raw_input": "input", "unicode": "str", "xrange": "range", "unichr": "chr", "long": "int",
    "nan": "float('nan')", "NaN": "float('nan')", "inf": "float('inf')", "Infinity": "float('inf')",
}  # fmt: skip
# Attributes of other languages or versions, by the class that does not have them.
_ATTRIBUTES = {
    ("list", "push"): "append", ("list", "add"): "append", ("list", "length"): "len(...)",
    ("list", "size"): "len(...)", ("list", "map"): "[f(x) for x in ...]",
    ("list", "join"): "', '.join(...)", ("list", "contains"): "in", ("list", "indexOf"): "index",
    ("list", "len"): "len(...)", ("str", "length"): "len(...)", ("str", "contains"): "in",
    ("str", "decode"): "a str is text already; bytes have decode()",
    ("bytes", "encode"): "bytes are encoded already; decode() gives a str", ("str", "toLowerCase"): "lower",
    ("str", "toUpperCase"): "upper", ("str", "trim"): "strip", ("str", "substring"): "[start:end]",
    ("str", "isnumber"): "isnumeric", ("str", "append"): "+=", ("str", "push"): "+=",
    ("str", "includes"): "in", ("dict", "has_key"): "in", ("dict", "iteritems"): "items",
    ("dict", "itervalues"): "values", ("dict", "iterkeys"): "keys", ("dict", "add"): "[key] = value",
    ("dict", "append"): "[key] = value", ("dict", "length"): "len(...)", ("set", "append"): "add",
    ("set", "push"): "add", ("set", "length"): "len(...)",
    ("tuple", "append"): "a tuple cannot change; make it a list", ("int", "length"): "len(str(...))",
    ("DataFrame", "append"): "pandas.concat([...])", ("Series", "append"): "pandas.concat([...])",
    ("DataFrame", "ix"): "loc or iloc", ("DataFrame", "iteritems"): "items",
    ("Series", "iteritems"): "items",
}  # fmt: skip
# Methods and functions of the standard library that change something and return None.
_RETURN_NONE = {
    "append", "extend", "insert", "remove", "clear", "sort", "reverse", "update", "add", "discard",
    "shuffle", "print", "write_text",
}  # fmt: skip


def names(failure: Failure) -> Iterator[str]:
    """NameError, UnboundLocalError and AttributeError."""
    name = failure.own("name")
    if type(name) is not str:
        # Before 3.10 the name is in the message alone: between the last quotes.
        parts = failure.message.split("'")
        name = (
            parts[1]
            if failure.derives(NameError) and len(parts) > 2
            else parts[-2]
            if len(parts) > 2
            else ""
        )
    if not name:
        return
    if failure.derives(AttributeError):
        yield from _attribute(failure, name)
    elif failure.derives(UnboundLocalError) or "free variable" in failure.message:
        yield from _unbound(failure, name)
    else:
        yield from _name(failure, name)


def stdlib_names() -> frozenset[str]:
    """The modules of the standard library; before 3.10 only those built into the interpreter."""
    return getattr(sys, "stdlib_module_names", None) or frozenset(
        sys.builtin_module_names
    )


def _name(failure: Failure, name: str) -> Iterator[str]:
    scope = failure.scope
    if name in _FOREIGN:
        yield f"did you mean {_FOREIGN[name]!r}? (Python's word for {name})"
    later = _defined_later(failure, name)
    if later:
        yield (
            f"{name!r} is defined at line {later}, after this line runs; move the definition up, or this line"
            " down"
        )
    owner = scope.locals.get("self")
    attributes = _look.attribute_names(owner) if owner is not None else []
    if name in attributes:
        yield f"did you mean 'self.{name}'? (the object has an attribute of that name)"
    if name in _IMPORTS:
        yield f'did you forget "{_IMPORTS[name]}"?'
    elif name in stdlib_names() and not name.startswith("_"):
        yield f'did you forget "import {name}"?'
    elif not later:
        known = scope.names()
        for candidate in _look.near(
            name, [other for other in known if not other.startswith("__")]
        ):
            yield f"did you mean {candidate!r}?"
        for candidate in _look.near(
            name, [other for other in attributes if not other.startswith("_")]
        )[:1]:
            yield f"did you mean 'self.{candidate}'?"
        if name in sys.modules or _is_installed(name):
            yield f'did you forget "import {name}"?'
        elif name in _modules_below():
            yield f'did you forget "{_modules_below()[name]}"?'


def _is_installed(name: str) -> bool:
    from casemate._hints_imports import installed

    return name in installed()


def _modules_below() -> dict[str, str]:
    """Names in modules that the program has imported as wholes: `sleep` after `import time`."""
    found: dict[str, str] = {}
    main = sys.modules.get("__main__")
    for name, value in list(vars(main).items()) if type(main) is ModuleType else ():
        if type(value) is ModuleType and type(name) is str:
            for inner in list(value.__dict__)[:2000]:
                if type(inner) is str and not inner.startswith("_"):
                    found.setdefault(inner, f"from {value.__name__} import {inner}")
    return found


def _defined_later(failure: Failure, name: str) -> int:
    tree = failure.tree(failure.entry.path) if failure.entry is not None else None
    if tree is None or failure.entry is None:
        return 0
    for node in walk(tree):
        if (
            isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef))
            and node.name == name
        ):
            # The outermost line of the user's program is what runs too early.
            if node.col_offset == 0 and node.lineno > failure.trace.entries[0].line:
                return node.lineno
    return 0


def _unbound(failure: Failure, name: str) -> Iterator[str]:
    assigned = failure.assignments(name)
    function = failure.function()
    where = (
        function.name
        if isinstance(function, (_ast.FunctionDef, _ast.AsyncFunctionDef))
        else "the function"
    )
    line = assigned[0][0] if assigned else _augmented(function, name)
    if line:
        yield f"{name!r} is assigned in {where} (line {line}), which makes it local to all of {where}"
    if name in failure.scope.globals:
        yield (
            f'did you forget "global {name}"? ({name} of the module is'
            f" {_look.show(failure.scope.globals[name], 60)})"
        )
    elif line:
        yield f"on this path nothing was assigned to {name!r} before it is read; give it a value first"


def _augmented(function: Optional[_ast.AST], name: str) -> int:
    for node in walk(function) if function is not None else ():
        if (
            isinstance(node, (_ast.AugAssign, _ast.For))
            and isinstance(node.target, _ast.Name)
            and node.target.id == name
        ):
            return node.lineno
    return 0


def _attribute(failure: Failure, name: str) -> Iterator[str]:
    node, owner = _owner(failure, name)
    text = text_of(node) if node is not None else ""
    if owner is _look.MISSING:
        return
    if owner is None:
        yield from _none(failure, node, text)
        return
    foreign = _ATTRIBUTES.get((_look.type_name(owner), name))
    if foreign:
        yield (
            f"did you mean {foreign!r}?"
            if foreign.isidentifier() and foreign != "in"
            else f"instead of .{name}: {foreign}"
        )
    if type(owner) is ModuleType:
        yield from _module_attribute(owner, name, text)
    elif _look.derives(owner, type):
        yield from _class_attribute(owner, name, text)
    if not foreign:
        known = [
            other
            for other in _look.attribute_names(owner)
            if name.startswith("_") or not other.startswith("_")
        ]
        if (
            _look.type_name(owner) in ("DataFrame", "Series")
            and "pandas" in sys.modules
        ):
            known += [column for column in _columns(owner) if column not in known]
        near = _look.near(name, known)
        for candidate in near:
            yield f"did you mean {candidate!r}?"
        if not near and known and _look.instance_dict(owner):
            own = [other for other in known if other in _look.instance_dict(owner)]
            if own and type(owner) is not ModuleType:
                yield (
                    f"{text or 'the object'} ({_look.type_name(owner)}) has the attributes:"
                    f" {_look.show_names(own)}"
                )


def _owner(failure: Failure, name: str) -> tuple[Optional[_ast.AST], Any]:
    """The expression before the dot, and its value where that is known; else _MISSING."""
    found: Optional[_ast.AST] = None
    for node in failure.nodes():
        if isinstance(node, _ast.Attribute) and node.attr == name:
            found = node.value
            break
    if "obj" in _look.dict_of(AttributeError):
        # Since 3.10 the exception holds it.
        owner = failure.own("obj")
        if owner is not None or "'NoneType' object" in failure.message:
            return found, owner
    if found is not None:
        try:
            return found, failure.value(found)
        except _look.Unknown:
            pass
    return found, None if "'NoneType' object" in failure.message else _look.MISSING


def _columns(owner: Any) -> list[str]:
    try:
        return [column for column in list(owner.columns)[:1000] if type(column) is str]
    except Exception:
        return []


def _none(failure: Failure, node: Optional[_ast.AST], text: str) -> Iterator[str]:
    if text:
        yield f"{text} is None here"
    yield from none_from(failure, node)


def none_from(failure: Failure, node: Optional[_ast.AST]) -> Iterator[str]:
    """Where a None came from: the last assignment above, or the call itself."""
    value, line = node, 0
    if isinstance(node, _ast.Name) and failure.entry is not None:
        above = [
            pair
            for pair in failure.assignments(node.id)
            if pair[0] <= failure.entry.line
        ]
        if not above:
            return
        line, value = above[-1]
    if not isinstance(value, _ast.Call):
        return
    called = (
        value.func.attr
        if isinstance(value.func, _ast.Attribute)
        else value.func.id
        if isinstance(value.func, _ast.Name)
        else ""
    )
    told = text_of(value) or f"{called}(...)"
    at = f" at line {line}" if line else ""
    if called in _RETURN_NONE:
        yield f"{told}{at} changes its object and returns None; do not assign what it returns"
    elif called in ("match", "search", "fullmatch", "get", "find"):
        yield f"{told}{at} gives None where nothing is found; test for that first"
    elif called:
        yield f"{told}{at} returned None; does every path of {called} return a value?"


def _module_attribute(module: ModuleType, name: str, text: str) -> Iterator[str]:
    space = _look.module_dict(module)
    title = space.get("__name__")
    if type(title) is not str:
        return
    file = space.get("__file__")
    short = title.rpartition(".")[2]
    if (
        type(file) is str
        and short in stdlib_names()
        and file.startswith(("/work/", "/vol/"))
    ):
        yield f"your own file {file} hides the standard library's module {short!r}; rename it"
    same = space.get(short)
    if (
        _look.derives(same, type)
        and isinstance(same, type)
        and _look.hasattr_static(same, name)
    ):
        # `import datetime; datetime.now()`
        yield (
            f"did you mean '{text or title}.{short}.{name}'? ({title} is the module here; {title}.{short} is"
            " the class)"
        )
    for inner, value in list(space.items())[:500]:
        if type(value) is ModuleType and type(inner) is str and name in value.__dict__:
            yield f"did you mean '{text or title}.{inner}.{name}'?"
            break
    if f"{title}.{name}" in sys.modules or _is_submodule(space, name):
        yield f'did you forget "import {title}.{name}"? (a submodule is not imported with its package)'


def _is_submodule(space: dict[str, Any], name: str) -> bool:
    import os

    paths = space.get("__path__")
    for path in list(paths)[:4] if type(paths) is list else ():
        if type(path) is str and (
            os.path.isfile(f"{path}/{name}.py") or os.path.isdir(f"{path}/{name}")
        ):
            return True
    return False


def _class_attribute(owner: Any, name: str, text: str) -> Iterator[str]:
    """`from datetime import datetime; datetime.timedelta(...)`: in the module, not in the class."""
    module = sys.modules.get(_look.module_of(owner))
    if (
        type(module) is ModuleType
        and name in module.__dict__
        and module.__name__ not in ("builtins", "__main__")
    ):
        yield (
            f"{text or _look.class_name(owner)} is a class here; {name!r} is in its module: from"
            f" {module.__name__} import {name}"
        )
        yield f'did you forget "from {module.__name__} import {name}"?'
