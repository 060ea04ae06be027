"""The zygote: imports what programs use, then forks slots that have it already.

    /usr/bin/python3 -I -B -X faulthandler -c "import sys; sys.path.insert(0, '/usr/lib/casemate/python');
                                               from casemate import _zygote; _zygote.main('bare', LINK)()"

LINK is the number of the descriptor to the warden; 0, 1 and 2 are /dev/null. main() returns in a
forked slot alone, and what it returns is called by -c itself, so that a program has the frames of a
cold run beneath it: -c, one of the runner's, and execute().

The zygote never runs a guest's code. It is shared by all slots that are forked from it, so all that
must differ between them is made anew in the slot: see _reseed.
"""

import gc
import os
import sys
from io import IOBase

import _casemate_slot

from casemate import _ending, _rehearsal, _reseed, _slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

# What programs import often and what costs little to have: some 30 ms and 2 MiB in all. Each page
# counts at every fork, which is why asyncio (11 ms alone), logging and their like are not here.
_BARE = (
    "_strptime base64 bisect calendar collections collections.abc contextlib copy csv dataclasses datetime"
    " decimal enum fractions functools glob hashlib heapq inspect io itertools json math numbers operator os"
    " pathlib pickle pprint random re secrets shutil statistics string struct tempfile textwrap time"
    " traceback types typing unicodedata urllib.parse uuid zlib"
).split()
_NUMPY = ["numpy", "numpy.random", "numpy.linalg"]
SETS = {"bare": _BARE, "numpy": _BARE + _NUMPY, "pandas": _BARE + _NUMPY + ["pandas"]}
# What the runner loads when a program ends otherwise than by reaching its end.
_OWN = ("_artifacts", "_hints", "_report", "_result")


def main(preload: str, link: int) -> "Callable[[], None]":
    """Imports the set `preload`, serves, and returns in a slot what it does there.

    Ends the process, with 1 when the set cannot be imported and the warden was told why.
    """
    try:
        _load(preload)
        _rehearsal.warm_up()
        _settle()
    except BaseException as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        _casemate_slot.failed(link, f"preload {preload}: {text}"[:500])
        os._exit(1)
    _casemate_slot.ready(link)
    return _prepare_slot(*_casemate_slot.serve(link))


def _prepare_slot(descriptor: int, rehearse: bool) -> "Callable[[], None]":
    """In the child: all that can be done before there is a program."""
    if "matplotlib" in sys.modules:
        sys.modules["casemate._figures"].offer_font_lists()
    touch, parked = _casemate_slot.touch, _casemate_slot.parked
    if rehearse:
        _rehearsal.rehearse(_slot.ROOT)
    _reseed.reseed(drawn_from=rehearse)
    del sys.modules["_casemate_slot"]

    def park() -> None:
        if rehearse:
            touch()
        parked()

    def leave(code: int) -> None:
        # The answer is on its way, and the engine ends this box when it has it. To exit here would
        # keep the processor from the engine for as long as the kernel takes this memory apart.
        try:
            os.read(descriptor, 1)
        finally:
            os._exit(code)

    return _slot.Slot(descriptor, _slot.ROOT, park, leave).live


def _load(preload: str) -> None:
    _slot.note_start()
    for name in SETS[preload]:
        __import__(name)
    if preload == "pandas":
        from casemate import _preload_figures

        _preload_figures.load()
    for name in _OWN:
        __import__("casemate." + name)
    _empty_buffers()
    _slot.note_preloaded()
    _ending.note_preloaded()


def _settle() -> None:
    """Leaves one thread, and a heap that slots do not write to for want of knowing better."""
    if len(os.listdir("/proc/self/task")) > 1:
        # OpenBLAS starts its threads when it is loaded, ends them before a fork, and starts them
        # again on first use: a fork is the one way to end them that leaves slots their threads,
        # which OPENBLAS_NUM_THREADS would not.
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise RuntimeError(f"{threads} threads are left, which no fork would have")
    gc.collect()
    # Out of the collector's sight, which writes to all that it sees.
    gc.freeze()


def _empty_buffers() -> None:
    """Writes what imports have printed to where descriptors 1 and 2 lead here, which is nowhere.

    In a slot they are a run's output, and what a buffer still holds would be flushed into it. Before
    anything is frozen, or the collector does not know of all. Buffers of the C library: see ready().
    """
    for held in gc.get_objects():
        if issubclass(type(held), IOBase):
            try:
                held.flush()
            except Exception:
                pass  # It is closed, or nobody writes to it.
