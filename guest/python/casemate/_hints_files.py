"""Hints for OSError: what is there instead of the missing file, and what the box does not have."""

from __future__ import annotations

import errno
import os

from casemate import _look, _render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from casemate._failure import Failure

_ENTRIES_MAX = 2000
_SEARCH_MAX = 3000  # entries that are looked at beneath the working directory
_UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


def system(failure: Failure) -> Iterator[str]:
    """OSError by its errno, and EOFError. Limits (ENOSPC, EFBIG, EMFILE, EAGAIN) are the host's to
    explain: it knows their ceilings."""
    if failure.derives(EOFError):
        if "reading a line" in failure.message:
            yield (
                "stdin is empty or at its end: a run has no one to ask; put the value into the program, its"
                " arguments or stdin"
            )
        return
    path = failure.own("filename")
    if type(path) is bytes:
        path = os.fsdecode(path)
    if failure.derives(FileNotFoundError) and type(path) is str:
        yield from _missing(failure, path)
    elif failure.derives(NotADirectoryError) and type(path) is str:
        yield f"a parent of {path!r} is a file: {_first_file(path)!r}"
    elif failure.derives(IsADirectoryError) and type(path) is str:
        yield f"{path!r} is a directory; it holds: {_look.show_names(_listing(path))}"
    elif failure.derives(FileExistsError) and type(path) is str:
        yield f"{path!r} exists already; for a directory, os.makedirs({path!r}, exist_ok=True) accepts that"
    elif failure.derives(PermissionError) or failure.own("errno") == errno.EROFS:
        yield (
            "a program can write beneath /work (its working directory), $HOME and $TMPDIR; everything else is"
            " read-only"
        )
    yield from network(failure)


def network(failure: Failure) -> Iterator[str]:
    """For any exception that a missing network is at the bottom of."""
    for error in _chain(failure.error):
        name = _look.type_name(error)
        number = _errno(error)
        if number in _UNREACHABLE or name == "gaierror":
            yield (
                "this box has no network, or none to that host: what a program needs must come with the"
                " request or by a granted tool"
            )
            return
        if number == errno.ECONNREFUSED:
            yield "nothing listens there; localhost is the box itself, not the machine that it runs on"
            return


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes and contexts, and exceptions among their arguments (urllib)."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < 20:
        current = waiting.pop(0)
        if id(current) in seen or not _look.derives(current, BaseException):
            continue
        seen.add(id(current))
        yield current
        waiting += [
            _render.slot(current, "__cause__"),
            _render.slot(current, "__context__"),
        ]
        waiting += _render.slot(current, "args")


def _errno(error: BaseException) -> int:
    number = (
        OSError.__dict__["errno"].__get__(error)
        if _look.derives(error, OSError)
        else None
    )
    return number if type(number) is int else 0


def _missing(failure: Failure, path: str) -> Iterator[str]:
    command = _is_command(failure, path)
    if command:
        near = _look.near(path, _commands())
        for name in near:
            yield f"did you mean {name!r}?"
        yield (
            f"no program {path!r} in PATH ({os.environ.get('PATH', '')}); packages are added to the image by"
            " an operator"
        )
        return
    parent = os.path.dirname(path) or "."
    there = parent
    while there not in ("/", ".", "") and not os.path.isdir(there):
        there = os.path.dirname(there) or "."
    if there != parent:
        missing = os.path.relpath(parent, there).split("/")[0]
        names = _listing(there)
        for name in _look.near(missing, names)[:2]:
            rest = os.path.relpath(path, os.path.join(there, missing))
            yield f"did you mean {os.path.normpath(os.path.join(there, name, rest))!r}?"
        if _writes(failure):
            yield f"the directory {parent!r} does not exist; os.makedirs({parent!r}, exist_ok=True) makes it"
    else:
        names = _listing(there)
        for name in _look.near(os.path.basename(path), names):
            yield f"did you mean {os.path.join(os.path.dirname(path), name)!r}?"
    found = _elsewhere(os.path.basename(path), path)
    if found:
        yield f"did you mean {found!r}?"
    shown = os.getcwd() if there == "." else there
    shown = shown[4:] if shown.startswith("/vol/work") else shown
    yield f"files in {shown}: {_look.show_names(names)}" if names else f"{shown} is empty"


def _writes(failure: Failure) -> bool:
    """Whether the failing line opens for writing, or makes something: then the directory is missing."""
    source = failure.entry.source if failure.entry is not None else ""
    return any(
        mark in source
        for mark in (
            "'w",
            '"w',
            "'a",
            '"a',
            "'x",
            '"x',
            "write",
            "mkdir",
            "save",
            "to_csv",
            "dump",
        )
    )


def _listing(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            names = [
                entry.name + ("/" if entry.is_dir() else "")
                for _, entry in zip(range(_ENTRIES_MAX), entries)
            ]
    except OSError:
        return []
    return sorted(names)


def _first_file(path: str) -> str:
    while path not in ("", "/"):
        path = os.path.dirname(path)
        if os.path.isfile(path):
            return path
    return path


def _elsewhere(name: str, path: str) -> str:
    """A file of that name somewhere else beneath the working directory."""
    count = 0
    for directory, _, files in os.walk("."):
        count += len(files) + 1
        if count > _SEARCH_MAX:
            break
        if name in files:
            found = os.path.normpath(os.path.join(directory, name))
            if found != os.path.normpath(path):
                return found
    return ""


def _is_command(failure: Failure, path: str) -> bool:
    hidden = failure.trace.last_hidden
    return (
        "/" not in path
        and hidden is not None
        and hidden.co_filename.endswith("subprocess.py")
    )


def _commands() -> list[str]:
    names: list[str] = []
    for directory in os.environ.get("PATH", "").split(":")[:20]:
        names += [name.rstrip("/") for name in _listing(directory)] if directory else []
    return names
