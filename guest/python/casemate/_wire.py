"""Frames and fields on the control socket: the guest's side of src/frame/guest.h.

A frame is u32 payload size, u16 type, u16 zero, payload; a payload is fields of u16 tag, u16 zero,
u32 size, bytes; all little endian. The numbers below are those of guest.h, and tests/test_wire.py
compares every one of them with the header.

This module is loaded by every run, so it imports nothing that the interpreter has not loaded
before it: no struct, no socket, no enum, and not __future__, hence the quoted annotations.
"""

import os
from _thread import RLock  # type: ignore[attr-defined, unused-ignore]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

# GuestType.
PROGRAM = 1
FILE = 2
FILE_DATA = 3
START = 4
AGAIN = 5
COLLECT = 6  # to casemate-microvm
RESTORED = 7  # from it
FORK = 8  # to the zygote of a shared sandbox
CLEAN = 9
FORK_WARM = 10
REPLY = 12  # to a call
REPLY_DATA = 13
ORDER = 16
RESULT = 17
ARTIFACT = 18
EXCEPTION = 19
DONE = 20
ENDED = 21  # of casemate-init
PARKED = 22  # of a slot that is alone in its kernel
MADE = 23  # to casemate-microvm: a machine may be made a template of
SERVING = 24  # of that zygote
CLEANED = 25
BEGUN = 26  # of a guest with a kernel of its own
CALL = 32  # of a capability
CALL_DATA = 33
PARK_ROUNDS = 16

# Tag.
TAG_BYTES = 1
TAG_PATH = 2
TAG_NAME = 3
TAG_ARGUMENT = 4
TAG_ENVIRONMENT = 5
TAG_STREAM = 6
TAG_NUMBER = 7
TAG_MEDIA_TYPE = 8
TAG_TEXT = 9
TAG_ORIGIN = 10
TAG_TYPE = 32
TAG_MESSAGE = 33
TAG_ERRNO = 34
TAG_FILE = 35
TAG_LINE = 36
TAG_SOURCE = 37
TAG_HIDDEN_FRAMES = 38
TAG_FRAME_FILE = 39
TAG_FRAME_LINE = 40
TAG_FRAME_FUNCTION = 41
TAG_FRAME_SOURCE = 42
TAG_HINT = 43
TAG_RENDERED = 44
TAG_EXIT_CODE = 45
TAG_WAIT_STATUS = 46
TAG_OOM_KILLS = 47
TAG_MEMORY_PEAK = 48
TAG_PIDS_REFUSED = 49
TAG_PIDS_PEAK = 50
TAG_DISK_USED = 51
TAG_DISK_FREE = 52
TAG_INODES_FREE = 53
TAG_MORE = 64
TAG_STATUS = 65
TAG_TYPED = 66

# What TAG_STATUS of a REPLY says: a value, or the JSON of an error or of a denial.
REPLY_VALUE = 0
REPLY_ERROR = 1
REPLY_DENIED = 2

# The bounds of src/base/limits.h that this side keeps.
FRAME_PAYLOAD_MAX = 1 << 20
FIELDS_MAX = 4096
ARTIFACTS_MAX = 256
SUMMARY_MAX = 200
REPORT_FRAMES_MAX = 64
REPORT_HINTS_MAX = 16
REPORT_TEXT_MAX = 16 << 10
# The supervisor keeps kOutputSegmentsMax (4096) changes of stream and counts the rest. Past four
# times as many, more of them would only cost the program time and control bytes.
ORDERS_MAX = 16384

_READ_SIZE = 1 << 16


class ProtocolError(Exception):
    """The engine sent something that is not the protocol; the run cannot begin."""


def field(tag: int, data: bytes) -> bytes:
    """One field, ready to be joined to a payload."""
    return tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


def text_field(tag: int, text: str) -> bytes:
    """A field of UTF-8. Lone surrogates become visible escapes: the other side wants valid UTF-8."""
    return field(tag, text.encode("utf-8", "backslashreplace"))


def number_field(tag: int, value: int) -> bytes:
    """A field of one u64."""
    return field(tag, value.to_bytes(8, "little"))


