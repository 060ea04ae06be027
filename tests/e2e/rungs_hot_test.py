"""Hot slots of the stronger rungs: each is a sandbox or a machine of its own, which prepared itself."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import signal
import time
from pathlib import Path

import pytest
from conftest import SLOW, Casemate, descendants, wait_for
from rungs import hot_outcomes, needs, on

RUNGS = on("gvisor", "microvm")
HOT = ("run", "--json", "--record", "--trust", "trusted", "--start", "hot")


@pytest.mark.parametrize("rung", RUNGS)
def test_slots_share_nothing(casemate: Casemate, rung: str) -> None:
    code = """
import builtins, os, random, secrets, tempfile, uuid, ssl, json, pathlib
import numpy
print(json.dumps([getattr(builtins, "left", None), os.path.exists("/tmp/left"), os.path.exists("/dev/shm/left"), os.getcwd()]))
print(json.dumps([random.random(), secrets.token_hex(8), str(uuid.uuid4()), ssl.RAND_bytes(8).hex(), tempfile.mktemp(),
                  float(numpy.random.random()), float(numpy.random.default_rng().random()), os.urandom(8).hex(), hash("text"),
                  os.getrandom(8).hex(), open("/dev/random", "rb").read(8).hex(), random.SystemRandom().random(),
                  str(uuid.uuid1()), os.path.basename(tempfile.mkdtemp())]))
