"""One suite for every rung: the same program has the same outcome, but for the differences that
docs/rungs.md lists, each of which has a test here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate
from rungs import needs, on, outcome_of

RUNGS = on("gvisor", "gvisor hot", "microvm", "microvm hot")


# What a program can observe of itself, and how it can end. Each outcome is compared between the rungs.
PROGRAMS = {
    "prints": "import sys\nprint('out', '\\u4f60\\u597d')\nprint('err', file=sys.stderr)",
    "a value": "{'a': [1, 2.5, None], 'b': 'text'}",
    "an exit code": "raise SystemExit(3)",
    "an exit by the kernel": "import os; print('x', flush=True); os._exit(4)",
    "a text for an exit": "import sys; sys.exit('why it ended')",
    "an exception": "def f(row):\n    return row['total']\nf({'sum': 1})",
    "a syntax error": "x = (1,\n",
    "a signal of its own": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "a kill": "import os; os.kill(os.getpid(), 9)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "exit handlers and threads": (
        "import atexit, threading, time\natexit.register(print, 'bye')\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()"
    ),
    "what is left running": "import subprocess; subprocess.Popen(['sleep', '300']); print('done')",
    "half a frame": "import os; os.write(3, (1000).to_bytes(4, 'little') + (16).to_bytes(4, 'little')); os._exit(0)",
    "half a frame and an exit code": "import os; os.write(3, b'\\xff\\0\\0\\0'); os._exit(7)",
    "a shut channel": "import socket; socket.socket(fileno=3).shutdown(2); print('on')",
    "a closed channel": "import os; os.close(3); print('on')",
    "a channel that does not wait": (
        "import fcntl, os\nfcntl.fcntl(3, fcntl.F_SETFL, os.O_NONBLOCK)\n"
        "try:\n    while True: os.write(3, b'\\xff' * 4096)\nexcept OSError: pass\nos._exit(5)"
    ),
    "an exit like a runtime's": "import os; os._exit(128)",
    "an exit like a launcher's": "import os; os._exit(125)",
    "an exit like a signal": "import os; os._exit(137)",
    "a daemon": (
        "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(300)\n"
        "    os._exit(0)\nos.wait(); print('done')"
    ),
    "processes": "import subprocess; print(subprocess.run(['sh', '-c', 'echo $((6 * 7)) | cat'], capture_output=True).stdout)",
    "multiprocessing": (
        "from concurrent.futures import ProcessPoolExecutor as Pool\nwith Pool(2) as pool: print(list(pool.map(abs, [-1, -2])))"
    ),
    "shared memory": (
        "from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=4096)\nm.buf[0] = 7\n"
        "print(m.buf[0], m.size); m.close(); m.unlink()"
    ),
    "asyncio": "import asyncio\nasync def f(): return await asyncio.sleep(0.01, 5)\nprint(asyncio.run(f()))",
    "where it is": (
        "import os, sys\nprint(os.getcwd(), sys.argv, __file__, __name__, os.environ['HOME'], os.environ['TMPDIR'], oct(os.umask(0)))"
    ),
    "what it can write": (
        "import os\nfor path in ('/work/a', '/vol/home/b', '/tmp/c', '/usr/d', '/etc/e', '/run/h', '/dev/shm/g', '/f'):\n"
        "    try: open(path, 'w').write('x'); print(path, oct(os.stat(path).st_mode))\n    except OSError as e: print(path, 'no')"
    ),
    "standard input": "import sys; print(repr(sys.stdin.read()))",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd'))[:4])",
    "limits of its own": (
        "import resource as r\nprint(r.getrlimit(r.RLIMIT_FSIZE), r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_CORE)[0] <= 1)"
    ),
    "no network": (
        "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 3)\nexcept OSError as e: print('none')\n"
        "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen()\n"
        "b = socket.create_connection(a.getsockname()); b.sendall(b'lo'); print(a.accept()[0].recv(2))"
    ),
    "no privilege": (
        "import os, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), libc.chroot(b'/tmp'), libc.setuid(0 if os.getuid() else 1))\n"
        "print([l.split()[1].strip('0') for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapBnd'))])"
    ),
    "pandas": "import pandas as pd; print(pd.DataFrame({'k': list('aab'), 'n': [1, 2, 3]}).groupby('k').n.sum().to_dict())",
    "a file that is too large": "open('/work/f', 'wb').write(b'x' * (9 << 20))",
    "too many files open": "held = [open('/dev/null') for _ in range(300)]",
    "a full layer": "f = open('/work/f', 'wb', 0)\nfor _ in range(64): f.write(b'x' * (1 << 20))",
    "a full /dev/shm": "f = open('/dev/shm/f', 'wb', 0)\nfor _ in range(64): f.write(b'x' * (1 << 20))",
    "a full /tmp": "f = open('/tmp/f', 'wb', 0)\nfor _ in range(64): f.write(b'x' * (1 << 20))",
    "a product": "import casemate; open('p.txt', 'w').write('kept'); casemate.artifact('p.txt', summary='s')",
    "a figure": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
}  # fmt: skip
SMALL = {
    "a file that is too large": ["--file-size", "8MiB"],
    "limits of its own": ["--file-size", "8MiB", "--open-files", "77"],
    "a full layer": ["--disk", "16MiB"],
    "a full /tmp": ["--disk", "16MiB"],
    "a full /dev/shm": ["--disk", "16MiB"],
}


STDIN = b"line one\nline two \xff\n" * 4000


def told(outcome: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the time and the place of a run."""
    limit = (outcome.get("limit") or {}).get("name")
    exception = outcome.get("exception") or {}
    return {
        "end": [outcome.get(key) for key in ("status", "exit_code", "signal", "result")] + [limit],
        "exception": [exception.get(key) for key in ("type", "message", "line", "source", "hints", "frames")],
        "output": [outcome["stdout"]["text"], outcome["stderr"]["text"]],
        "products": [(one["name"], one["state"], one["bytes"]) for one in outcome["artifacts"]],
    }


