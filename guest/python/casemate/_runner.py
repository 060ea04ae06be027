"""The runner: one program, from the engine's request to its end.

    /usr/bin/python3 -I -B -c "import sys; sys.path.insert(0, '/usr/lib/casemate/python');
                               from casemate import _runner; _runner.main()"

Descriptors 0, 1 and 2 are the program's, 3 is the control socket. The program runs in the real
__main__ module, beneath this one frame and that of -c. Its end is Python's own: main() returns or
lets SystemExit through, and the interpreter joins threads, runs atexit handlers and exits.

The way to a program that succeeds imports nothing but this package's _wire, _streams, _request and
_program, since each page that a start touches costs up to 50 microseconds; a test holds that list.
"""

import builtins
import os
import sys

from casemate import _program, _request, _streams, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Optional, Sequence

# The exit code when no program was run: the engine went away or sent what is not the protocol.
NOT_STARTED = 125

# What builtins and sys.modules were before the program: a report is made even if it emptied them.
_BUILTINS = builtins.__dict__.copy()
_MODULES = sys.modules
_PACKAGE = sys.modules["casemate"]
# Given back when an exception ends the program, for the report of a MemoryError. Zeroed by the kernel
# and never touched, it has an address and, but for its first page, no memory.
_RESERVE = [bytes(1 << 20)]
_OWN_DIRECTORY = os.path.dirname(__file__) + "/"


class Place:
    """Where a program's files are. `root` is /vol in a box; tests have one of their own."""

    def __init__(
        self, root: str, request: "_request.Request", output: int = -1
    ) -> None:
        self.root = root
        self.work = root + "/work"
        self.program = root + "/run/" + request.name
        self.name = request.name
        self.source = request.source
        self.output = output  # the program's file, open for writing, if it is there already


def create_program(program: str) -> int:
    """Opens the program's file at this path, made anew; returns its descriptor. Raises OSError."""
    path = os.fsencode(program)
    try:
        return _request.create(path)
    except FileNotFoundError:
        os.mkdir(os.path.dirname(path))
        return _request.create(path)


class _Source:
    """__main__.__loader__: gives the submitted text to linecache even when its file is gone."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def get_source(self, _name: str) -> str:
        """The program's text. Raises ImportError when it has none, as loaders do."""
        from _frozen_importlib_external import decode_source  # type: ignore[attr-defined]

        try:
            text: str = decode_source(self._source)
        except (SyntaxError, UnicodeError) as error:
            raise ImportError("the program is not text") from error
        return text


class FigureWatch:
    """Waits for matplotlib without importing it: an entry of sys.meta_path that never finds."""

    def find_spec(
        self, name: str, _path: "Optional[Sequence[str]]", _target: "Any" = None
    ) -> "Any":
        """None for all but Agg, the backend that draws: whose loader then lets _figures in."""
        if name == "matplotlib":
            from casemate import _figures

            _figures.offer_font_lists()
        if name != "matplotlib.backends.backend_agg":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        from casemate import _figures

        return _figures.watched_spec(name)


def main(root: str = "/vol", descriptor: int = 3, begun: bool = False) -> None:
    """A cold run of one program; `begun`: the engine is told that it is there. Raises SystemExit with its exit code
    unless that is 0.
    """
    try:
        channel = _wire.Channel(descriptor)
        if begun:
            channel.send(_wire.BEGUN, b"")
        _streams.install(channel)
        request = _request.receive(descriptor, root + "/work")
    except (_wire.ProtocolError, OSError) as error:
        sys.stderr.write("casemate: the run could not be set up: %s\n" % error)
        raise SystemExit(NOT_STARTED) from None
    if request is None:
        raise SystemExit(NOT_STARTED)
    namespace = furnish(channel, root + "/work")
    place = Place(root, request)
    prepare(place, request, namespace)
    execute(channel, place, namespace)


def execute(
    channel: "_wire.Channel", place: "Place", namespace: "dict[str, Any]"
) -> None:
    """Runs the program to its end, short of the interpreter's: cold and in slots, this is the path.

    Raises SystemExit with the exit code unless that is 0, or KeyboardInterrupt.
    """
    run, evaluate = exec, eval
    try:
        code, last = _program.load(place.source, place.program)
        if code is not None:
            run(code, namespace)
        if last is not None:
            value = evaluate(last, namespace)
            if value is not None and channel.owned():
                _guarded(_send_result, channel, value)
            del value
    except:  # noqa: E722: a program may have deleted every name that could stand here.
        _RESERVE.clear()
        _guarded(_end_by_exception, channel, place)
    if "matplotlib.pyplot" in _MODULES and channel.owned():
        _guarded(_save_figures)
    _streams.flush()


def _guarded(act: "Callable[..., None]", *arguments: object) -> None:
    """Calls with Python's own builtins and with this package in place, whatever the program left.

    What the program put there is put back, for its atexit handlers; what it deleted stays restored.
    """
    theirs = builtins.__dict__.copy()
    builtins.__dict__.update(_BUILTINS)
    sys.modules["casemate"] = _PACKAGE
    try:
        act(*arguments)
    finally:
        builtins.__dict__.update(theirs)


