"""Runs of one tenant that follow one another in one gvisor sandbox: what each finds, and what none can do."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from conftest import SLOW, Casemate, descendants, wait_for
from rungs import needs

pytestmark = needs("gvisor")
SHARED = ("run", "--json", "--record", "--share-sandbox", "--isolation", "gvisor", "--trust", "trusted", "--start", "hot")
PROOFS = ["processes_gone", "mounts_gone", "channels_closed"]


def shared(casemate: Casemate, code: str, count: int, *options: str) -> list[dict[str, Any]]:
    """Outcomes of a program that is run so often, each time in a hot slot of one of two sandboxes."""
    ended = casemate.call(*SHARED, "--repeat", str(count), *options, "-c", code, timeout=180)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == count and ended.stderr == "", ended
    for one in found:
        assert one["isolation"] == "gvisor" and one["teardown"]["verdict"] == "destroyed", one
        assert one["timing"]["start"] == "hot" and one["weakenings"] == ["shared-sandbox"], one
    return found


def proofs(one: dict[str, Any]) -> list[str]:
    """What was shown of the end of a run's box."""
    return [row["name"] for row in one["record"]["death"]["proof"] if row["state"] == "on"]


def texts(found: list[dict[str, Any]]) -> list[str]:
    """What each printed; they ended well, and what they left was shown to be gone."""
    for one in found:
        assert one["status"] == "ok" and proofs(one) == PROOFS, one
    return [one["stdout"]["text"] for one in found]