@pytest.mark.parametrize("what", PROGRAMS)
@pytest.mark.parametrize("rung", RUNGS)
def test_a_program_has_the_outcome_that_it_has_in_the_jail(
    casemate: Casemate, tmp_path: Path, rung: str, what: str
) -> None:
    options = ["--memory", "512MiB", *SMALL.get(what, [])]
    found, jail = (
        told(outcome_of(casemate, one, PROGRAMS[what], "--out", str(tmp_path / one), *options)) for one in (rung, "jail")
    )
    assert found == jail


@pytest.mark.parametrize("rung", on("jail", "gvisor", "microvm"))
def test_a_program_reads_its_input_on_every_rung(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    given = tmp_path / "given"
    given.write_bytes(STDIN)
    code = (
        "import sys, os\nd = sys.stdin.buffer.read()\n"
        "print(len(d), d == open('/work/same', 'rb').read(), os.listdir('/vol/run'), os.listdir('/run'))"
    )
    outcome = outcome_of(casemate, rung, code, "--stdin", str(given), "--file", f"{given}:same")
    assert outcome["stdout"]["text"] == f"{len(STDIN)} True ['program.py'] []\n", outcome


@pytest.mark.parametrize("rung", on("gvisor", "microvm"))
def test_an_input_takes_none_of_the_layers_room(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"x" * (12 << 20))
    code = "import sys; n = len(sys.stdin.read()); open('/work/f', 'wb').write(b'x' * (12 << 20)); print(n)"
    outcome = outcome_of(casemate, rung, code, "--stdin", str(given), "--disk", "16MiB")
    assert outcome["stdout"]["text"] == f"{12 << 20}\n", outcome


LIMITS: dict[str, tuple[str, list[str]]] = {
    "wall": ("import time; time.sleep(300)", ["--wall", "2s"]),
    "cpu_time": ("while True: pass", ["--cpu-time", "1s"]),
    "memory": ("x = b'x' * (1 << 30)", ["--memory", "128MiB"]),
    "output": ("import os\nwhile True: os.write(1, b'x' * 65536)", []),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("rung", [*on("jail"), *RUNGS])
def test_a_limit_ends_a_run_on_every_rung(casemate: Casemate, rung: str, name: str) -> None:
    code, options = LIMITS[name]
    outcome = outcome_of(casemate, rung, code, *options)
    assert (outcome["status"], outcome["limit"]["name"]) == ("limit", name), outcome


@needs("gvisor")
def test_gvisor_has_another_kernel(casemate: Casemate) -> None:
    code = "import os; print(os.uname().release, os.path.exists('/proc/sys/kernel/osrelease') and open('/proc/version').read())"
    outcome = outcome_of(casemate, "gvisor", code)
    assert outcome["stdout"]["text"].startswith("4.4.0 "), outcome
    assert Path("/proc/sys/kernel/osrelease").read_text().strip() not in outcome["stdout"]["text"]


@needs("gvisor")
def test_gvisor_shows_a_guest_nothing_of_its_runtime(casemate: Casemate) -> None:
    code = (
        "import os\nprint(os.listdir('/run'), sorted(p for p in os.listdir('/proc') if p.isdigit()))\n"
        "print([open(f'/proc/{p}/comm').read() for p in os.listdir('/proc') if p.isdigit()])\n"
        "print([(r, f) for r, _, fs in os.walk('/', onerror=None) if not r.startswith('/proc') for f in fs if 'runsc' in f])"
    )
    outcome = outcome_of(casemate, "gvisor", code)
    assert outcome["stdout"]["text"] == "[] ['1', '2']\n['casemate-init\\n', 'python3\\n']\n[]\n", outcome


@needs("gvisor")
def test_a_guest_is_root_of_its_own_kernel_without_capabilities(casemate: Casemate) -> None:
    """A difference: in the jail a guest is user 1000."""
    code = "import os; print(os.getuid(), os.getgid(), [l.split()[1].strip('0') for l in open('/proc/self/status') if 'CapEff' in l])"
    assert outcome_of(casemate, "gvisor", code)["stdout"]["text"] == "0 0 ['']\n"
    assert outcome_of(casemate, "jail", code)["stdout"]["text"] == "1000 1000 ['']\n"


@needs("gvisor")
def test_too_many_processes_end_a_guest_of_gvisor(casemate: Casemate) -> None:
    """A difference: in the jail a fork is refused, and the program goes on."""
    code = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(300)"
    outcome = outcome_of(casemate, "gvisor", code, "--pids", "16", "--wall", "20s")
    assert (outcome["status"], outcome["limit"]["name"]) == ("limit", "pids"), outcome


@needs("gvisor")
def test_a_kill_of_process_1_ends_a_guest_of_gvisor(casemate: Casemate) -> None:
    """A difference: in the jail process 1 is not the guest's to kill, and the program goes on."""
    code = "import os, time\ntry: os.kill(1, 9); time.sleep(5)\nexcept OSError as e: print(e.errno)"
    outcome = outcome_of(casemate, "gvisor", code)
    assert (outcome["status"], outcome["reason"]["code"]) == ("unavailable", "sandbox_unavailable"), outcome
    assert outcome_of(casemate, "jail", code)["stdout"]["text"] == "1\n"


@pytest.mark.parametrize("rung", on("gvisor", "microvm"))
def test_a_runtime_that_nothing_bounds_is_refused(casemate: Casemate, rung: str) -> None:
    options = ("--trust", "trusted", "--isolation", rung, "--weaken", "no-cgroup")
    ended = casemate.call("run", "--json", *options, "-c", "1")
    assert ended.outcome["reason"]["code"] == "isolation_unavailable" and ended.outcome["isolation"] == rung
    assert "--weaken no-cgroup" in ended.outcome["report"], ended.outcome


@needs("gvisor")
def test_the_record_says_which_walls_are_the_runtimes(casemate: Casemate) -> None:
    record = casemate.call("run", "--json", "--record", "--isolation", "gvisor", "--trust", "trusted", "-c", "1").outcome["record"]
    waived = {row["name"] for row in record["birth"]["walls"] if row["state"] == "waived"}
    assert {"Landlock", "ProcSubset", "FileSizeLimit"} <= waived, record
    assert not {"Seccomp", "UserNsLimit", "Capabilities", "SlotId", "MemoryLimit", "PidsLimit", "NetNs"} & waived, record
