"""Calls of capabilities: the guest's side of src/bridge, over the run's own control socket.

A call is one CALL frame and, when its arguments are long, CALL_DATA frames after it; its answer is REPLY
and REPLY_DATA. Any number may be under way: whichever thread waits reads for all, so a program without
threads has none for this. Who may call what is decided on the other side, by whom the socket belongs to;
nothing here is a secret, and nothing here is trusted.
"""

import os
from _functools import partial  # type: ignore[attr-defined, unused-ignore]
from _thread import allocate_lock, get_ident

from casemate import _wire
from casemate._errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

_PIECE = _wire.FRAME_PAYLOAD_MAX // 2
# Less than what malloc takes from the kernel, and gives back, for each: that costs more than all the rest of a call.
_READ_SIZE = 1 << 16
_MORE = _wire.field(_wire.TAG_MORE, b"")
# Whoever waits looks by itself whether somebody reads, this often, in seconds: an exception out of a signal's
# handler may come at any point, that where the work of reading is handed on as well.
_LOOK_AGAIN = 0.1
_CLOSED = "the control socket (descriptor 3) is closed"


class Pending:
    """A call that is under way. `then` is called with it by the thread that read the answer."""

    def __init__(self, then: "Optional[Callable[[Pending], None]]" = None) -> None:
        self.status = -1  # _wire.REPLY_*; -1: no answer yet
        self.pieces: "dict[int, bytes]" = {}  # by where they came
        self.typed: "list[str]" = []  # of the answer: which of its values are more than JSON says
        self.whole = False
        self.lost = ""  # why there will be no answer
        self.then = then
        self.number = 0  # once it is sent
        self.turn = allocate_lock()  # held; released when this is whole or is to read for all
        self.turn.acquire()

    @property
    def over(self) -> bool:
        """Whether there is an answer, or there will be none."""
        return self.whole or bool(self.lost)


def _frames_of(name: str, arguments: bytes) -> "list[tuple[int, bytes]]":
    """The type of each frame of a call, and its payload but for the number."""
    head = _wire.field(_wire.TAG_NAME, name.encode("utf-8", "backslashreplace"))
    pieces = [arguments[at : at + _PIECE] for at in range(0, len(arguments), _PIECE)]
    frames = []
    for index, piece in enumerate(pieces):
        rest = _wire.field(_wire.TAG_BYTES, piece) + (_MORE if index + 1 < len(pieces) else b"")
        frames.append((_wire.CALL_DATA, rest) if index else (_wire.CALL, head + rest))
    return frames


def _numbered(frame: "tuple[int, bytes]", number: int) -> "tuple[bytes, bytes, bytes]":
    first = _wire.number_field(_wire.TAG_NUMBER, number)
    kind, rest = frame
    return (len(first) + len(rest)).to_bytes(4, "little") + kind.to_bytes(4, "little"), first, rest


