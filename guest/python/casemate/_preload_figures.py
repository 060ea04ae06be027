"""Imports matplotlib in a zygote, which has no place of its own to write to.

matplotlib settles its configuration directory when it is imported and, where that is not writable,
makes another for good. But the directory that MPLCONFIGDIR names will be there in every slot; so
while matplotlib is imported here, it is told that it is.
"""

import os
import pathlib
import sys
from contextlib import suppress

from casemate import _figures, _runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load() -> None:
    """Imports pyplot with Agg, watched as in a cold run, and the image's list of its fonts."""
    sys.meta_path.insert(0, _runner.FigureWatch())  # type: ignore[arg-type]
    access, mkdir, is_dir = os.access, pathlib.Path.mkdir, pathlib.Path.is_dir
    promised = os.path.realpath(os.environ.get("MPLCONFIGDIR", ""))

    def with_promised(asked: "Any", otherwise: "Any") -> "Any":
        def answer(path: "Any", *rest: "Any", **options: "Any") -> "Any":
            return str(path) == promised and asked or otherwise(path, *rest, **options)

        return answer

    os.access = with_promised(True, access)
    pathlib.Path.mkdir = with_promised(True, mkdir)  # type: ignore
    pathlib.Path.is_dir = with_promised(True, is_dir)  # type: ignore
    try:
        import matplotlib

        matplotlib.get_configdir()
        own = matplotlib.get_cachedir
        own()
    finally:
        os.access = access
        pathlib.Path.mkdir = mkdir  # type: ignore
        pathlib.Path.is_dir = is_dir  # type: ignore
    # Without a list in the image it is made here, once for all slots, and cannot be kept.
    from matplotlib import cbook

    lock = cbook._lock_path
    cbook._lock_path = lambda _path: suppress(OSError)
    if os.path.isdir(_figures.FONT_LISTS):
        matplotlib.get_cachedir = lambda: _figures.FONT_LISTS
    __import__("matplotlib.backends.backend_agg")
    __import__("matplotlib.pyplot")
    matplotlib.get_cachedir, cbook._lock_path = own, lock