def followed(found: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of runs of which the second was the next one in the sandbox of the first."""
    last: dict[str, dict[str, Any]] = {}
    pairs = []
    for one in found:
        if one["sandbox_id"] in last:
            pairs.append((last[one["sandbox_id"]], one))
        last[one["sandbox_id"]] = one
    return pairs


def test_runs_follow_one_another_in_a_sandbox(casemate: Casemate) -> None:
    found = shared(casemate, "import os; print(os.getuid(), os.getcwd())", 6)
    assert set(texts(found)) == {"1000 /vol/work\n"}
    assert len(followed(found)) >= 3
    assert len({one["volume"]["id"] for one in found}) == len({one["record"]["birth"]["volume"] for one in found}) == 6
    assert "weakened by name: shared-sandbox, so runs of this tenant" in found[0]["report"]
    walls = {row["name"]: row["state"] for row in found[0]["record"]["birth"]["walls"]}
    assert walls["InodeLimit"] == "waived" and walls["DiskLimit"] == "on"


LEAVES = {
    "files": (
        "import os\nplaces = ['/vol', '/vol/work', '/vol/work/out', '/vol/home', '/vol/run', '/vol/tmp', '/tmp', '/dev/shm']\n"
        "places += ['/', '/dev', '/run', '/var/tmp', '/etc', '/usr', '/proc', '/sys']\n"
        "print([place for place in places if os.path.exists(place + '/left')])\n"
        "def leave(place):\n    try: open(place + '/left', 'w').write('left'); return True\n    except OSError: return False\n"
        "made = {os.path.realpath(place) for place in places if leave(place)}\n"
        "assert made == {'/vol/work', '/vol/work/out', '/vol/home', '/vol/run', '/vol/tmp', '/tmp', '/dev/shm'}, made"
    ),
    "a whole tree that is open": (
        "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'), os.listdir('/vol/home'))\n"
        "os.makedirs('/tmp/a/b/c'); os.chdir('/tmp/a/b/c'); kept = open('/dev/shm/x', 'w'); os.mkfifo('/vol/home/p')\n"
        "os.symlink('/tmp/a', '/vol/home/q')\n"
        "import mmap; m = os.open('/tmp/m', os.O_RDWR | os.O_CREAT); os.ftruncate(m, 4096); mapped = mmap.mmap(m, 4096); os.close(m)"
    ),
    "processes": (
        "import os, signal, time\nprint([p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2 and int(p) != os.getpid()])\n"
        "for n in range(4):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        "            signal.signal(signal.SIGTERM, signal.SIG_IGN); os.chdir('/tmp'); kept = open('/dev/shm/held', 'w'); time.sleep(600)\n"
        "        os._exit(0)\nos.wait()"
    ),
    "a storm of forks": (
        "import os, time\nprint([p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2 and int(p) != os.getpid()])\n"
        "if os.fork() == 0:\n    os.setsid(); end = time.monotonic() + 60\n    while time.monotonic() < end:\n"
        "        if os.fork() != 0: os._exit(0)"
    ),
    "shared memory and queues": (
        "import ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.shmget(7, 4096, 0), libc.semget(7, 1, 0), libc.msgget(7, 0))\n"
        "assert libc.shmget(7, 4096, 0o1777) >= 0 and libc.semget(7, 1, 0o1777) >= 0\nlibc.msgget(7, 0o1777)\n"
        "from multiprocessing import shared_memory\n"
        "try: shared_memory.SharedMemory('left'); print('found')\nexcept FileNotFoundError: pass\n"
        "import multiprocessing.resource_tracker as tracker; tracker.register = lambda *_: None\n"
        "shared_memory.SharedMemory('left', create=True, size=4096)"
    ),
    "sockets": (
        "import os, socket\nname = socket.socket(socket.AF_UNIX)\n"
        "try: name.bind('\\0left'); name.listen(); print('free')\nexcept OSError as error: print(error)\n"
        "tcp = socket.socket()\ntry: tcp.bind(('127.0.0.1', 4242)); tcp.listen(); print('free')\nexcept OSError as error: print(error)\n"
        "c = socket.create_connection(('127.0.0.1', 4242)); s = tcp.accept()[0]; s.sendall(b'x'); s.close(); c.recv(1)"
    ),
    "marks on others": (  # gVisor lets anybody set them
        "import os\nprint([os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, 1, 2)], [sorted(os.sched_getaffinity(pid)) for pid in (0, 1, 2)])\n"
        "for pid in (0, 1, 2):\n    for call in (lambda: os.setpriority(os.PRIO_PROCESS, pid, 5 + pid), lambda: os.sched_setaffinity(pid, {1})):\n"
        "        try: call()\n        except OSError: pass"
    ),
    "what a process has": (
        "import builtins, os, resource, signal, socket, sys\n"
        "print(hasattr(builtins, 'left'), 'left' in os.environ, os.getcwd(), oct(os.umask(0)), signal.getsignal(signal.SIGUSR1),\n"
        "      resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE)[0], os.getpriority(os.PRIO_PROCESS, 0),\n"
        "      signal.getitimer(signal.ITIMER_REAL), socket.gethostname(), 'wave' in sys.modules, sorted(os.listdir('/proc/self/fd'))[:4],\n"
        "      [os.get_blocking(n) for n in range(4)], len(os.listdir('/proc/self/fd')))\n"
        "builtins.left = 1; os.environ['left'] = '1'; os.chdir('/'); signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)); signal.setitimer(signal.ITIMER_REAL, 500); import wave\n"
        "for n in range(3): os.set_blocking(n, False)\nos.nice(5)"
    ),
}


@pytest.mark.parametrize("what", LEAVES)
def test_a_run_finds_nothing_of_the_one_before(casemate: Casemate, what: str) -> None:
    """What the second prints is what the first did, in the same sandbox."""
    found = shared(casemate, LEAVES[what], 5, "--cpus", "2")
    pairs = followed(found) if what != "a storm of forks" else [(found[0], one) for one in found[1:]]
    assert pairs
    for one in found:
        assert one["status"] == "ok", one
    for before, after in pairs:
        assert before["stdout"]["text"] == after["stdout"]["text"], (before, after)
    if what != "a storm of forks":  # which may not be found to be over in time: then its sandbox ends
        texts(found)


def test_random_sources_differ(casemate: Casemate) -> None:
    code = """
import json, os, random, secrets, tempfile, uuid
import numpy
print(json.dumps([random.random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8).hex(), tempfile.mktemp(),
                  float(numpy.random.random()), float(numpy.random.default_rng().random()), os.getrandom(8).hex()]))
