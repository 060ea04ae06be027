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

import _signal
import atexit
import builtins
import gc
import os
import sys
from _io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from _thread import _count as threads_running

from casemate import _slot, _streams, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# How many atexit handlers a rehearsal finds, the libraries', which are for the end of the real program.
handlers_kept = 0

# What Python's own end lacks by then, seen in what it prints of errors: no source lines, no advice.
gone: "dict[str, Any]" = {}

_modules = sys.modules
_builtins = builtins.__dict__.copy()
_FILES = (FileIO, BufferedReader, BufferedWriter, TextIOWrapper)
_type: "Any" = type
_mro = _type.__dict__["__mro__"].__get__


def note_preloaded() -> None:
    """Called in the zygote when all is imported."""
    for name in ("io", "warnings", "linecache", "traceback"):
        if name in sys.modules:
            gone[name] = sys.modules[name]


def status(end: SystemExit) -> int:
    """The exit status that Python makes of it, or -1 where that is for Python itself to say."""
    code: "Any" = end.code if type(end) is SystemExit else end
    if code is None:
        return 0
    if type(code) in (int, bool) and -(1 << 63) <= code < 1 << 63:
        return int(code) & 0xFF
    if type(code) is str and sys.stderr is sys.__stderr__:
        try:
            sys.stderr.write(code)
            sys.stderr.write("\n")
        except (OSError, ValueError):
            pass
        return 1
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
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraisable
    try:
        seen = channel.owned() and _finalize(alive) and channel.owned()
    except:  # noqa: E722: whatever the program left in our way.
        pass
    if seen:
        try:
            told = _tell(channel, code)
        except:  # noqa: E722: what we call by name may be anything now.
            builtins.__dict__.update(_builtins)
            told = _tell(channel, code)
        if not told:
            os._exit(code)  # `leave` may wait for an answer, and the program has closed the socket.
        leave(code)
    else:
        builtins.__dict__.update(_builtins)
        leave_to_python()
        raise SystemExit(code)


def _tell(channel: "_wire.Channel", code: int) -> bool:
    _streams.flush()
    return channel.send(_wire.DONE, _wire.number_field(_wire.TAG_EXIT_CODE, code))


def leave_to_python() -> None:
    """Puts back what Python needs for its own end; the process must end by it next."""
    for name in _slot.brought():
        del _modules[name]
    _modules.update(gone)
    if sys.unraisablehook is _unraisable:
        sys.unraisablehook = sys.__unraisablehook__
    gc.unfreeze()


def _finalize(alive: "Callable[[], Any]") -> bool:
    """False when something is left that Python would have shown."""
    if threads_running() and "threading" in _modules:
        _shut_down(_modules["threading"])
    if atexit._ncallbacks() > handlers_kept:
        if sys.version_info >= (3, 12):
            return False  # Threads and forks are refused to them there.
        try:
            atexit._run_exitfuncs()
        except:  # noqa: E722: before 3.10 the last exception comes here, printed already.
            pass
    if not _flushed():
        return False
    if gc.isenabled():
        gc.collect()
    _forget_special()
    _drop(_modules, _slot.brought(), gc.collect)
    if alive() is not None:
        _let_go()
        gc.collect()
    return alive() is None and not _destructors() and _flushed()


def _dropper() -> "Any":
    """Takes __main__ and the program's modules away.

    A warning of what then goes has a place: Python's own end, where no code is running, is told as
    line 1 of "sys", since 3.13 as line 0 of "<sys>".
    """
    newer = sys.version_info >= (3, 13)
    text = (
        "lambda modules, names, collect: (modules.__setitem__('__main__', None),"
        " [modules.__setitem__(name, None) for name in names], collect())"
    )
    drop: "Any" = eval(compile(text, "<sys>" if newer else "sys", "eval"), {"__name__": "sys"})
    if newer:
        drop.__code__ = drop.__code__.replace(co_firstlineno=0)
    return drop


_drop = _dropper()


def _shut_down(threading: "Any") -> None:
    try:
        threading._shutdown()
    except:  # noqa: E722: KeyboardInterrupt, for one.
        kind, error, trace = sys.exc_info()
        assert trace is not None
        told, of = None, threading
        if sys.version_info >= (3, 13):
            told, of = f"Exception ignored on threading shutdown {threading!r}", None
        sys.unraisablehook(_Unraisable((kind, error, trace.tb_next, told, of)))


def _unraisable_type() -> "Any":
    """The class of what sys.unraisablehook is given: it has no public name."""
    held: "list[type]" = []

    class Broken:
        def __del__(self) -> None:
            raise ValueError

    hook, sys.unraisablehook = sys.unraisablehook, lambda args: held.append(type(args))
    Broken()
    sys.unraisablehook = hook
    return held[0]


_Unraisable = _unraisable_type()
_show_unraisable = sys.__unraisablehook__


def _unraisable(told: "Any") -> None:
    """Python's own hook, for errors that have no frame but for ours being there."""
    trace = told.exc_traceback
    if trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "sys", "<sys>"):
        trace = trace.tb_next
    _show_unraisable(_Unraisable((told.exc_type, told.exc_value, trace, told.err_msg, told.object)))


def _flushed() -> bool:
    """Flushes sys.stdout and sys.stderr, whatever they are now. False when that is not possible."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        if stream is not None and not getattr(stream, "closed", False):
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
    for name in gone:
        _modules[name] = None  # type: ignore[assignment]
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__  # type: ignore[assignment]


def _let_go() -> None:
    """What may hold on to __main__ and Python ends before it."""
    sys.settrace(None)
    sys.setprofile(None)
    if "linecache" in gone:
        gone["linecache"].clearcache()
    if "signal" in _modules:
        for number in range(1, _signal.NSIG):
            handler = _signal.getsignal(number)
            if callable(handler) and handler is not _signal.default_int_handler:
                _signal.signal(number, _signal.SIG_DFL)


def _destructors() -> bool:
    """Whether something with a destructor is left of what was made since the slot was parked."""
    plain: "set[type]" = set()
    for thing in gc.get_objects():
        kind = type(thing)
        if kind in plain:
            continue
        if kind in _FILES:
            # To close one that holds nothing back is to do nothing: fonts stay open for one.
            if kind is not FileIO and not thing.closed and thing.writable():
                return True
            continue
        plain.add(kind)
        for base in _mro(kind):
            if "__del__" in base.__dict__:
                return True
    return False