def furnish(channel: "_wire.Channel", work: str) -> "dict[str, Any]":
    """What can be done before there is a program: sys and __main__ as a script finds them. Returns the
    namespace to run in."""
    _wire.current, _wire.work = channel, work
    # A script finds its neighbours first. Its neighbours here are the input files.
    own = sys.path.pop(0)
    sys.path.insert(0, work)
    sys.path.append(own)
    if "matplotlib.backends.backend_agg" not in sys.modules:
        sys.meta_path.insert(0, FigureWatch())  # type: ignore[arg-type]
    namespace = sys.modules["__main__"].__dict__
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]  # What -c needed to get here.
    namespace["__file__"] = namespace["__cached__"] = None
    return namespace


def prepare(
    place: "Place", request: "_request.Request", namespace: "dict[str, Any]"
) -> None:
    """What is the program's own: its file, sys.argv, os.environ, __file__."""
    _write_program(place)
    sys.argv = [place.program, *map(os.fsdecode, request.arguments)]
    if request.memory_bytes:
        bound = str(request.memory_bytes)
        if os.environ.get("CASEMATE_MEMORY_BYTES") != bound:
            os.environ["CASEMATE_MEMORY_BYTES"] = bound
    for entry in request.environment:
        variable, _, value = entry.partition(b"=")
        os.environb[variable] = value
        if variable == b"TZ":
            import time  # Loaded at start-up by the interpreter.

            time.tzset()
    namespace["__file__"] = place.program
    namespace["__loader__"] = _Source(place.source)


def _write_program(place: "Place") -> None:
    # The file is for __file__, multiprocessing and inspect; the run itself does without it.
    try:
        output = place.output
        if output < 0:
            output = create_program(place.program)
        try:
            _request.write_all(output, place.source)
        finally:
            os.close(output)
    except OSError:
        pass


def _send_result(channel: "_wire.Channel", value: object) -> None:
    try:
        from casemate import _result

        channel.send(_wire.RESULT, _result.payload(value))
    except Exception as error:
        # Ours or a trashed interpreter's, and no reason to call the program failed.
        sys.stderr.write(
            "casemate: the last value could not be sent: %s\n" % type(error).__name__
        )


def _save_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        from casemate import _figures

        _figures.save_open()


def _end_by_exception(channel: "_wire.Channel", place: "Place") -> None:
    """Ends the program by the exception that is being handled, as Python would.

    A report takes the place of the traceback, which is printed if no report can be sent. Always
    raises: SystemExit, or KeyboardInterrupt, by which Python ends itself with SIGINT.
    """
    kind, error, trace = sys.exc_info()
    assert kind is not None and error is not None
    sys.setprofile(None)
    sys.settrace(None)
    _streams.flush()
    if issubclass(kind, SystemExit):
        if channel.owned():
            _save_figures()
        raise error
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(
        _OWN_DIRECTORY
    ):
        trace = trace.tb_next
    _set_traceback(error, trace)
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    interrupted = issubclass(kind, KeyboardInterrupt)
    reported = channel.owned() and _report(
        channel, place, error, trace, 130 if interrupted else 1
    )
    hook = getattr(sys, "excepthook", None) or sys.__excepthook__
    if not reported or hook is not sys.__excepthook__:
        _call_hook(hook, error, trace)
    if channel.owned():
        _save_figures()
    _streams.flush()
    if interrupted:
        sys.excepthook = lambda *_: None  # It is told already.
        raise error
    raise SystemExit(1)


# The setter of BaseException itself: a class of the program may have made the name a property.
_set_traceback = BaseException.__dict__["__traceback__"].__set__


def _call_hook(
    hook: "Any", error: "BaseException", trace: "Optional[TracebackType]"
) -> None:
    try:
        hook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as broken:
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(broken), broken, broken.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)


def _report(
    channel: "_wire.Channel",
    place: "Place",
    error: "BaseException",
    trace: "Optional[TracebackType]",
    exit_code: int,
) -> bool:
    """Sends the report, or the little that is sure if making it fails; False if nothing got out."""
    if not channel.usable():
        return False
    try:
        # A program may have lowered this to almost nothing.
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 1000))
        from casemate import _report as report

        sent = report.send(channel, place, error, trace, exit_code)
        sys.setrecursionlimit(limit)
        return sent
    except BaseException:
        return _report_briefly(channel, place, error, trace, exit_code)


def _report_briefly(
    channel: "_wire.Channel",
    place: "Place",
    error: "BaseException",
    trace: "Optional[TracebackType]",
    exit_code: int,
) -> bool:
    """A report of type and line alone: no import, no code of the program, hardly any memory."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place.program:
            line = trace.tb_lineno
        trace = trace.tb_next
    payload = _wire.text_field(_wire.TAG_TYPE, type(error).__name__) + _wire.field(
        _wire.TAG_MESSAGE, b""
    )
    if line:
        payload += _wire.text_field(_wire.TAG_FILE, place.name)
        payload += _wire.number_field(_wire.TAG_LINE, line)
    payload += _wire.number_field(_wire.TAG_EXIT_CODE, exit_code)
    return channel.send(_wire.EXCEPTION, payload)
