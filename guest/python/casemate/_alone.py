"""A slot that no zygote forks: imports a preload set itself, rehearses, and waits for its program.

    /usr/bin/python3 -I -B -X faulthandler -c "import sys; sys.path.insert(0, '/usr/lib/casemate/python');
                                               from casemate import _alone; _alone.main('bare')()"

For guests with a kernel of their own, into which nothing can be forked from outside. Nobody but this
process can know when it waits, so it says so itself: PARKED, on the control socket.
"""

import gc
import os
import sys

from casemate import _preload, _rehearsal, _reseed, _slot, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

# In a machine of its own: an emulated one translates what it executes, and has none of its template's translation.
_REHEARSALS = 3


def main(preload: str, descriptor: int = 3, template: bool = False) -> "Callable[[], None]":
    """Prepares all that can be prepared. What it returns waits for the program and runs it, and is called
    by -c itself, so that a program has the frames of a cold run beneath it.

    With `template` it goes on in another machine than it was begun in, restored from this one, of which what was
    executed before has no trace but in memory.

    Ends the process with 1 when the set cannot be imported; the reason is the last line of stderr.
    """
    try:
        _preload.load(preload)
        _rehearsal.warm_up()
        if "matplotlib" in sys.modules:
            sys.modules["casemate._figures"].offer_font_lists()
        _rehearsal.rehearse(_slot.ROOT)
        gc.freeze()
        if template:
            _become_another(descriptor)
    except BaseException as error:
        fail(preload, error)
    _reseed.reseed(drawn_from=True)
    del sys.modules["_casemate_slot"]
    return _slot.Slot(descriptor, _slot.ROOT, lambda: park(descriptor), _slot.leaving(descriptor)).live


def fail(preload: str, error: BaseException) -> "NoReturn":
    """Ends a process that could not prepare itself, and says why."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    os.write(2, f"\npreload {preload}: {text}"[:500].encode("utf-8", "replace"))
    os._exit(1)


def park(descriptor: int, rounds: int = _wire.PARK_ROUNDS) -> None:
    """Tells the engine that this process waits for its program.

    Answered by the engine, so that being woken by it is rehearsed too: gVisor's kernel makes what it traces
    this process with anew for each of its own threads that comes to run it.
    """
    channel, again = _wire.Channel(descriptor), (0, _wire.AGAIN)
    for left in reversed(range(rounds)):
        if not channel.send(_wire.PARKED, b""):
            os._exit(1)
        answer = os.read(descriptor, 8) if left else b""
        if left and (int.from_bytes(answer[:4], "little"), int.from_bytes(answer[4:], "little")) != again:
            os._exit(1)


def _become_another(descriptor: int) -> None:
    channel = _wire.Channel(descriptor)
    if not channel.send(_wire.MADE, b""):
        os._exit(1)
    answer = os.read(descriptor, 8)
    if (int.from_bytes(answer[:4], "little"), int.from_bytes(answer[4:], "little")) != (0, _wire.RESTORED):
        os._exit(1)
    _reseed.reseed(drawn_from=True)
    for _ in range(_REHEARSALS):
        _rehearsal.rehearse(_slot.ROOT)
    gc.freeze()
