"""The other side of connectors of kind "http": a server over plain sockets, so that it can also be a hostile one."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """One that came in whole."""

    connection: int
    line: str
    headers: dict[str, str]  # names in small letters
    body: dict[str, Any]


def answer_bytes(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def result(value: Any) -> bytes:
    return answer_bytes(json.dumps({"result": value}).encode())


def reset(connection: socket.socket) -> None:
    """Closes with RST and not with FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


Behave = Callable[["Peer", socket.socket, Request], None]


@dataclass
class Peer:
    """Listens on `host`; `behave` answers each request, and closes what should not be kept."""

    behave: Behave = lambda peer, connection, request: connection.sendall(result(request.body["arguments"]))
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    greet: Callable[[socket.socket], bool] | None = None  # before anything is read; False: it is over
    seen: list[Request] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> Peer:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.listener = socket.create_server((self.host, 0), family=family, backlog=256)
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        self.lock = threading.Lock()
        self.over = False
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for one in self.open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}/rpc"

    def _accept(self) -> None:
        while not self.over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                self.open.append(connection)
                self.threads.append(threading.Thread(target=self._serve, args=(connection, self.connections)))
            self.threads[-1].start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                with self.lock:
                    self.open.append(connection)
            if self.greet and not self.greet(connection):
                return
            held = b""
            while True:
                while b"\r\n\r\n" not in held:
                    held += self._more(connection)
                head, _, held = held.partition(b"\r\n\r\n")
                line, *fields = head.decode().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields)}
                while len(held) < int(headers["content-length"]):
                    held += self._more(connection)
                body, held = held[: int(headers["content-length"])], held[int(headers["content-length"]) :]
                request = Request(number, line, headers, json.loads(body))
                with self.lock:
                    self.seen.append(request)
                self.behave(self, connection, request)
        with contextlib.suppress(OSError):
            connection.close()

    @staticmethod
    def _more(connection: socket.socket) -> bytes:
        got = connection.recv(65536)
        if not got:
            raise ValueError("it is over")
        return got


def drip(peer: Peer, connection: socket.socket, data: bytes, pause: float = 0.05) -> None:
    for byte in data:
        if peer.over:
            return
        connection.sendall(bytes([byte]))
        time.sleep(pause)


class Authority:
    """A certificate authority of a test's own, made by openssl(1)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "ca.pem"
        self._run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test authority",
                  "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip

    def _run(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=60)

    def server(self, names: str, *, days: int = 1) -> ssl.SSLContext:
        """For a server of these names, such as "IP:127.0.0.1"; negative days: it expired so long ago."""
        self._run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server", "-keyout", "s.key", "-out", "s.csr")
        (self.folder / "s.ext").write_text(f"subjectAltName={names}\n")
        self._run("x509", "-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                  "-days", str(days), "-extfile", "s.ext", "-out", "s.pem")  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "s.pem", self.folder / "s.key")
        return context
