"""Rows of reference kind `network` that concern one run: a box has its own loopback and no way out.

The image has neither curl nor node; Python's sockets stand for both.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from conftest import SLOW, Casemate

ADDRESSES = {
    "public": "socket.create_connection(('1.1.1.1', 443), 5)",
    "plain http": "socket.create_connection(('1.1.1.1', 80), 5)",
    "name server": "socket.create_connection(('8.8.8.8', 53), 5)",
    "test net": "socket.create_connection(('192.0.2.1', 80), 5)",
    "private": "socket.create_connection(('10.0.0.1', 80), 5)",
    "gateway": "socket.create_connection(('172.17.0.1', 80), 5)",
    "metadata": "socket.create_connection(('169.254.169.254', 80), 5)",
    "IPv6": "socket.create_connection(('2606:4700:4700::1111', 443), 5)",
    "IPv6 link-local": "socket.create_connection(('fe80::1', 80), 5)",
    "IPv4 in IPv6": "socket.create_connection(('::ffff:1.1.1.1', 80), 5)",
    "datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))",
    "broadcast": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('255.255.255.255', 9))",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "packet": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "vsock": "socket.socket(socket.AF_VSOCK).connect((2, 1024))",
}


@pytest.mark.parametrize("where", ADDRESSES)
def test_B079_there_is_no_way_out(casemate: Casemate, where: str) -> None:
    code = f"import socket, time\nbegun = time.monotonic()\ntry:\n    {ADDRESSES[where]}\n    print('reached')\n"
    code += "except OSError as e:\n    print(e.strerror, time.monotonic() - begun < 5)"
    outcome = casemate.python(code).outcome
    said, _, quick = outcome["stdout"]["text"].strip().rpartition(" ")
    assert quick == "True" and said in (
        "Network is unreachable", "Operation not permitted", "Permission denied", "Address family not supported by protocol",
        "Invalid argument",  # a link-local address that names no link
    ), outcome["report"]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["github.com", "index.example.org", "metadata.example.internal", "host.docker.internal"]
)
def test_B088_no_host_is_reachable_by_name(casemate: Casemate, name: str) -> None:
    code = f"import socket\nfor port in (80, 443):\n    try: print(socket.create_connection(({name!r}, port), 4))\n"
    code += "    except OSError as e: print('refused')"
    ended = casemate.python(code)
    assert ended.outcome["stdout"]["text"] == "refused\nrefused\n"
    assert ended.seconds < 5 * SLOW


def test_B080_there_is_no_proxy_to_ask(casemate: Casemate) -> None:
    code = (
        "import os, urllib.request\nprint([k for k in os.environ if 'proxy' in k.lower()], urllib.request.getproxies())"
    )
    ended = casemate.python(code, env={"HTTPS_PROXY": "http://127.0.0.1:3128", "http_proxy": "http://127.0.0.1:3128"})
    assert ended.outcome["stdout"]["text"] == "[] {}\n"


SERVER = """
import http.client, http.server, socket, subprocess, sys, threading, time
{serve}
def ask(host):
    try:
        c = http.client.HTTPConnection(host, 8123, timeout=3); c.request("GET", "/"); return c.getresponse().status
    except OSError as e: return e.strerror or str(e)
for _ in range(200):
    if ask("127.0.0.1") == 200: break
    time.sleep(0.02)
print(ask("localhost"), ask("127.0.0.1"), ask("127.9.9.9"), ask("::1"))
{stop}
"""


@pytest.mark.parametrize("how", ["process", "thread"])
def test_B085_a_server_in_the_box_is_reached_on_its_own_loopback(casemate: Casemate, how: str) -> None:
    serve, stop = {
        "process": ("p = subprocess.Popen([sys.executable, '-m', 'http.server', '8123'], stderr=subprocess.DEVNULL,"
                    " stdout=subprocess.DEVNULL)", "p.terminate(); p.wait()"),
        "thread": ("class Quiet(http.server.SimpleHTTPRequestHandler):\n    def log_message(self, *a): pass\n"
                   "s = http.server.HTTPServer(('', 8123), Quiet)\n"
                   "threading.Thread(target=s.serve_forever, daemon=True).start()", "s.shutdown()"),
    }[how]  # fmt: skip
    outcome = casemate.python(SERVER.format(serve=serve, stop=stop)).outcome
    assert outcome["status"] == "ok", outcome["report"]
    first, second, third, v6 = outcome["stdout"]["text"].split(" ", 3)
    assert (first, second, third) == ("200", "200", "200")
    assert v6.strip() in ("200", "Connection refused", "Cannot assign requested address", "Network is unreachable")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_B085_the_hosts_loopback_is_not_reached(casemate: Casemate, address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError:
            return  # a host without that family has nothing there to be reached
        listener.listen()
        listener.settimeout(0.1)
        port = listener.getsockname()[1]
        code = f"import socket\ntry: socket.create_connection(({address!r}, {port}), 3); print('reached')\n"
        outcome = casemate.python(code + "except OSError as e: print(e.strerror)").outcome
        assert outcome["stdout"]["text"].strip() in (
            "Connection refused", "Cannot assign requested address", "Network is unreachable",
        )  # fmt: skip
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize("kind", ["abstract", "path"])
def test_B085_nor_are_its_local_sockets(casemate: Casemate, tmp_path: Path, kind: str) -> None:
    name = f"\0casemate-test-{tmp_path.name}" if kind == "abstract" else str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        code = f"import socket\ntry: socket.socket(socket.AF_UNIX).connect({name!r}); print('reached')\n"
        outcome = casemate.python(code + "except OSError as e: print(e.strerror)").outcome
    assert outcome["stdout"]["text"].strip() in ("Connection refused", "No such file or directory", "Permission denied")


def test_B085_a_box_has_a_name_and_no_look_at_the_kernels_tables(casemate: Casemate) -> None:
    code = (
        "import os, socket\nprint(socket.gethostname(), os.path.exists('/proc/net/tcp'), os.path.exists('/sys/class/net'))\n"
        "try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nexcept OSError as e: print(type(e).__name__)"
    )
    assert casemate.python(code).outcome["stdout"]["text"].startswith("box ")
