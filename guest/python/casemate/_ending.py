"""The end of a program in a slot: what Py_FinalizeEx would let it see, without the rest.

Python's own end takes every module apart, and so writes to hundreds of pages that a slot shares with
its zygote, for a process that is about to vanish. Here, in CPython's order (Python/pylifecycle.c and
import.c): threads are joined, atexit handlers run, streams are flushed, garbage is collected, the
standard streams are those of the start again, __main__ and the modules that the program brought go,
garbage is collected, streams are flushed. Modules of the zygote stay.

Where that is not enough (a flush fails, something with a destructor is still alive, the exit code is
an object to print), Python itself ends the process after all, which is slow but right by definition.
One difference is left: a destructor that runs now can still import.
"""

import atexit
import builtins
import gc
import os
import sys
from _thread import _count as threads_running

from casemate import _slot, _streams, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_modules = sys.modules
_builtins = builtins.__dict__.copy()
_mro = type.__dict__["__mro__"].__get__


def status(end: SystemExit) -> int:
    """The exit status that Python makes of it; negative when Python has something to print."""
    code = end.code if type(end) is SystemExit else end
    if code is None:
        return 0
    if type(code) is int and -(1 << 31) <= code < 1 << 31:
        return code & 0xFF
    gc.unfreeze()
    return -1


def end(
    channel: "_wire.Channel",
    code: int,
    alive: "Callable[[], Any]",
    leave: "Callable[[int], None]",
) -> None:
    """Ends the program, sends DONE and calls `leave`. Raises SystemExit(code) for Python to end it.

    `alive` tells whether __main__ is, by a weak reference to something that it alone holds.
    """
    seen = False
    try:
        seen = channel.owned() and _finalize(alive) and channel.owned()
    except:  # noqa: E722: whatever the program left in our way.
        pass
    builtins.__dict__.update(_builtins)
    if not seen:
        gc.unfreeze()
        raise SystemExit(code)
    _streams.flush()
    channel.send(_wire.DONE, _wire.number_field(_wire.TAG_EXIT_CODE, code))
    leave(code)


def _finalize(alive: "Callable[[], Any]") -> bool:
    """False when something is left that Python would have shown."""
    if threads_running() and "threading" in _modules:
        _shut_down(_modules["threading"])
    if atexit._ncallbacks():
        try:
            atexit._run_exitfuncs()
        except:  # noqa: E722: before 3.10 the last exception comes here, printed already.
            pass
    if not _flushed():
        return False
    if gc.isenabled():
        gc.collect()
    _forget_special()
    _modules["__main__"] = None  # type: ignore[assignment]
    for name in _slot.brought():
        _modules.pop(name, None)
    gc.collect()
    if alive() is not None and "linecache" in _modules:
        _modules["linecache"].cache.clear()
    return alive() is None and not _destructors() and _flushed()


def _shut_down(threading: "Any") -> None:
    try:
        threading._shutdown()
    except:  # noqa: E722
        sys.unraisablehook(
            sys.UnraisableHookArgs((*sys.exc_info(), None, threading))  # type: ignore[arg-type]
        )


def _flushed() -> bool:
    """Flushes sys.stdout and sys.stderr, whatever they are now. False when that is not possible."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    return True


def _forget_special() -> None:
    """What finalize_modules_delete_special() lets go before any module."""
    if hasattr(sys, "last_value"):
        sys.last_type = sys.last_value = sys.last_traceback = None
        if sys.version_info >= (3, 12):
            sys.last_exc = None  # type: ignore[assignment]
    if hasattr(builtins, "_"):
        builtins._ = None
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__  # type: ignore[assignment]


def _destructors() -> bool:
    """Whether something with a destructor is left of what was made since the slot was parked."""
    known: "set[type]" = set()
    for thing in gc.get_objects():
        kind = type(thing)
        if kind not in known:
            known.add(kind)
            for base in _mro(kind):
                if "__del__" in base.__dict__:
                    return True
    return False