"""
    found = shared(casemate, code, 5)
    for number, values in enumerate(zip(*(json.loads(text) for text in texts(found)), strict=True)):
        assert len(set(values)) == len(found), (number, values)


def test_what_is_written_late_reaches_no_other_run(casemate: Casemate) -> None:
    """By a process that has its output and its socket still, as fast as it can."""
    code = (
        "import os, sys\nprint('own', flush=True)\nif os.fork() == 0:\n    os.setsid()\n"
        "    while True:\n        for n in (1, 2, 3):\n            try: os.write(n, b'late')\n            except OSError: pass\n"
    )
    found = shared(casemate, "import sys\n" + code, 4)
    for one in found:
        assert one["stdout"]["text"].startswith("own\n") and one["stdout"]["text"].replace("late", "") == "own\n", one
    (last,) = shared(casemate, "print('clean')", 1)
    assert (last["stdout"]["text"], last["stderr"]["text"]) == ("clean\n", ""), last


def test_a_small_disk_is_small_and_whole_again(casemate: Casemate) -> None:
    code = (
        "import os\nfor place in ('/vol/work', '/tmp', '/dev/shm'):\n    try: open(place + '/x', 'wb').write(bytes(9 << 20)); print('kept', place)\n"
        "    except OSError as error: print(error.errno)\n    print(os.path.getsize(place + '/x') >> 20)"
    )  # beside it /vol has the program's own file and directories
    for text in texts(shared(casemate, code, 4, "--disk", "8MiB", "--file-size", "64MiB")):
        assert text == "28\n7\n" + "28\n8\n" * 2, text


HOSTILE = {
    "signals": "for n in (9, 15, 19):\n    for pid in (1, 2):\n        try: os.kill(pid, n); print('could')\n        except PermissionError: pass",
    "all signals": "try: os.kill(-1, 0); print('could')\nexcept OSError: pass",
    "memory": (
        # Their names, environment and maps gVisor shows to all; they are what the program was forked with.
        "import stat\nfor pid in (1, 2):\n    for name in ('mem', 'cwd/vol', 'root/vol', 'exe'):\n"
        "        try: print('could', pid, name, open(f'/proc/{pid}/{name}', 'rb').read(1))\n        except OSError: pass\n"
        "    for number in os.listdir(f'/proc/{pid}/fd'):\n        for flag in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):\n"
        "            try: got = os.open(f'/proc/{pid}/fd/{number}', flag | os.O_NONBLOCK)\n            except OSError: continue\n"
        "            if not stat.S_ISCHR(os.fstat(got).st_mode): print('could', pid, number, flag)\n"
        "    for name in os.listdir(f'/proc/{pid}'):\n        if os.path.isfile(f'/proc/{pid}/{name}'):\n"
        "            try: open(f'/proc/{pid}/{name}', 'r+b'); print('could', pid, name)\n            except OSError: pass"
    ),
    "ptrace": "for pid in (1, 2):\n    for how in (16, 0x4206):\n        if libc.ptrace(how, pid, 0, 0) == 0: print('could')",
    "its limits": (
        "class Limit(ctypes.Structure): _fields_ = [('a', ctypes.c_ulong), ('b', ctypes.c_ulong)]\n"
        "if libc.prlimit(2, 7, ctypes.byref(Limit(1, 1)), None) == 0: print('could')"
    ),
    "another's memory": (
        "class Part(ctypes.Structure): _fields_ = [('a', ctypes.c_void_p), ('b', ctypes.c_size_t)]\n"
        "here = ctypes.create_string_buffer(8); part = Part(ctypes.addressof(here), 8)\n"
        "if libc.process_vm_readv(2, ctypes.byref(part), 1, ctypes.byref(part), 1, 0) >= 0: print('could')"
    ),
    "rights": (
        "for call in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.chown('/tmp', 1000, 1000), lambda: os.chroot('/tmp')):\n"
        "    try: call(); print('could')\n    except OSError: pass\n"
        "for kind in (b'tmpfs', b'proc', b'mqueue'):\n    if libc.mount(b'x', b'/tmp', kind, 0, None) == 0: print('could')\n"
        "for flag in (0, 2):\n    if libc.umount2(b'/tmp', flag) == 0: print('could')\n"
        "if libc.sethostname(b'left', 4) == 0: print('could')\n"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')], libc.prctl(39, 0, 0, 0, 0))"
    ),
    "rights by a user namespace": (
        "libc.unshare(0x10000000)\nfor place in (b'/tmp', b'/vol', b'/vol/work'):\n"
        "    if libc.mount(b'x', place, b'tmpfs', 0, None) == 0: print('could')\n    if libc.umount2(place, 2) == 0: print('could')\n"
        "if libc.sethostname(b'left', 4) == 0: print('could')\ntry: os.kill(2, 0); print('could')\nexcept OSError: pass"
    ),
    "what it inherits": "print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:4])",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_program_can_do_nothing_to_the_zygote(casemate: Casemate, what: str) -> None:
    """And the runs after it go on in the same sandbox."""
    found = shared(casemate, "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n" + HOSTILE[what], 4)
    expected = {"rights": "0000000000000000 " * 4 + "1\n", "what it inherits": "[0, 1, 2, 3]\n"}.get(what, "")
    for text in texts(found):
        assert text == expected, text
    assert followed(found)


FORGED = {
    "cleaned": "os.write(3, bytes(4) + b'\\x19\\0\\0\\0')",
    "serving": "os.write(3, bytes(4) + b'\\x18\\0\\0\\0')",
    "parked": "os.write(3, bytes(4) + b'\\x16\\0\\0\\0')",
    "half a word": "os.write(3, b'\\0\\0\\0')",
    "ended": "os.write(3, (16).to_bytes(4, 'little') + b'\\x15\\0\\0\\0' + b'\\x2e\\0\\0\\0\\x08\\0\\0\\0' + bytes(8))",
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_word_is_taken_for_no_one_elses(casemate: Casemate, what: str) -> None:
    """Said early it breaks the program's own channel; its sandbox is then ended, and shown to be."""
    found = shared(casemate, "import os; print('on', flush=True); " + FORGED[what], 3)
    for one in found:
        assert one["stdout"]["text"] == "on\n", one
        assert "init_reaped" in proofs(one), one
    assert not followed(found)


