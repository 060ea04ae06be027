"""The zygote of a sandbox that runs share, one after another.

    /usr/bin/python3 -I -B -X faulthandler -c "import sys; sys.path.insert(0, '/usr/lib/casemate/python');
                                               from casemate import _shared; _shared.main('bare', DISK)()"

For guests with a kernel of their own: like _zygote it imports what programs use and forks, but in a kernel
in which it is root, and one runner at a time, after each of which it shows that nothing is left of it
(guest/zygote/shared.cc). It never runs a program.
"""

import gc
import os
import sys

import _casemate_slot

from casemate import _alone, _preload, _rehearsal, _reseed, _slot, _wire, _zygote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


def main(preload: str, disk: int, link: int = 3) -> "Callable[[], None]":
    """Imports the set `preload`, serves, and returns in a runner what it does there. `disk`: bytes of each
    file system that a runner can write to.

    Ends the process with 1 when the set cannot be imported; the reason is the last line of stderr.
    """
    try:
        _preload.load(preload)
        _rehearsal.warm_up()
        if "matplotlib" in sys.modules:
            sys.modules["casemate._figures"].offer_font_lists()
        _zygote.settle()
    except BaseException as error:
        _alone.fail(preload, error)
    descriptor, rehearse = _casemate_slot.serve_shared(link, disk)
    if rehearse:
        _rehearsal.rehearse(_slot.ROOT)
        gc.freeze()
    _reseed.reseed(drawn_from=rehearse)
    del sys.modules["_casemate_slot"]
    rounds = _wire.PARK_ROUNDS if rehearse else 1  # which are a rehearsal too

    def park() -> None:
        _alone.park(descriptor, rounds)

    return _slot.Slot(descriptor, _slot.ROOT, park, _slot.leaving(descriptor)).live
