"""Connectors of kind "http" through `casemate run`: what the program is told against what the server saw."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate, Ended, descendants
from http_peer import Authority, Behave, Peer, answer_bytes, result
from tools_kit import ALLOW, IMPORT

SECRET = "hunter2-hunter2"
ENV = {"BILLING_TOKEN": f"Bearer {SECRET}"}
TELL = IMPORT + "try: print('value', tools.peer.echo(n=1))\nexcept ToolError as e: print(e.code, e.effect, e.message)\n"


class Http:
    """A tools file of one endpoint."""

    def __init__(self, casemate: Casemate, folder: Path) -> None:
        self.casemate, self.folder = casemate, folder
        self.policy = ALLOW
        self.time_max = "5s"

    def options(self, url: str, more: str = "") -> list[str]:
        text = f"""[connectors.peer]
kind = "http"
url = "{url}"
{more}
[[tools]]
name = "peer.echo"
connector = "peer"
durable = false
time_max = "{self.time_max}"
labels = ["seen"]
"""
        (self.folder / "tools.toml").write_text(text)
        (self.folder / "policy.toml").write_text(self.policy)
        return ["--tools", str(self.folder / "tools.toml"), "--policy", str(self.folder / "policy.toml"),
                "--audit", str(self.folder / "audit")]  # fmt: skip

    def run(self, program: str, url: str, more: str = 'headers_from_env = {"Authorization" = "BILLING_TOKEN"}', **options: Any) -> Ended:
        return self.casemate.python(program, *self.options(url, more), env=ENV, **options)

    def printed(self, *arguments: Any) -> str:
        outcome = self.run(*arguments).outcome
        assert outcome["status"] == "ok", outcome["report"]
        text: str = outcome["stdout"]["text"]
        return text


@pytest.fixture
def http(casemate: Casemate, tmp_path: Path) -> Http:
    return Http(casemate, tmp_path)


def test_a_call_reaches_the_endpoint_once_and_its_secret_nobody_else(http: Http) -> None:
    with Peer() as peer:
        ended = http.run(TELL, peer.url)
    (request,) = peer.seen
    assert ended.outcome["stdout"]["text"] == "value {'n': 1}\n", ended
    (call,) = ended.outcome["calls"]
    assert request.headers["idempotency-key"] == call["id"] and request.body["run"] == ended.outcome["run_id"]
    assert request.headers["authorization"] == ENV["BILLING_TOKEN"]
    kept = b"".join(path.read_bytes() for path in http.folder.rglob("*") if path.is_file())
    for text in (ended.stdout, ended.stderr.encode(), kept, http.casemate.binary.with_name("casemate-http").read_bytes()):
        assert SECRET.encode() not in text


def _silent(peer: Peer, c: socket.socket, r: Any) -> None: ...


def _gone(peer: Peer, c: socket.socket, r: Any) -> None:
    c.close()
    raise ValueError


TOLD: dict[str, tuple[Behave, str]] = {
    "an error": (lambda p, c, r: c.sendall(answer_bytes(b'{"error": "no such tenant"}')), "failed None no such tenant"),
    "not done": (lambda p, c, r: c.sendall(answer_bytes(b'{"not_done": "closed"}', status="503 No")), "unavailable False closed"),
    "500": (lambda p, c, r: c.sendall(answer_bytes(b"{}", status="500 No")), "unknown None the server answers with the HTTP status 500"),
    "silence": (_silent, "unknown None no whole answer in time"),
    "an end": (_gone, "unknown None the server closed the connection without an answer"),
    "a secret": (lambda p, c, r: c.sendall(result(r.headers)), "unknown None the server's answer repeats a secret of this connector, and is withheld"),
}  # fmt: skip


@pytest.mark.parametrize("what", TOLD)
def test_what_the_program_is_told_is_what_is_known(http: Http, what: str) -> None:
    behave, told = TOLD[what]
    http.time_max = "2s"
    with Peer(behave) as peer:
        assert told in http.printed(TELL, peer.url)
        assert len(peer.seen) == 1


def test_without_a_connection_nothing_was_done(http: Http) -> None:
    with Peer() as peer:
        url = peer.url
    assert http.printed(TELL, url).startswith("unavailable False")


def test_tls_with_a_file_beside_the_tools_file(http: Http) -> None:
    authority = Authority(http.folder)
    with Peer(tls=authority.server("IP:127.0.0.1")) as peer:
        assert http.printed(TELL, peer.url, 'ca_file = "ca.pem"') == "value {'n': 1}\n"
        assert http.printed(TELL, peer.url, "").startswith("unavailable False")
        assert len(peer.seen) == 1


# What "not done" says comes from outside too, and must not be read without the labels that results have.
def test_each_answer_of_the_server_brings_its_labels(http: Http) -> None:
    http.policy = ALLOW.replace("[permissions]", '[permissions]\ndeny = ["peer.echo(n > 1)"]')
    http.policy += '"peer.echo" = ["seen"]\n[[flow]]\nwhen = "seen in run and sink == external"\nverdict = "deny"\nreason = "it has read"\n'
    with Peer(lambda p, c, r: c.sendall(answer_bytes(b'{"not_done": "closed"}'))) as peer:
        printed = http.printed(IMPORT + "for _ in range(2):\n    try: tools.peer.echo(n=1)\n    except ToolError as e: print(e.code)\n", peer.url)
        assert printed == "unavailable\ndenied\n" and len(peer.seen) == 1


def test_sixty_four_threads(http: Http) -> None:
    program = IMPORT + """
