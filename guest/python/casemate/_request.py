"""Reads one run's request from the engine and puts its files in place."""

import os

from casemate import _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

# The bounds of src/base/limits.h. The engine keeps them too; a box does not rely on it.
_PROGRAM_MAX = 8 << 20
_FILES_MAX = 1024
_ARGUMENTS_MAX = 1024
_ENVIRONMENT_MAX = 256
_PATH_MAX = 4096


NAME = "program.py"  # of a program that was given none


class Request:
    """One run: the program's bytes, its display name, and what it finds around itself."""

    def __init__(self) -> None:
        self.source = b""
        self.name = NAME
        self.arguments: list[bytes] = []
        self.environment: list[bytes] = []
        self.memory_bytes = 0
        self.files = 0  # how many were put in place


def receive(descriptor: int, work: str) -> "Optional[Request]":
    """Reads up to and with START, writing input files beneath the directory `work`.

    None when the engine closed the socket before START: nobody wants this box any more.
    Raises ProtocolError for anything else that is not the protocol, OSError when a file cannot be
    written.
    """
    request = Request()
    pieces: list[bytes] = []
    total = 0
    output = -1
    stage = _wire.PROGRAM
    try:
        for kind, payload in _wire.frames(descriptor):
            if (
                kind > _wire.START
                or kind < stage
                or (kind == _wire.FILE_DATA and output < 0)
            ):
                raise _wire.ProtocolError("frame out of order")
            if kind == _wire.START:
                request.source = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                _start(request, payload)
                return request
            # Files may follow files; only the program's pieces cannot come after them.
            stage = _wire.FILE if kind != _wire.PROGRAM else stage
            data = _single(
                payload, _wire.TAG_PATH if kind == _wire.FILE else _wire.TAG_BYTES
            )
            if kind == _wire.PROGRAM:
                pieces.append(data)
                total += len(data)
                if total > _PROGRAM_MAX:
                    raise _wire.ProtocolError("program too large")
            elif kind == _wire.FILE:
                request.files += 1
                if request.files > _FILES_MAX:
                    raise _wire.ProtocolError("too many files")
                if output >= 0:
                    os.close(output)
                    output = -1
                output = _open_input(os.fsencode(work), data)
            else:
                write_all(output, data)
    finally:
        if output >= 0:
            os.close(output)
    return None


def _single(payload: bytes, tag: int) -> bytes:
    # The one field of a payload that has no other.
    size = len(payload) - 8
    if size < 0 or payload[:8] != tag.to_bytes(4, "little") + size.to_bytes(
        4, "little"
    ):
        raise _wire.ProtocolError("unexpected fields")
    return payload[8:]


def _start(request: "Request", payload: bytes) -> None:
    for tag, data in _wire.fields(payload):
        if tag == _wire.TAG_NAME:
            request.name = data.decode("utf-8", "surrogateescape")
            if (
                not data
                or data in (b".", b"..")
                or b"/" in data
                or b"\0" in data
                or len(data) > 255
            ):
                raise _wire.ProtocolError("program name is not a file name")
        elif tag == _wire.TAG_ARGUMENT:
            request.arguments.append(data)
        elif tag == _wire.TAG_ENVIRONMENT:
            if data.find(b"=") <= 0 or b"\0" in data:
                raise _wire.ProtocolError("environment entry is not NAME=VALUE")
            request.environment.append(data)
        elif tag == _wire.TAG_NUMBER and len(data) == 8:
            request.memory_bytes = int.from_bytes(data, "little")
        else:
            raise _wire.ProtocolError("unexpected field in START")
    if (
        len(request.arguments) > _ARGUMENTS_MAX
        or len(request.environment) > _ENVIRONMENT_MAX
    ):
        raise _wire.ProtocolError("too many arguments or variables")


def _open_input(work: bytes, path: bytes) -> int:
    parts = path.split(b"/")
    if (
        b"\0" in path
        or len(path) > _PATH_MAX
        or any(part in (b"", b".", b"..") for part in parts)
    ):
        raise _wire.ProtocolError("file path is not a plain relative path")
    directory = work
    for part in parts[:-1]:
        directory += b"/" + part
        try:
            os.mkdir(directory)
        except FileExistsError:
            pass
    return create(directory + b"/" + parts[-1])


def create(path: bytes) -> int:
    """Opens a new file for writing in place of whatever has that name; returns its descriptor.

    What was there is unlinked first, so that nothing is written through a link and no pipe is
    waited on. Raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, 0o644)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte, since a nearly full disk takes a part. Raises OSError."""
    done = os.write(descriptor, data)
    while done < len(data):
        done += os.write(descriptor, data[done:])