class Bridge:
    """One channel's calls. Thread-safe. Of the program's own process: not of its forked children."""

    def __init__(self, channel: "_wire.Channel", descriptor: int) -> None:
        self._channel = channel
        self._descriptor = descriptor
        # No lock guards these: each step is one operation of C code, done or not done.
        self._under_way: "dict[int, Pending]" = {}
        self._next = 1
        self._sending = False
        self._looked = False  # whether the descriptor is still the socket, since the last read
        # Where in all that came this is, and what came and is not looked at yet. One value, so that it changes at
        # once: whoever reads may be interrupted anywhere, and the next begins with what is held.
        self._held = (0, b"")
        self._lost = ""
        # One read per turn, by C code alone: what was read is in a variable before any handler of a signal
        # can raise something, so an interrupted wait loses no bytes.
        self._reads = iter(partial(os.read, descriptor, _READ_SIZE), None)
        # Held by whoever reads for all; taken as data is read.
        self._reader = allocate_lock()
        self._becomes_reader = iter(partial(self._reader.acquire, False), None)
        self._reading_thread = 0

    def begin(self, name: str, arguments: bytes, pending: "Pending") -> None:
        """Sends a call. Raises ToolError when that cannot be. Who does not wait for it to its end forgets it."""
        if not self._channel.owned():
            raise ToolError(name, "process", "only the program's first process can call: hand results to its children")
        data = _frames_of(name, arguments)
        with self._channel.lock:
            if self._sending:
                raise ToolError(name, "busy", "a signal handler calls while its thread is sending a call")
            self._sending = True
            try:
                if not self._lost and not self._channel.intact():
                    self._lost = _CLOSED
                if self._lost:
                    raise ToolError(name, "lost", self._lost)
                pending.number = self._next
                self._next += 1
                self._under_way[pending.number] = pending
                self._looked = True
                self._send(b"".join([part for piece in data for part in _numbered(piece, pending.number)]))
            except OSError as error:
                self._lose(_CLOSED)
                raise ToolError(name, "lost", f"{_CLOSED}: {error}", None) from None
            finally:
                self._sending = False

    def _send(self, data: bytes) -> None:
        # As with what is read: how much was written is in a variable before a handler of a signal can raise.
        size, written = len(data), 0
        try:
            while written < size:
                for put in iter(partial(os.write, self._descriptor, data[written:] if written else data), None):
                    break
                written += put
        except BaseException:
            if 0 < written < size:
                self._lose("an exception interrupted a call while it was being sent")  # its rest would be missing
            raise

    def call(self, name: str, arguments: bytes, pending: "Pending") -> None:
        """Sends a call and waits until it is over. Raises ToolError when it cannot be sent.

        An exception out of a signal's handler gets through, and loses no other call's answer.
        """
        reads, thread = False, get_ident()
        if thread == self._reading_thread:
            raise ToolError(name, "busy", "a signal handler calls while its thread waits for a call")
        try:
            self.begin(name, arguments, pending)
            while not pending.over:
                for reads in self._becomes_reader:
                    break
                if reads:
                    self._reading_thread = thread
                while reads and not pending.over:
                    self._read_once()
                if not pending.over:
                    pending.turn.acquire(True, _LOOK_AGAIN)
        finally:
            if reads:
                self._reading_thread = 0
                self._reader.release()
            self.forget(pending)
            self._pass_on()  # On its way out by an exception it may just have been asked to read for all.

    def read_what_is_there(self, ready: "Callable[[int], bool]") -> None:
        """For an event loop, when the socket has something to read: does not wait. `ready` says whether it has."""
        reads, thread = False, get_ident()
        try:
            for reads in self._becomes_reader:
                break
            if reads:
                self._reading_thread = thread
                if ready(self._descriptor):  # Still: a thread may have read it since the loop was told.
                    self._read_once()
        finally:
            if reads:
                self._reading_thread = 0
                self._reader.release()
                self._pass_on()

    def forget(self, pending: "Pending") -> None:
        """Nobody waits for this one any more. Its answer is dropped; what it does is done."""
        self._under_way.pop(pending.number, None)

    @property
    def descriptor(self) -> int:
        """The socket, to be polled."""
        return self._descriptor

    def _read_once(self) -> None:
        """Takes the frames that are held; if there is none, reads and takes what came."""
        if self._take_frames():
            return
        # A call that has just been sent has looked.
        if not self._looked and not self._channel.usable():
            return self._lose(_CLOSED)
        self._looked = False
        data: "Any" = None
        try:
            for data in self._reads:
                break
        except OSError as error:
            return self._lose("the control socket cannot be read: %s" % error)
        finally:
            if data:
                at, held = self._held
                self._held = (at, held + data)
        if not data:
            return self._lose("the run is over")
        self._take_frames()

    def _take_frames(self) -> bool:
        try:
            return self._take_whole()
        except _wire.ProtocolError as error:
            self._lose("the other side broke the protocol: %s" % error)
            return True

    def _take_whole(self) -> bool:
        took = False
        while True:
            at, held = self._held
            if len(held) < 8:
                return took
            size = int.from_bytes(held[:4], "little")
            if size > _wire.FRAME_PAYLOAD_MAX:
                raise _wire.ProtocolError("malformed frame")
            if len(held) < 8 + size:
                return took
            self._take(int.from_bytes(held[4:8], "little"), held[8 : 8 + size], at)
            self._held = (at + 8 + size, held[8 + size :])
            took = True

    def _take(self, kind: int, payload: bytes, at: int) -> None:
        # May be done twice for one frame, when an exception comes between it and the note that it was done.
        if kind not in (_wire.REPLY, _wire.REPLY_DATA):
            raise _wire.ProtocolError("frame out of order")
        number, status, piece, more = 0, -1, b"", False
        typed: "list[str]" = []
        for tag, data in _wire.fields(payload):
            if tag == _wire.TAG_NUMBER:
                number = int.from_bytes(data, "little")
            elif tag == _wire.TAG_STATUS:
                status = data[0]
            elif tag == _wire.TAG_BYTES:
                piece = data
            elif tag == _wire.TAG_TYPED:
                typed.append(data.decode())
            elif tag == _wire.TAG_MORE:
                more = True
        pending = self._under_way.get(number)
        if pending is None:
            return  # Of a call that nobody waits for any more.
        pending.pieces[at] = piece
        if status >= 0:
            pending.status, pending.typed = status, typed
        if not more:
            pending.whole = True
            self._tell(pending)
            self._under_way.pop(number, None)

    def _tell(self, pending: "Pending") -> None:
        if pending.then is not None:
            return pending.then(pending)
        try:
            pending.turn.release()
        except RuntimeError:
            pass  # It has been told before.

    def _pass_on(self) -> None:
        # Somebody who waits in a thread reads from now on; an event loop comes by itself.
        if self._reader.locked():
            return
        for pending in list(self._under_way.values()):
            if pending.then is None and pending.turn.locked():
                return self._tell(pending)

    def _lose(self, why: str) -> None:
        # One by one: who is interrupted here is followed by somebody who tells the rest.
        self._lost = self._lost or why
        for number, pending in list(self._under_way.items()):
            pending.lost = self._lost
            self._tell(pending)
            self._under_way.pop(number, None)


_bridge: "Optional[Bridge]" = None


def bridge() -> "Bridge":
    """That of this run. Raises ToolError outside one."""
    global _bridge
    channel = _wire.current
    if channel is None:
        raise ToolError("", "outside", "this program does not run in a casemate box")
    if _bridge is None or _bridge._channel is not channel:
        _bridge = Bridge(channel, channel.descriptor)
    return _bridge