from concurrent.futures import ThreadPoolExecutor
print(sum(ThreadPoolExecutor(64).map(lambda n: tools.peer.echo(n=n)["n"], range(64))))
"""
    with Peer() as peer:
        assert http.printed(program, peer.url) == "2016\n"
        assert len({r.headers["idempotency-key"] for r in peer.seen}) == len(peer.seen) == 64
        assert peer.connections <= 16


def test_a_killed_casemate_http_leaves_its_calls_unknown_and_is_started_anew(http: Http) -> None:
    killed: list[int] = []

    def kill(peer: Peer, c: socket.socket, r: Any) -> None:
        if not killed:
            for pid, command in descendants().items():
                if "casemate-http" in command:
                    for name in ("cmdline", "environ"):
                        assert SECRET.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
                    killed.append(pid)
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
            return
        c.sendall(result("anew"))

    with Peer(kill) as peer:
        assert http.printed(TELL + TELL, peer.url) == "unknown None no answer: the program has ended\nvalue anew\n"
        assert len(killed) == 1 and len(peer.seen) == 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('headers_from_env = {"Authorization" = "NO_SUCH_NAME"}', "connectors.peer: headers_from_env.Authorization: the environment has no NO_SUCH_NAME"),
        ('headers_from_env = {"Authorization" = "BROKEN"}', "what the environment has as BROKEN has characters"),
        ('headers = {"Host" = "x"}', "tools.toml:4:"),
        ("verify = false", "verify"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_one_clear_line(http: Http, more: str, says: str) -> None:
    options = http.options("http://127.0.0.1:1/", more)
    env = ENV | {"BROKEN": f"{SECRET}\nX: y"}
    ended = http.casemate.call("run", "--trust", "trusted", *options, "-c", "1", env=env)
    assert ended.exit_code == 2 and says in ended.stderr and len(ended.stderr.splitlines()) == 1, ended
    assert SECRET not in ended.stderr


def test_a_secret_does_not_cross_the_network_in_the_clear(http: Http) -> None:
    options = http.options("http://billing.internal/", 'headers_from_env = {"Authorization" = "BILLING_TOKEN"}')
    ended = http.casemate.call("run", "--trust", "trusted", *options, "-c", "1", env=ENV)
    assert ended.exit_code == 2 and "in the clear" in ended.stderr, ended


def test_casemate_itself_has_nothing_of_libcurl(casemate: Casemate) -> None:
    assert b"curl_easy" not in casemate.binary.read_bytes() and b"libcurl.so" not in casemate.binary.read_bytes()
    assert b"libcurl.so" in casemate.binary.with_name("casemate-http").read_bytes()
