"""Plays the C extension of a zygote, without a box: slots are plain forks.

The link is a socket to tests/slots.py, one message an order. "fork" comes with descriptors 0 to 3 of
the slot, and one more for parked(); "wait" and "poll" ask for the end of a slot.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys


def ready(link: int) -> None:
    os.write(link, b"ready")


def empty_buffers() -> None:
    pass


def failed(link: int, text: str) -> None:
    os.write(link, b"failed " + text.encode())


def serve(link: int) -> tuple[int, bool]:
    sock = socket.socket(fileno=os.dup(link))
    while True:
        data, descriptors, _, _ = socket.recv_fds(sock, 1 << 16, 5)
        if not data:
            os._exit(0)
        order = json.loads(data)
        if order["what"] == "fork":
            child = os.fork()
            if child == 0:
                sock.detach()
                _enter(order, descriptors)
                return 3, bool(order["rehearse"])
            for number in descriptors:
                os.close(number)
            answer: object = child
        else:
            flags = os.WNOHANG if order["what"] == "poll" else 0
            child, status, usage = os.wait4(order["pid"], flags)
            answer = [os.waitstatus_to_exitcode(status), usage.ru_minflt] if child else None
        sock.sendall(json.dumps(answer).encode())


def _enter(order: dict[str, object], descriptors: list[int]) -> None:
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) for number in descriptors]
    for number, held in enumerate(moved):
        os.dup2(held, number, number < 3)
    os.closerange(5, 256)
    os.chdir(str(order["root"]) + "/work")
    for name, value in dict(order["environment"]).items():  # type: ignore[call-overload]
        os.environ[name] = value
    from casemate import _slot

    _slot.ROOT = str(order["root"])
    for name in ("json", "socket", "fcntl"):
        globals().pop(name)


def touch() -> None:
    pass


def parked() -> None:
    os.write(4, b"p")
    os.close(4)
