"""What the engine sends to a runner."""

from __future__ import annotations

from typing import Optional

from casemate import _wire


def frame(kind: int, *fields: bytes) -> bytes:
    payload = b"".join(fields)
    return len(payload).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload


def request(
    source: bytes,
    files: Optional[dict[bytes, bytes]] = None,
    arguments: tuple[bytes, ...] = (),
    environment: tuple[bytes, ...] = (),
    memory_bytes: int = 0,
    name: Optional[bytes] = None,
) -> bytes:
    """All frames of one request, in the order of guest.h."""
    piece = _wire.FRAME_PAYLOAD_MAX // 2
    out = b""
    for at in range(0, len(source), piece):
        out += frame(
            _wire.PROGRAM, _wire.field(_wire.TAG_BYTES, source[at : at + piece])
        )
    for path, data in (files or {}).items():
        out += frame(_wire.FILE, _wire.field(_wire.TAG_PATH, path))
        for at in range(0, len(data), piece):
            out += frame(
                _wire.FILE_DATA, _wire.field(_wire.TAG_BYTES, data[at : at + piece])
            )
    start = [] if name is None else [_wire.field(_wire.TAG_NAME, name)]
    start += [_wire.field(_wire.TAG_ARGUMENT, argument) for argument in arguments]
    start += [_wire.field(_wire.TAG_ENVIRONMENT, entry) for entry in environment]
    if memory_bytes:
        start.append(_wire.number_field(_wire.TAG_NUMBER, memory_bytes))
    return out + frame(_wire.START, *start)


def parse(control: bytes) -> "list[tuple[int, list[tuple[int, bytes]]]]":
    """Whole frames of what the runner sent; a program may have added rubbish, which ends the list."""
    parsed = []
    while len(control) >= 8:
        size = int.from_bytes(control[:4], "little")
        if (
            size > _wire.FRAME_PAYLOAD_MAX
            or control[6:8] != b"\0\0"
            or len(control) < 8 + size
        ):
            break
        try:
            parsed.append(
                (
                    control[4] | control[5] << 8,
                    list(_wire.fields(control[8 : 8 + size])),
                )
            )
        except _wire.ProtocolError:
            break
        control = control[8 + size :]
    return parsed
