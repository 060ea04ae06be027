"""Observers of the network, and of sockets that are not bound to one."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from observers.base import Observer
from observers.processes import inside
from outer_box import ADDRESS, ADDRESS6

if TYPE_CHECKING:
    from watch import Run


class DatagramArrived(Observer):
    """A UDP sink on an address of the outside."""

    def prepare(self) -> None:
        self._sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sink.bind((ADDRESS, 0))
        self._sink.setblocking(False)
        self.arguments = {"host": ADDRESS, "port": str(self._sink.getsockname()[1]), "word": self.secret}

    def verdict(self, run: Run) -> str | None:
        try:
            data, sender = self._sink.recvfrom(1024)
        except BlockingIOError:
            return None
        return f"the sink got a packet from {sender[0]}" if data.decode() == self.secret else None

    def clean(self) -> None:
        self._sink.close()
        super().clean()


class ConnectionArrived(Observer):
    """A TCP sink on an address of the outside."""

    family, host = socket.AF_INET, ADDRESS

    def prepare(self) -> None:
        self._sink = socket.socket(self.family, socket.SOCK_STREAM)
        self._sink.bind((self.host, 0))
        self._sink.listen()
        self._sink.setblocking(False)
        self.arguments = {"host": self.host, "port": str(self._sink.getsockname()[1]), "word": self.secret}

    def verdict(self, run: Run) -> str | None:
        try:
            connection, sender = self._sink.accept()
        except BlockingIOError:
            return None
        with connection:
            word = connection.recv(100).decode()
        return f"the sink got a connection from {sender[0] or 'a socket'}" if word == self.secret else None

    def clean(self) -> None:
        self._sink.close()
        super().clean()


class ConnectionArrived6(ConnectionArrived):
    """The same by IPv6."""

    family, host = socket.AF_INET6, ADDRESS6


class AbstractReached(Observer):
    """A daemon that listens on an abstract socket."""

    def prepare(self) -> None:
        self._daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._daemon.bind(f"\0shim-{self.secret[:8]}")
        self._daemon.listen()
        self._daemon.setblocking(False)
        self.arguments = {"name": f"shim-{self.secret[:8]}", "word": self.secret}

    def verdict(self, run: Run) -> str | None:
        try:
            connection, _ = self._daemon.accept()
        except BlockingIOError:
            return None
        with connection:
            return "the daemon was told" if connection.recv(100).decode() == self.secret else None

    def clean(self) -> None:
        self._daemon.close()
        super().clean()


class SocketListed(Observer):
    """Sockets of a kind in the guest's network namespace, by a table of /proc/PID/net."""

    table = ""

    def wanted(self, fields: list[str]) -> bool:
        """Whether a line of the table is what is looked for."""
        return bool(fields)

    def held(self, pid: int, label: str) -> None:
        for line in Path(f"/proc/{pid}/net/{self.table}").read_text().splitlines()[1:]:
            if self.wanted(line.split()) and not self.seen:
                self.seen.append(f"a socket in /proc/PID/net/{self.table}")


class PacketSocket(SocketListed):
    """AF_PACKET."""

    table = "packet"


class RawSocket(SocketListed):
    """Raw IP."""

    table = "raw"


class NetlinkSocket(SocketListed):
    """Netlink, with a port: the kernel's own have none."""

    table = "netlink"

    def wanted(self, fields: list[str]) -> bool:
        return fields[2] != "0"


class NetfilterSocket(SocketListed):
    """Netlink to netfilter, in another network namespace than the box's."""

    table = "netlink"

    def wanted(self, fields: list[str]) -> bool:
        return fields[1] == "12" and fields[2] != "0"

    def held(self, pid: int, label: str) -> None:
        namespace = os.stat(f"/proc/{pid}/ns/net").st_ino
        if label == "first":
            self._first = namespace
        elif namespace != self._first:
            super().held(pid, label)


def _loopback_flags() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, 0x8913, struct.pack("16sH14x", b"lo", 0))
    return str(struct.unpack_from("16xH", answer)[0])


class LoopbackDown(Observer):
    """lo in the guest's network namespace."""

    def held(self, pid: int, label: str) -> None:
        flags = inside(pid, "net", _loopback_flags)
        if flags and not int(flags) & 1:
            self.seen.append("lo is down")
