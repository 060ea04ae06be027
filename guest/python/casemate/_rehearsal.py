"""Runs small programs as a slot runs the real one, so that the pages which that needs are private.

After a fork all memory is shared with the zygote, and the first write to each page costs a copy. A
rehearsal takes the production path with a socket pair for the engine and a pipe for the streams, then
puts back what a program could see. Nothing here is a measurement: what is worth rehearsing was found
by counting faults of programs that are not among these (tests/test_faults.py).
"""

import atexit
import gc
import os
import sys
from _contextvars import copy_context
from _socket import socketpair

from casemate import _ending, _rehearsed, _request, _runner, _slot, _streams, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Before:
    """What a rehearsal changes and a program could see, as it was."""

    def __init__(self, root: str) -> None:
        warnings = sys.modules["warnings"]
        self._lists = [(held, held[:]) for held in (sys.argv, sys.path, sys.meta_path, warnings.filters)]
        self._argv = sys.argv
        _ending.handlers_kept = atexit._ncallbacks()
        self._gone = {name: sys.modules[name] for name in ("__main__", *_ending.gone)}
        self._importers = sys.path_importer_cache.copy()
        self._environment = os.environ.get("CASEMATE_MEMORY_BYTES")
        self._streams = (sys.stdout, sys.stderr)
        self._reserve = _runner._RESERVE[:]
        self._program = f"{root}/run/{_request.NAME}"
        self._has_run = os.path.isdir(root + "/run")

    def restore(self) -> None:
        """Puts it back. Raises nothing."""
        sys.argv = self._argv
        for held, content in self._lists:
            held[:] = content
        for name in _slot.brought():
            del sys.modules[name]
        sys.modules.update(self._gone)
        for place in [*sys.path_importer_cache]:
            if place not in self._importers:
                del sys.path_importer_cache[place]
        if self._environment is None:
            os.environ.pop("CASEMATE_MEMORY_BYTES", None)
        else:
            os.environ["CASEMATE_MEMORY_BYTES"] = self._environment
        sys.stdout = sys.__stdout__ = self._streams[0]  # type: ignore
        sys.stderr = sys.__stderr__ = self._streams[1]  # type: ignore
        sys.unraisablehook = sys.__unraisablehook__
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            sys.__dict__.pop(name, None)
        _runner._RESERVE[:] = self._reserve
        for module, forget in (("re", "purge"), ("linecache", "clearcache")):
            if module in sys.modules:
                getattr(sys.modules[module], forget)()
        _wire.current, _wire.work = None, "/vol/work"
        try:
            os.unlink(self._program)
            if not self._has_run:
                os.rmdir(os.path.dirname(self._program))
        except OSError:
            pass  # A zygote has no such place.


def rehearse(root: str) -> None:
    """In a slot. Once: a second time writes to ten more pages, and takes ten milliseconds."""
    _rehearse(root)
    gc.collect()


def warm_up() -> None:
    """In the zygote, so that code is specialized and caches are filled once for all its slots."""
    for _ in range(3):
        _rehearse(os.devnull)


# The exit codes of the last rehearsal, -1 where the end was left to Python: for a test.
codes: "list[int]" = []


def _rehearse(root: str) -> None:
    codes.clear()
    before = _Before(root)
    saved = os.dup(1), os.dup(2)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    engine, guest = socketpair()
    try:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        for source in _rehearsed.programs():
            engine.sendall(_request_of(source))
            slot = _slot.Slot(guest.fileno(), root, _nothing, codes.append)
            try:
                # In a context of its own: decimal's context is a variable of it.
                copy_context().run(slot.live)
            except SystemExit:
                codes.append(-1)
            try:
                os.read(reading, 1 << 16)  # Or it fills, and the next print waits for ever.
            except BlockingIOError:
                pass
            before.restore()
    finally:
        guest.detach()
        _streams.forget()  # Closes that one.
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for number in (*saved, reading, writing):
            os.close(number)
        engine.close()
        before.restore()
        _ending.handlers_kept = 0


def _nothing(*_: object) -> None:
    pass


def _request_of(source: bytes) -> bytes:
    program = _wire.field(_wire.TAG_BYTES, source)
    start = _wire.text_field(_wire.TAG_NAME, _request.NAME) + _wire.number_field(
        _wire.TAG_NUMBER, 1 << 29
    )
    return _frame(_wire.PROGRAM, program) + _frame(_wire.START, start)


def _frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload
