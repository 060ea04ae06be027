"""A slot: a child of the zygote in a finished box, which waits for one program, runs it and ends.

From the arrival of the program on, the path is that of a cold run but for what the zygote and the
time before have done already, and for the end (see _ending). Each page that is first written to then
costs 20 microseconds or more; hence _rehearsal, which takes the same path before.
"""

import gc
import os
import sys
from _imp import extension_suffixes
from weakref import ref

from casemate import _ending, _request, _reseed, _runner, _streams, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

ROOT = "/vol"  # tests have another
_SUFFIXES = (".py", ".pyc", *extension_suffixes())

_main = sys.modules["__main__"].__dict__  # that of -c
# Names in sys.modules at the start of the zygote, and when it was done.
_started: "set[str]" = set()
preloaded: "set[str]" = set()


def note_start() -> None:
    """Called before the zygote imports anything for programs."""
    _started.update(sys.modules)


def note_preloaded() -> None:
    """Called when it has imported all."""
    preloaded.update(sys.modules)


class Slot:
    """One program's place. `park` is called when all is ready for it, `leave` with its exit code
    when the engine was told DONE."""

    def __init__(
        self,
        descriptor: int,
        root: str,
        park: "Callable[[], None]",
        leave: "Callable[[int], None]",
    ) -> None:
        self._descriptor = descriptor
        self._root = root
        self._park = park
        self._leave = leave

    def _create_file(self) -> None:
        # Of one byte, so that its page is there as well.
        self._path = f"{self._root}/run/{_request.NAME}"
        try:
            self._file = _runner.create_program(self._path)
            os.write(self._file, b"\n")
            os.lseek(self._file, 0, os.SEEK_SET)
        except OSError:
            self._file = -1  # A zygote has no such place.

    def _file_for(self, request: "_request.Request") -> int:
        # The descriptor of the file, with the program's own name; -1 when there is none.
        if self._file < 0:
            return -1
        try:
            if request.name != _request.NAME:
                os.rename(self._path, f"{self._root}/run/{request.name}")
            if not request.source:
                os.ftruncate(self._file, 0)
        except OSError:
            os.close(self._file)
            return -1
        return self._file

    def live(self) -> None:
        """Waits for one program and runs it.

        Returns or raises instead of leaving where Python itself is to end the process, as it ends a
        cold run: by the signal of KeyboardInterrupt, in forked children, and wherever _ending
        cannot do the same for less. No DONE is sent then.
        """
        channel = _wire.Channel(self._descriptor)
        _streams.install(channel)
        clean_main()
        self._create_file()
        # Lets go of what the interpreter keeps for its next objects, some of it in the zygote's pages: the
        # collector at the program's end would. What is left for that one then is the program's alone, and
        # a second new __main__ that it can take.
        gc.collect()
        gc.freeze()
        clean_main()
        namespace = _runner.furnish(channel, self._root + "/work")
        self._park()
        try:
            request = _request.receive(self._descriptor, self._root + "/work")
        except (_wire.ProtocolError, OSError) as error:
            sys.stderr.write("casemate: the run could not be set up: %s\n" % error)
            raise SystemExit(_runner.NOT_STARTED) from None
        if request is None:
            raise SystemExit(_runner.NOT_STARTED)
        _reseed.restart_clock()
        if request.files:
            make_way(self._root + "/work")
        place = _runner.Place(self._root, request, self._file_for(request))
        _runner.prepare(place, request, namespace)
        alive = ref(namespace["__loader__"])
        try:
            _runner.execute(channel, place, namespace)
            code = 0
        except SystemExit as end:
            code = _ending.status(end)
            if code < 0:
                _ending.leave_to_python()
                raise
        except KeyboardInterrupt:
            _ending.leave_to_python()
            raise
        del namespace
        _ending.end(channel, code, alive, self._leave)


def leaving(descriptor: int) -> "Callable[[int], None]":
    """How a box's slot leaves: its answer is on its way, and the engine ends this box when it has it.

    To exit at once would keep the processor from the engine for as long as the kernel takes this
    memory apart.
    """

    def leave(code: int) -> None:
        try:
            os.read(descriptor, 1)
        finally:
            os._exit(code)

    return leave


def clean_main() -> None:
    """Puts a new __main__ in the place of that of -c, which a frame holds on to: the program's must
    go where its objects go, at its end."""
    module = type(sys)("__main__")
    namespace = module.__dict__
    for name in [name for name in _main if name.startswith("__")]:
        namespace[name] = {} if name == "__annotations__" else _main[name]
    sys.modules["__main__"] = module


def make_way(work: str) -> None:
    """Forgets preloaded modules whose names the program's own files have.

    In a cold run the directory of the program comes first where modules are looked for. Modules that
    are loaded keep what they imported.
    """
    try:
        names = os.listdir(work)
    except OSError:
        return
    for name in names:
        stem = name.partition(".")[0]
        if (
            stem in preloaded
            and stem not in _started
            and (name[len(stem) :] in _SUFFIXES or os.path.exists(f"{work}/{name}/__init__.py"))
        ):
            for known in [*sys.modules]:
                if known == stem or known.startswith(stem + "."):
                    del sys.modules[known]
                    preloaded.discard(known)


def brought() -> "list[str]":
    """The names of modules that came since the zygote was done, in that order.

    Looks from the newest on: to pass over all would be to write to each one's name.
    """
    names = []
    for name in reversed(sys.modules):
        if name in preloaded:
            break
        names.append(name)
    return names[::-1]