builtins.left = 1
pathlib.Path("/tmp/left").touch(); pathlib.Path("/dev/shm/left").touch(); os.chdir("/")
"""
    found = [one["stdout"]["text"].splitlines() for one in hot_outcomes(casemate, rung, code, 4)]
    assert [lines[0] for lines in found] == ['[null, false, false, "/vol/work"]'] * 4
    # A hash is one of a template's, as of a zygote's: its interpreter has begun.
    for number, values in enumerate(zip(*(json.loads(lines[1]) for lines in found), strict=True)):
        assert len(set(values)) == len(found) or (rung == "microvm" and number == 8), (number, values)


@pytest.mark.parametrize("rung", RUNGS)
def test_what_preparing_used_is_not_the_runs(casemate: Casemate, rung: str) -> None:
    """It takes half a second of processor time and more; a run that was charged for it would end by this limit."""
    for one in hot_outcomes(casemate, rung, "print(1)", 2, "--cpu-time", "1s"):
        assert one["status"] == "ok" and one["usage"]["cpu_ms"] < 200 * SLOW, one


@pytest.mark.parametrize("rung", RUNGS)
def test_an_end_by_the_kernel_is_told(casemate: Casemate, rung: str) -> None:
    code = "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"
    (one,) = hot_outcomes(casemate, rung, code, 1)
    assert (one["status"], one["signal"], one["stdout"]["text"]) == ("error", "SIGSEGV", "x\n"), one


@pytest.mark.parametrize("rung", RUNGS)
def test_products_and_inputs_of_a_slot(casemate: Casemate, rung: str, tmp_path: Path) -> None:
    """What is declared, what is named when it is run, and files that were not there when it was made."""
    (tmp_path / "in").write_bytes(b"given\n" * 50_000)
    code = "import casemate; open('p', 'w').write('kept'); casemate.artifact('p'); open('q', 'wb').write(open('in/x', 'rb').read())"
    options = ("--artifact", "q", "--artifact", "none", "--file", f"{tmp_path}/in:in/x", "--out", str(tmp_path / "out"))
    for one in hot_outcomes(casemate, rung, code, 2, *options):
        states = {product["name"]: (product["state"], product["bytes"]) for product in one["artifacts"]}
        assert states == {"p": ("stored", 4), "q": ("stored", 300_000), "none": ("failed", 0)}, one


@pytest.mark.parametrize("rung", RUNGS)
def test_much_output_is_whole_and_in_its_order(casemate: Casemate, rung: str) -> None:
    """3 MB, of which each stream keeps its first part; what is kept is what was printed."""
    code = (
        "import sys\nfor n in range(30000):\n    print(f'{n:06}', 'x' * 90)\n"
        "    if n % 100 == 0: sys.stdout.flush(); print(n, file=sys.stderr, flush=True)"
    )
    (one,) = hot_outcomes(casemate, rung, code, 1, "--output", "4MiB")
    text = "".join(f"{n:06} {'x' * 90}\n" for n in range(30000))
    assert one["status"] == "ok" and one["stdout"]["bytes"] == len(text) and not one["stdout"]["truncated"], one["report"][-500:]
    assert hashlib.sha256(one["stdout"]["text"].encode()).digest() == hashlib.sha256(text.encode()).digest()
    assert one["stderr"]["text"] == "".join(f"{n}\n" for n in range(0, 30000, 100))
    # Where a stream was told to change, it did: before each number stands the line that it counts.
    order = "".join(("<" + part["text"].strip() + ">") if part["stream"] == "stderr" else part["text"] for part in one["output"])
    assert "<0>" in order and order.index("<0>") < order.index("<100>") < order.index("<2900>")


CHANNEL = {
    "closes": "import os; os.close(3); print('on')",
    "shuts": "import socket; socket.socket(fileno=3).shutdown(2); print('on')",
    "floods": (
        "import os, socket\ns = socket.socket(fileno=3); s.setblocking(False); n = 0\nprint('on', flush=True)\n"
        "try:\n    while True: n += s.send(b'\\x10\\0\\0\\0\\x10\\0\\0\\0' + b'x' * 16)\nexcept OSError: pass"
    ),
    "claims": (  # that its process ended with another code than it does
        "import os; print('on', flush=True)\n"
        "os.write(3, (10).to_bytes(4, 'little') + (21).to_bytes(4, 'little') + b'\\x2e\\0\\x04\\0\\0\\0' + bytes(4)); os._exit(9)"
    ),
    "parks again": (
        "import os; print('on', flush=True)\ntry:\n    for _ in range(40): os.write(3, bytes(4) + b'\\x16\\0\\0\\0')\n"
        "except OSError: pass  # the engine has closed it by then, or not yet\nos._exit(0)"
    ),
    "is made again": "import os; print('on', flush=True)\nos.write(3, bytes(4) + b'\\x17\\0\\0\\0'); os._exit(0)",
}


@pytest.mark.parametrize("what", CHANNEL)
@pytest.mark.parametrize("rung", RUNGS)
def test_a_program_at_the_channel(casemate: Casemate, rung: str, what: str) -> None:
    """It ends as it does in a hot slot of the jail."""
    (one,) = hot_outcomes(casemate, rung, CHANNEL[what], 1)
    (jail,) = hot_outcomes(casemate, "jail", CHANNEL[what], 1)
    keys = ("status", "exit_code", "signal", "reason")
    assert [one.get(key) for key in keys] == [jail.get(key) for key in keys], (one, jail)
    assert one["stdout"]["text"] == jail["stdout"]["text"] == "on\n", (one, jail)


@needs("microvm")
def test_the_clock_of_a_machine_that_waited_is_right(casemate: Casemate) -> None:
    """Its template is older still. A run of 8 seconds lets the next machines wait."""
    code = f"import time; print(time.time()); time.sleep({8 * SLOW})"
    begun = time.time()
    found = hot_outcomes(casemate, "microvm", code, 3, "--wall", f"{30 * SLOW:.0f}s")
    for one, after in zip(found, found[1:], strict=False):
        apart = float(after["stdout"]["text"]) - float(one["stdout"]["text"])
        assert 8 * SLOW <= apart < 20 * SLOW, found
    for one in found:
        ended = datetime.datetime.fromisoformat(one["record"]["death"]["over_at"].replace("Z", "+00:00")).timestamp()
        late = ended - one["usage"]["wall_ms"] / 1000 - float(one["stdout"]["text"])
        assert begun < float(one["stdout"]["text"]) and abs(late) < 1, (late, one)


def _parts(above: int, rung: str) -> list[int]:
    """The processes of a rung's runtime below a process."""
    words = {"gvisor": ("runsc",), "microvm": ("casemate-microvm", "qemu-system")}[rung]
    return [pid for pid in descendants(above) if any(word in _command(pid) for word in words)]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rung", RUNGS)
def test_a_slot_that_ends_while_it_waits_costs_no_run(casemate: Casemate, rung: str, seed: int) -> None:
    """Runs go on; one whose slot it was says so, and is the last of that process, as any whose box fails."""
    process = casemate.start(*HOT, "--isolation", rung, "--repeat", "5", "-c", "import time; time.sleep(0.3); print('ran')")
    assert wait_for(lambda: len(_parts(process.pid, rung)) >= (6 if rung == "gvisor" else 4), 60 * SLOW)
    for _ in range(20):  # one of them may have ended meanwhile
        parts = _parts(process.pid, rung)
        try:
            os.kill(parts[seed * len(parts) // 4], signal.SIGKILL)
            break
        except (ProcessLookupError, IndexError):
            continue
    out, err = process.communicate(timeout=90 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    ran = [one for one in found if one["status"] == "ok" and one["stdout"]["text"] == "ran\n"]
    hurt = [one for one in found if one not in ran]
    # A process of the guest's that was killed from outside looks like one that the guest killed.
    assert len(hurt) <= 1 and all(one["status"] in ("unavailable", "error") for one in hurt), (found, err)
    assert len(found) == 5 or found[-1]["status"] == "unavailable", (found, err)
    assert all(one["teardown"]["verdict"] == "destroyed" for one in found), found
