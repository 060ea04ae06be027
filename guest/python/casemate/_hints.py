"""Hints: one line each, of what would have helped. Chosen by the class of the exception.

A hint states what is true of the failed program (keys that are there, files that exist), and says
"did you mean" only for a name that exists where it was looked for.
"""

from __future__ import annotations

from casemate import _look
from casemate._failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from casemate._frames import Sources, Trace

    Hinter = Callable[[Failure], Iterable[str]]


def hints(
    error: BaseException, message: str, trace: Trace, sources: Sources
) -> Iterator[str]:
    """The hints for one exception, the most useful first. One hint that fails spares the others."""
    failure = Failure(error, message, trace, sources)
    for hinter in _hinters(failure):
        try:
            yield from hinter(failure)
        except _look.Unknown:
            pass  # It would have taken the program's own code to know.
        except Exception:
            if _developing():
                raise


def _developing() -> bool:
    import sys

    return bool(sys.flags.dev_mode)


def _hinters(failure: Failure) -> Iterator[Hinter]:
    # Each module is loaded when an exception of its own needs it.
    name = _look.type_name(failure.error)
    if failure.derives(SyntaxError):
        from casemate import _hints_syntax

        yield _hints_syntax.syntax
        return
    if failure.derives(ImportError):
        from casemate import _hints_imports

        yield _hints_imports.missing
    elif failure.derives(NameError, AttributeError):
        from casemate import _hints_names

        yield _hints_names.names
    elif failure.derives(OSError, EOFError):
        from casemate import _hints_files

        yield _hints_files.system
    elif failure.derives(UnicodeError) or name == "JSONDecodeError":
        from casemate import _hints_text

        yield _hints_text.text
    if failure.derives(LookupError) and not failure.derives(UnicodeError):
        from casemate import _hints_lookup

        yield _hints_lookup.lookup
    elif failure.derives(TypeError):
        from casemate import _hints_types

        yield _hints_types.types
    if failure.derives(ArithmeticError, AssertionError) or _is_value_error(
        failure, name
    ):
        from casemate import _hints_values

        yield _hints_values.values
    if failure.derives(RecursionError, MemoryError):
        from casemate import _hints_limits

        yield _hints_limits.limits
    if not failure.derives(OSError):
        from casemate import _hints_files

        yield _hints_files.network


def _is_value_error(failure: Failure, name: str) -> bool:
    return (
        failure.derives(ValueError)
        and not failure.derives(UnicodeError)
        and name != "JSONDecodeError"
    )
