"""Calls of capabilities for asyncio: the event loop reads the answers itself, no thread waits."""

import asyncio
import select
from weakref import WeakKeyDictionary

from casemate import _bridge, _tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How many calls each loop waits for: while there are any, it watches the socket.
_waiting: "WeakKeyDictionary[asyncio.AbstractEventLoop, int]" = WeakKeyDictionary()


async def call(name: str, arguments: "dict[str, Any]") -> "Any":
    """As _tools.call. A cancelled one is not waited for any more; what it does is done all the same."""
    loop = asyncio.get_running_loop()
    bridge = _bridge.bridge()
    text = _tools.encoded(name, arguments)
    answered: "asyncio.Future[None]" = loop.create_future()

    def tell() -> None:
        if not answered.done():
            answered.set_result(None)

    def then(_: "_bridge.Pending") -> None:
        if asyncio._get_running_loop() is loop:  # It reads by itself, and need not be woken.
            return tell()
        try:
            loop.call_soon_threadsafe(tell)
        except RuntimeError:
            pass  # The loop is closed: nobody waits.

    pending = _bridge.Pending(then)
    _watch(loop, bridge, 1)
    try:
        bridge.begin(name, text, pending)
        await answered
    finally:
        bridge.forget(pending)
        _watch(loop, bridge, -1)
    return _tools.result(name, pending)


def _watch(loop: asyncio.AbstractEventLoop, bridge: "_bridge.Bridge", change: int) -> None:
    before = _waiting.get(loop, 0)
    _waiting[loop] = before + change
    if before == 0:
        loop.add_reader(bridge.descriptor, bridge.read_what_is_there, _ready)
    elif before + change == 0:
        loop.remove_reader(bridge.descriptor)


def _ready(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
