"""casemate-http by itself: what it says of a call against what the server saw of it."""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate
from http_peer import Authority, Behave, Peer, answer_bytes, drip, reset, result

SECRET = "hunter2-hunter2"


class Program:
    """casemate-http, and a line of configuration for it."""

    def __init__(self, command: list[str | Path], url: str, **more: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"}
        )  # fmt: skip
        self.held = b""
        self.number = 0
        self.say({"url": url, "parallel": 16, "answer_max_bytes": 17 << 20, "secret_headers": {"Authorization": f"Bearer {SECRET}"}} | more)

    def say(self, what: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, arguments: Any = None, time_left_ms: int = 5000) -> int:
        self.number += 1
        self.say({"id": self.number, "capability": "peer.echo", "run": "r", "idempotency_key": f"r-{self.number}",
                  "time_left_ms": time_left_ms, "arguments": arguments or {}})  # fmt: skip
        return self.number

    def answer(self, seconds: float = 20) -> dict[str, Any]:
        assert self.process.stdout
        while b"\n" not in self.held:
            assert select.select([self.process.stdout], [], [], seconds)[0], "no answer"
            got = os.read(self.process.stdout.fileno(), 1 << 20)
            assert got, "casemate-http has ended"
            self.held += got
        line, _, self.held = self.held.partition(b"\n")
        told = json.loads(line)
        assert SECRET not in json.dumps(told)
        assert isinstance(told, dict)
        return told

    def call(self, arguments: Any = None, time_left_ms: int = 5000) -> dict[str, Any]:
        number = self.ask(arguments, time_left_ms)
        told = self.answer()
        assert told.pop("id") == number
        return told


class Programs:
    def __init__(self, binary: Path) -> None:
        self.binary, self.all = binary, list[Program]()

    def start(self, url: str, **more: Any) -> Program:
        return self.start_in([], url, **more)

    def start_in(self, before: list[str | Path], url: str, **more: Any) -> Program:
        self.all.append(Program([*before, self.binary], url, **more))
        return self.all[-1]


@pytest.fixture
def programs(casemate: Casemate) -> Iterator[Programs]:
    made = Programs(casemate.binary.with_name("casemate-http"))
    yield made
    for one in made.all:
        assert one.process.stdin and one.process.stdout
        one.process.stdin.close()
        assert one.process.wait(10) in (0, -signal.SIGKILL), "it ends when its caller does"
        one.process.stdout.close()


def test_a_call_is_one_post(programs: Programs) -> None:
    with Peer() as peer:
        program = programs.start(peer.url + "/a?b=c", headers={"X-Team": "a"})
        assert program.call({"n": 12345678901234567890123}) == {"result": {"n": 12345678901234567890123}}
    (request,) = peer.seen
    assert request.line == "POST /rpc/a?b=c HTTP/1.1"
    assert request.headers["idempotency-key"] == request.body["idempotency_key"] == "r-1"
    assert request.headers["authorization"] == f"Bearer {SECRET}" and request.headers["x-team"] == "a"
    assert request.headers["content-type"] == "application/json" and "expect" not in request.headers
    assert not {"accept-encoding", "cookie", "transfer-encoding"} & set(request.headers)
    assert (request.body["capability"], request.body["run"], request.body["id"]) == ("peer.echo", "r", 1)


def test_sixty_four_at_once_share_few_connections(programs: Programs) -> None:
    with Peer() as peer:
        program = programs.start(peer.url, parallel=8)
        for batch in range(4):
            numbers = {program.ask({"n": n}) for n in range(16)}
            told = [program.answer() for _ in range(16)]
            assert {one["id"] for one in told} == numbers and all("result" in one for one in told)
            for one in told:
                assert one["result"]["n"] == one["id"] - 1 - 16 * batch, "each has its own"
        assert len(peer.seen) == 64 and peer.connections <= 8
    assert sorted(r.headers["idempotency-key"] for r in peer.seen) == sorted(f"r-{n + 1}" for n in range(64))


def test_an_answer_of_ten_megabytes(programs: Programs) -> None:
    with Peer(lambda peer, c, r: c.sendall(result("x" * 10_000_000))) as peer:
        assert programs.start(peer.url).call()["result"] == "x" * 10_000_000


def test_an_ipv6_address_and_chunks_and_a_hundred(programs: Programs) -> None:
    def chunked(peer: Peer, c: socket.socket, r: Any) -> None:
        c.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b'{"res', b'ult": [1]}'):
            c.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        c.sendall(b"0\r\n\r\n")

    with Peer(chunked, host="::1") as peer:
        program = programs.start(peer.url)
        assert [program.call(), program.call()] == [{"result": [1]}] * 2
        assert peer.connections == 1


def _close(peer: Peer, c: socket.socket, r: Any) -> None:
    c.close()
    raise ValueError


def _endless_headers(peer: Peer, c: socket.socket, r: Any) -> None:
    c.sendall(b"HTTP/1.1 200 OK\r\n")
    while not peer.over:
        c.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")