def fields(payload: bytes) -> "Iterator[tuple[int, bytes]]":
    """The (tag, bytes) pairs of a payload. Raises ProtocolError as frame.h's parse_fields does."""
    at, end, count = 0, len(payload), 0
    while at < end:
        count += 1
        head = payload[at : at + 8]
        size = int.from_bytes(head[4:], "little")
        at += 8 + size
        if len(head) < 8 or head[2] or head[3] or at > end or count > FIELDS_MAX:
            raise ProtocolError("malformed field")
        yield head[0] | head[1] << 8, payload[at - size : at]


def frames(descriptor: int) -> "Iterator[tuple[int, bytes]]":
    """The (type, payload) pairs that arrive, until the other side closes.

    Raises ProtocolError for a malformed or truncated frame, OSError when reading fails.
    """
    held = b""
    while True:
        while len(held) >= 8:
            size = int.from_bytes(held[:4], "little")
            if size > FRAME_PAYLOAD_MAX or held[6] or held[7]:
                raise ProtocolError("malformed frame")
            if len(held) < 8 + size:
                break
            yield held[4] | held[5] << 8, held[8 : 8 + size]
            held = held[8 + size :]
        data = os.read(descriptor, _READ_SIZE)
        if not data:
            if held:
                raise ProtocolError("the stream ended within a frame")
            return
        held = held + data if held else data


class Channel:
    """The control socket as the program's process sees it.

    Thread-safe. Sending never raises: a program may close descriptor 3, put something else in its
    place or fork, and none of this may change how the program ends. Once a send has failed the
    channel is gone for good, and send() answers False.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        status = os.fstat(descriptor)
        self._identity = (status.st_dev, status.st_ino)
        self._descriptor = descriptor
        self._process = os.getpid()
        self._orders_left = ORDERS_MAX
        # Reentrant, because a signal handler of the program may print while a send is under way.
        self._lock = RLock()

    @property
    def lock(self) -> "RLock":
        """Held while a frame is sent; by who sends several that belong together, until the last."""
        return self._lock

    @property
    def descriptor(self) -> int:
        """The socket; -1 when it is gone."""
        return self._descriptor

    def owned(self) -> bool:
        """True in the process that runs the program, False in any child that it forked."""
        return os.getpid() == self._process

    def usable(self) -> bool:
        """True while the descriptor is still our socket and this is still our process."""
        return self._descriptor >= 0 and self.owned() and self.intact()

    def intact(self) -> bool:
        """True while the descriptor is still our socket.

        The identity is compared because a program that closes 3 may get 3 again for a file of its
        own, and frames must not be written into that.
        """
        if self._descriptor < 0:
            return False
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def send(self, kind: int, payload: bytes) -> bool:
        """Sends one frame. False when it could not be sent or is larger than a frame may be."""
        if len(payload) > FRAME_PAYLOAD_MAX:
            return False
        data = len(payload).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload
        with self._lock:
            if not self.usable():
                self._descriptor = -1
                return False
            try:
                sent = os.write(self._descriptor, data)
                while sent < len(data):
                    sent += os.write(self._descriptor, data[sent:])
            except OSError:
                self._descriptor = -1
                return False
        return True

    def order(self, stream: int, total: int) -> None:
        """Says that from `total` bytes on of stream 1 or 2, that stream's bytes come next.

        Dropped, not waited for, while another frame is being sent: order is best effort, and a
        print must not wait for a report.
        """
        if self._descriptor < 0 or self._orders_left <= 0:
            return
        if self._lock.acquire(False):
            try:
                self._orders_left -= 1
                self.send(
                    ORDER,
                    field(TAG_STREAM, bytes((stream,)))
                    + number_field(TAG_NUMBER, total),
                )
            finally:
                self._lock.release()

    def forget(self) -> None:
        """Gives the socket up, in a forked child: nothing of its doings is reported."""
        if self._descriptor >= 0:
            try:
                status = os.fstat(self._descriptor)
                if (status.st_dev, status.st_ino) == self._identity:
                    os.close(self._descriptor)
            except OSError:
                pass  # Closed already: that is what we want.
            self._descriptor = -1


# For casemate.artifact and the figures: the channel of this process, None outside a run, and the
# directory that the program's files are in.
current: "Optional[Channel]" = None
work = "/vol/work"
