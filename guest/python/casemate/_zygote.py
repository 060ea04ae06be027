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

import _casemate_slot

from casemate import _preload, _rehearsal, _reseed, _slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

def main(preload: str, link: int) -> "Callable[[], None]":
    """Imports the set `preload`, serves, and returns in a slot what it does there.

    Ends the process, with 1 when the set cannot be imported and the warden was told why.
    """
    try:
        _preload.load(preload)
        _rehearsal.warm_up()
        settle()
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

    return _slot.Slot(descriptor, _slot.ROOT, park, _slot.leaving(descriptor)).live


def settle() -> None:
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