def _endless_hundreds(peer: Peer, c: socket.socket, r: Any) -> None:
    while not peer.over:
        c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)


def _flood(peer: Peer, c: socket.socket, r: Any) -> None:
    c.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"result": "')
    while not peer.over:
        c.sendall(b"x" * 65536)


def _then_close(data: bytes) -> Behave:
    def behave(peer: Peer, c: socket.socket, r: Any) -> None:
        c.sendall(data)
        _close(peer, c, r)

    return behave


BOMB = gzip.compress(b'{"result": "' + b"x" * (64 << 20) + b'"}')
SMALL_ZIP = gzip.compress(b'{"result": 1}')
HOSTILE: dict[str, Behave] = {
    "close after reading": _close,
    "reset after reading": lambda peer, c, r: reset(c),
    "half a status line": _then_close(b"HTTP/1.1 2"),
    "half of the headers": _then_close(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "half an answer": _then_close(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"result": 1}'),
    "half a chunk": _then_close(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"result": 1}'),
    "too short a length": _then_close(b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"result": 1}'),
    "no number for a length": _then_close(b'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{"result": 1}'),
    "garbage": _then_close(b"\x00\xff\xfe" * 100),
    "http 0.9": _then_close(b'{"result": 1}'),
    "endless headers": _endless_headers,
    "endless 100 Continue": _endless_hundreds,
    "a flood": _flood,
    "a longer answer than may be": _then_close(result("x" * (18 << 20))),
    "a slow drip": lambda peer, c, r: drip(peer, c, result("x" * 100)),
    "silence": lambda peer, c, r: None,
    "204": _then_close(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "no body": _then_close(answer_bytes(b"")),
    "404": _then_close(answer_bytes(b'{"result": 1}', status="404 Not Found")),
    "503": _then_close(answer_bytes(b"Bearer hunter2-hunter2", status="503 Busy")),
    "401": _then_close(answer_bytes(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Who")),
    "a redirect to a file": _then_close(answer_bytes(b"", "Location: file:///etc/passwd", status="302 Found")),
    "a redirect to itself": lambda peer, c, r: c.sendall(answer_bytes(b"", f"Location: {peer.url}", status="307 There")),
    "a gzip bomb": _then_close(answer_bytes(BOMB, "Content-Encoding: gzip")),
    "what it did not accept": _then_close(answer_bytes(SMALL_ZIP, "Content-Encoding: gzip")),
    "a bomb in transfer": _then_close(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + BOMB),
    "another id": _then_close(answer_bytes(b'{"id": 99, "result": 1}')),
    "an id twice": _then_close(answer_bytes(b'{"id": 1, "id": 1, "result": 1}')),
    "two answers in one": _then_close(answer_bytes(b'{"result": 1, "error": "x"}')),
    "NaN": _then_close(answer_bytes(b'{"result": NaN}')),
    "a secret": lambda peer, c, r: c.sendall(result(r.headers)),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_after_the_request_an_answer_that_is_none_leaves_it_unknown(programs: Programs, what: str) -> None:
    with Peer(HOSTILE[what]) as peer:
        program = programs.start(peer.url)
        told = program.call(time_left_ms=1500)
        assert list(told) == ["unknown"], told
        if what in ("endless headers", "a flood", "a longer answer than may be"):
            assert "longer" in told["unknown"], "it is the bound that ends it, and not the time"
        peer.behave = lambda peer, c, r: c.sendall(result("again"))
        time.sleep(0.2)  # until the end of a connection that the server closed has come
        assert program.call() == {"result": "again"}, "it goes on"
        time.sleep(0.2)
        assert len(peer.seen) == 2, "each was sent once"


def test_a_request_on_a_kept_connection_that_dies_is_not_sent_again(programs: Programs) -> None:
    with Peer() as peer:
        program = programs.start(peer.url)
        assert program.call({"n": 1}) == {"result": {"n": 1}}
        for behave in (_close, lambda peer, c, r: reset(c)):
            peer.behave = behave
            assert list(program.call()) == ["unknown"]
            before = len(peer.seen)
            peer.behave = Peer.behave
            assert program.call({"n": 2}) == {"result": {"n": 2}}
            assert len(peer.seen) == before + 1
        assert len(peer.seen) == 5, [r.headers["idempotency-key"] for r in peer.seen]


def test_a_kept_connection_that_the_server_has_closed_is_replaced(programs: Programs) -> None:
    def once(peer: Peer, c: socket.socket, r: Any) -> None:
        c.sendall(result(1))
        _close(peer, c, r)

    with Peer(once) as peer:
        program = programs.start(peer.url)
        for _ in range(5):
            assert program.call() == {"result": 1}
            time.sleep(0.05)
        assert (len(peer.seen), peer.connections) == (5, 5)


def test_an_answer_to_what_was_not_asked_is_not_taken_for_the_next(programs: Programs) -> None:
    def twice(peer: Peer, c: socket.socket, r: Any) -> None:
        c.sendall(result("mine"))
        time.sleep(0.1)
        c.sendall(result("smuggled"))

    with Peer(twice) as peer:
        program = programs.start(peer.url)
        for _ in range(3):
            assert program.call() == {"result": "mine"}
            time.sleep(0.3)
        assert len(peer.seen) == 3


def test_what_the_server_says_was_not_done(programs: Programs) -> None:
    with Peer(_then_close(answer_bytes(b'{"not_done": "closed on sundays"}', status="503 Busy"))) as peer:
        assert programs.start(peer.url).call() == {"not_done": "closed on sundays"}


def test_before_the_request_nothing_is_done(programs: Programs) -> None:
    with Peer() as peer:
        gone = peer.url
    assert list(programs.start(gone).call()) == ["not_done"], "nobody listens"
    assert list(programs.start("http://no-such-name.invalid/").call()) == ["not_done"]
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    port = full.getsockname()[1]
    waiting = [socket.socket() for _ in range(8)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))
    told = programs.start(f"http://127.0.0.1:{port}/").call(time_left_ms=700)
    assert list(told) == ["not_done"] and "in time" in told["not_done"], told
    for one in [full, *waiting]:
        one.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a file of names of its own")
@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "224.0.0.1"])
def test_a_name_that_leads_where_no_name_must_lead(programs: Programs, tmp_path: Path, address: str) -> None:
    """By what the name leads to at that moment, whatever was asked before."""
    names = tmp_path / "hosts"
    names.write_text(f"{address} peer.internal\n127.0.0.1 here.internal\n")
    inside = f'mount --bind {names} /etc/hosts && exec "$0"'
    with Peer() as peer:
        port = peer.url.rpartition(":")[2].strip("/")
        here = programs.start_in(["unshare", "-m", "sh", "-c", inside], f"http://here.internal:{port}/")
        assert here.call() == {"result": {}}, "the file is the one that is read"
        told = programs.start_in(["unshare", "-m", "sh", "-c", inside], f"http://peer.internal:{port}/").call()
        assert list(told) == ["not_done"] and "must not lead" in told["not_done"], told


def test_a_server_that_closes_before_it_reads(programs: Programs) -> None:
    def greet(c: socket.socket) -> bool:
        reset(c)
        return False

    with Peer(greet=greet) as peer:
        # Whether our bytes were on their way is a race, and either answer is a true one.
        assert list(programs.start(peer.url).call())[0] in ("unknown", "not_done")
        assert peer.seen == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def test_tls_with_an_authority_of_its_own(programs: Programs, authority: Authority) -> None:
    with Peer(tls=authority.server("IP:127.0.0.1")) as peer:
        program = programs.start(peer.url, ca=authority.file.read_text())
        assert [program.call({"n": n}) for n in range(3)] == [{"result": {"n": n}} for n in range(3)]
        assert peer.connections == 1, "TLS connections are kept too"
        peer.behave = _close
        assert list(program.call()) == ["unknown"] and len(peer.seen) == 4


@pytest.mark.parametrize("what", ["another name", "expired", "unknown authority", "no certificates", "no TLS"])
def test_a_certificate_that_is_not_right_is_refused_before_anything_is_sent(
    programs: Programs, authority: Authority, what: str
) -> None:
    names, days = ("DNS:other.internal" if what == "another name" else "IP:127.0.0.1"), (-1 if what == "expired" else 1)
    ca = {"unknown authority": {}, "no certificates": {"ca": "nonsense"}}.get(what, {"ca": authority.file.read_text()})
    with Peer(tls=None if what == "no TLS" else authority.server(names, days=days)) as peer:
        told = programs.start(peer.url.replace("http:", "https:"), **ca).call()
        assert list(told) == ["not_done"] and peer.seen == [], told


def test_it_gives_up_what_it_does_not_need(programs: Programs) -> None:
    with Peer() as peer:
        program = programs.start(peer.url)
        assert program.call() == {"result": {}}
        proc = Path(f"/proc/{program.process.pid}")
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0
        if os.geteuid() == 0:
            assert status["Uid"].split() == ["65534"] * 4 and status["Groups"].strip() in ("", "65534")
            assert int(status["CapPrm"], 16) == 0 and (proc / "environ").stat().st_uid == 0, "nobody else reads it"
        limits = (proc / "limits").read_text()
        assert "Max core file size        0 " in limits
        for name in ("cmdline", "environ"):
            assert SECRET.encode() not in (proc / name).read_bytes()


def test_nonsense_from_its_caller_ends_it_or_is_not_done(programs: Programs, casemate: Casemate) -> None:
    program = programs.start("gopher://x/")
    assert "not_done" in program.call()
    binary = casemate.binary.with_name("casemate-http")
    wrong = subprocess.run([binary], input=b"{}\n[1]\n", capture_output=True, timeout=20)
    assert wrong.returncode == 1 and wrong.stderr.startswith(b"casemate-http: "), wrong
    asked = subprocess.run([binary, "--help"], capture_output=True, timeout=20)
    assert asked.returncode == 2 and b"casemate run --tools" in asked.stdout