def test_a_forged_word_after_the_last_is_nobodys(casemate: Casemate) -> None:
    """By a process that goes on when the program has said that it is done."""
    code = (
        "import os, time\nprint('on', flush=True)\nif os.fork() == 0:\n    os.setsid(); os.close(1); os.close(2)\n"
        "    while True:\n        for word in (b'\\x19', b'\\x18', b'\\x16', b'\\x15'):\n            try: os.write(3, bytes(4) + word + bytes(3))\n"
        "            except OSError: pass\n"
    )
    for one in shared(casemate, code, 4):
        assert one["stdout"]["text"] == "on\n" and one["teardown"]["verdict"] == "destroyed", one


ENDS = {
    "wall": ("import time; print('on', flush=True); time.sleep(60)", ("--wall", f"{SLOW:.0f}s"), "limit"),
    "cpu_time": ("print('on', flush=True)\nwhile True: pass", ("--cpu-time", "1s"), "limit"),
    "memory": ("print('on', flush=True); x = bytearray(1 << 30)\nfor n in range(0, 1 << 30, 4096): x[n] = 1", (), "limit"),
    "output": ("print('on', flush=True)\nwhile True: print('x' * 100)", ("--output", "1KiB"), "limit"),
    "a signal": ("import os; print('on', flush=True); os.kill(os.getpid(), 11)", (), "error"),
    "an exit": ("import os; print('on', flush=True); os._exit(3)", (), "error"),
}


