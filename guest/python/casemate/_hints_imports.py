"""Hints for ImportError and ModuleNotFoundError."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from casemate import _look
from casemate._hints_names import stdlib_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from casemate._failure import Failure

_ENTRIES_MAX = 5000
# What a package is called in an index, and what its module is called.
_MODULES = {
    "beautifulsoup4": "bs4", "scikit-learn": "sklearn", "scikit_learn": "sklearn", "opencv": "cv2",
    "opencv_python": "cv2", "pillow": "PIL", "Pillow": "PIL", "pyyaml": "yaml", "PyYAML": "yaml",
    "python_dateutil": "dateutil", "scikit_image": "skimage", "pycrypto": "Crypto", "pyserial": "serial",
    "msgpack_python": "msgpack", "attrs": "attr", "protobuf": "google.protobuf",
    "ConfigParser": "configparser", "Queue": "queue", "StringIO": "io", "cPickle": "pickle",
    "urllib2": "urllib.request", "Tkinter": "tkinter", "HTMLParser": "html.parser",
    "httplib": "http.client", "urlparse": "urllib.parse", "__builtin__": "builtins",
}  # fmt: skip
_NOTABLE = (
    "numpy", "pandas", "matplotlib", "scipy", "sklearn", "PIL", "openpyxl", "requests", "yaml", "bs4",
    "lxml", "sympy", "networkx", "seaborn", "statsmodels", "pyarrow", "polars", "duckdb", "sqlalchemy",
    "httpx", "aiohttp", "flask", "fastapi", "pydantic", "dateutil", "pytz", "tabulate", "tqdm", "cv2",
    "torch", "tensorflow", "nltk", "jinja2", "docx", "pptx", "reportlab", "pypdf", "plotly", "cryptography",
)  # fmt: skip
_installed: dict[str, str] = {}


def installed() -> dict[str, str]:
    """Module name to directory of everything that sys.path holds, read once."""
    if not _installed:
        count = 0
        for directory in list(sys.path)[:50]:
            if type(directory) is not str:
                continue
            try:
                with os.scandir(directory or ".") as entries:
                    for entry in entries:
                        count += 1
                        if count > _ENTRIES_MAX:
                            return _installed
                        name, dot, extension = entry.name.partition(".")
                        if (
                            name.isidentifier()
                            and name != "__pycache__"
                            and (
                                (not dot and entry.is_dir() and _is_package(entry.path))
                                or extension == "py"
                                or extension.endswith("so")
                            )
                        ):
                            _installed.setdefault(name, directory)
            except OSError:
                continue
    return _installed


def _is_package(path: str) -> bool:
    # Directories of data lie on the path too, above all in /work; a package has Python in it.
    try:
        return any(name.endswith((".py", ".so")) for name in os.listdir(path)[:200])
    except OSError:
        return False


def missing(failure: Failure) -> Iterator[str]:
    """ModuleNotFoundError, and ImportError of a name that a module does not have."""
    name = failure.own("name")
    if type(name) is not str or not name:
        return
    if failure.derives(ModuleNotFoundError):
        yield from _module(failure, name)
    else:
        yield from _import_from(failure, name)


def _module(failure: Failure, name: str) -> Iterator[str]:
    top, _, rest = name.partition(".")
    if rest and top in sys.modules:
        parent = name.rpartition(".")[0]
        yield from _submodule(parent, name.rpartition(".")[2])
        return
    known = installed()
    real = _MODULES.get(top, "")
    if real and (
        real.partition(".")[0] in known or real.partition(".")[0] in stdlib_names()
    ):
        yield f"did you mean {real!r}? (that is what the module of {top} is called)"
    elif real:
        yield f"the module of {top} is called {real}, and is not in this image either"
    candidates = {
        *known,
        *(other for other in stdlib_names() if not other.startswith("_")),
        *sys.builtin_module_names,
    }
    for candidate in _look.near(top, sorted(candidates)):
        yield f"did you mean {candidate!r}?"
    present = [other for other in _NOTABLE if other in known]
    listing = f"; of the well-known ones it has {', '.join(present)}" if present else ""
    yield (
        f"this image has no module {_look.one_line(top, 80)!r}{listing}. The standard library is there,"
        " nothing can be installed in a run, an operator adds packages to the image"
    )


def _submodule(parent: str, name: str) -> Iterator[str]:
    module = sys.modules.get(parent)
    paths = module.__dict__.get("__path__") if type(module) is ModuleType else None
    if paths is None:
        yield f"{parent!r} is a module, not a package: it has no submodules"
        if type(module) is ModuleType and name in module.__dict__:
            yield f'did you forget "from {parent} import {name}"?'
        return
    names: set[str] = set()
    for path in list(paths)[:4]:
        try:
            names.update(
                entry.partition(".")[0] for entry in os.listdir(path)[:_ENTRIES_MAX]
            )
        except (OSError, TypeError):
            continue
    near = _look.near(name, sorted(other for other in names if other.isidentifier()))
    for candidate in near:
        yield f"did you mean '{parent}.{candidate}'?"
    if not near:
        public = sorted(
            other
            for other in names
            if other.isidentifier() and not other.startswith("_")
        )
        yield f"{parent} has the modules: {_look.show_names(public)}"


def _import_from(failure: Failure, module_name: str) -> Iterator[str]:
    wanted = failure.own("name_from")  # since 3.12
    if type(wanted) is not str:
        wanted = (
            failure.message.split("'")[1] if failure.message.count("'") >= 2 else ""
        )
    module = sys.modules.get(module_name)
    if not wanted or type(module) is not ModuleType:
        return
    space = module.__dict__
    file = space.get("__file__")
    if (
        type(file) is str
        and module_name in stdlib_names()
        and file.startswith(("/work/", "/vol/"))
    ):
        yield f"your own file {file} hides the standard library's module {module_name!r}; rename it"
    if (
        "circular import" in failure.message
        or "partially initialized" in failure.message
    ):
        yield (
            f"{module_name} imports, directly or not, the module that is importing from it; move one of the"
            " two imports into a function"
        )
    moved = _where(module_name, wanted)
    if moved:
        yield f"did you mean 'from {moved} import {wanted}'?"
    for candidate in _look.near(
        wanted, [other for other in space if type(other) is str]
    ):
        yield f"did you mean {candidate!r}?"


def _where(module_name: str, wanted: str) -> str:
    """The module that has the name: what it moved to, a submodule, or another that is loaded."""
    if module_name == "collections" and wanted in vars(
        sys.modules["_collections_abc"]
    ).get("__all__", ()):
        return "collections.abc"  # Loaded by every start under its inner name.
    prefix = module_name + "."
    places = sorted(
        other
        for other in list(sys.modules)
        if type(other) is str and other.startswith(prefix)
    )
    places += [
        other
        for other in (
            "collections",
            "itertools",
            "functools",
            "math",
            "typing",
            "datetime",
            "os.path",
            "json",
        )
        if other != module_name
    ]
    for place in places:
        module = sys.modules.get(place)
        if (
            type(module) is ModuleType
            and wanted in module.__dict__
            and place != module_name
        ):
            return place
    return ""