@pytest.mark.parametrize("what", ENDS)
def test_what_does_not_end_cleanly_ends_its_sandbox(casemate: Casemate, what: str) -> None:
    """The whole of it, as the warden shows; the next run is in another one."""
    code, options, status = ENDS[what]
    found = shared(casemate, code, 2, *options)
    for one in found:
        assert one["status"] == status and one["stdout"]["text"].startswith("on\n"), one
        assert proofs(one) == ["init_reaped", "groups_empty", "groups_removed", "layer_released"], one
    if status == "limit":
        assert [one["limit"]["name"] for one in found] == [what] * 2, found
    elif what == "a signal":
        assert [one["signal"] for one in found] == ["SIGSEGV"] * 2
    else:
        assert [one["exit_code"] for one in found] == [3] * 2
    assert found[0]["sandbox_id"] != found[1]["sandbox_id"]


def test_processor_time_is_the_runs(casemate: Casemate) -> None:
    """Of six runs that use the limit up together none meets it."""
    code = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nprint('ran')"
    found = shared(casemate, code, 6, "--cpu-time", f"{1.5 * SLOW:.1f}s")
    assert set(texts(found)) == {"ran\n"} and followed(found)
    for one in found:
        assert 100 <= one["usage"]["cpu_ms"] < 1500 * SLOW, one


def test_products_are_refused_by_name_and_never_lost_silently(casemate: Casemate) -> None:
    ended = casemate.call(*SHARED, "--artifact", "p", "-c", "open('p', 'w').write('x')")
    assert ended.exit_code == 2 and "keeps no products" in ended.stderr and "--share-sandbox" in ended.stderr, ended
    code = "import casemate; open('p', 'w').write('x'); casemate.artifact('p')"
    ended = casemate.call(*SHARED, "-c", code, timeout=120)
    one = json.loads(ended.stdout)
    assert one["status"] == "unavailable" and one["reason"]["code"] == "artifact_not_stored", one
    assert "keeps no products" in ended.stdout.decode(), one


@pytest.mark.parametrize("rung", ["jail", "microvm"])
def test_other_rungs_have_no_shared_sandboxes(casemate: Casemate, rung: str) -> None:
    ended = casemate.call("run", "--json", "--share-sandbox", "--isolation", rung, "--trust", "trusted", "-c", "1")
    one = json.loads(ended.stdout)
    assert one["status"] in ("refused", "unavailable") and one["reason"]["code"] == "isolation_unavailable", one
    assert rung == "microvm" or "--share-sandbox" in one["reason"]["message"], one


def test_a_run_without_the_choice_has_a_sandbox_of_its_own(casemate: Casemate) -> None:
    arguments = [argument for argument in SHARED if argument != "--share-sandbox"]
    ended = casemate.call(*arguments, "--repeat", "3", "-c", "print(1)", timeout=120)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len({one["sandbox_id"] for one in found}) == 3
    assert all("weakenings" not in one and proofs(one)[0] == "init_reaped" for one in found), found


def test_input_arguments_and_environment(casemate: Casemate) -> None:
    code = "import os, sys; print(sys.argv[1:], os.environ['A'], open('in.txt').read())"
    (folder := casemate.folder / "in.txt").write_text("given")
    ended = casemate.call(
        *SHARED, "--repeat", "3", "--env", "A=b", "--file", str(folder), "-c", code, "--", "x", timeout=120
    )
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert texts(found) == ["['x'] b given\n"] * 3


def _zygotes(above: int) -> list[int]:
    """The processes of the sandboxes' runtime below a process."""
    return [pid for pid, command in descendants(above).items() if "runsc" in command]


@pytest.mark.parametrize("part", [0, 2, -1])
def test_a_sandbox_that_is_killed_costs_one_run_at_most(casemate: Casemate, part: int) -> None:
    process = casemate.start(*SHARED, "--repeat", "8", "-c", "import time; time.sleep(0.3); print('ran')")
    assert wait_for(lambda: len(_zygotes(process.pid)) >= 4, 60 * SLOW)
    os.kill(_zygotes(process.pid)[part], signal.SIGKILL)
    out, err = process.communicate(timeout=120 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    hurt = [one for one in found if one["status"] != "ok"]
    assert len(hurt) <= 1 and all(one["status"] in ("unavailable", "error") for one in hurt), (found, err)
    assert len(found) == 8 or found[-1]["status"] == "unavailable", (found, err)
    assert all(one["teardown"]["verdict"] == "destroyed" for one in found), found
