"""What the C library and its users believe of themselves in a slot, a fork of a process that it began in."""

from __future__ import annotations

import pytest
from conftest import Casemate
from slots_test import outcomes

# sched_getcpu() reads what the kernel writes into memory that it must have been told of in this process.
ITSELF = """
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.pthread_self.restype = ctypes.c_ulong

class Set(ctypes.Structure):
    _fields_ = [("words", ctypes.c_ulong * 16)]

def check():
    mask = Set()
    told = libc.pthread_getaffinity_np(ctypes.c_ulong(libc.pthread_self()), ctypes.sizeof(mask), ctypes.byref(mask))
    own = {n for n in range(1024) if mask.words[n // 64] >> n % 64 & 1}
    mutex, kind, owner = (ctypes.create_string_buffer(64) for _ in range(3))
    assert libc.pthread_mutexattr_init(kind) == 0
    assert libc.pthread_mutexattr_setprotocol(kind, 1) == 0, "PTHREAD_PRIO_INHERIT"
    assert libc.pthread_mutexattr_settype(kind, 2) == 0, "PTHREAD_MUTEX_ERRORCHECK"
    assert libc.pthread_mutex_init(mutex, kind) == 0
    locked = libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex), libc.pthread_mutex_unlock(mutex)
    # __owner is the second word of struct __pthread_mutex_s after the lock and the count.
    libc.pthread_mutex_lock(mutex)
    held = int.from_bytes(mutex.raw[8:12], "little") == threading.get_native_id()
    return told, own == os.sched_getaffinity(0), libc.sched_getcpu() in own, locked, held

print(os.getpid() == threading.get_native_id() == libc.gettid(), check())
found = []
thread = threading.Thread(target=lambda: found.append(check()))
thread.start(); thread.join()
print(found[0])
child = os.fork()
if child == 0:
    print(os.getpid() == threading.get_native_id(), check(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""
RIGHT = "(0, True, True, (0, 35, 0), True)"

USERS = {
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "with Pool(4) as pool: print(sum(pool.map(lambda n: n * n, range(100))))",
        "328350\n",
    ),
    "processes": (
        "from concurrent.futures import ProcessPoolExecutor as Pool\n"
        "with Pool(2) as pool: print(list(pool.map(abs, [-1, -2])))",
        "[1, 2]\n",
    ),
    "subprocess": ("import subprocess; print(subprocess.run(['echo', 'said'], capture_output=True).stdout)", "b'said\\n'\n"),
    "asyncio": (
        "import asyncio\n"
        "async def main():\n"
        "    server = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
        "    return await asyncio.gather(server.communicate(b'in'), asyncio.to_thread(sum, [1, 2]), asyncio.sleep(0, 3))\n"
        "print(asyncio.run(main()))",
        "[(b'in', None), 3, 3]\n",
    ),
    "a threaded dot product": (
        "import numpy as np\n"
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "a = np.arange(360000.0).reshape(600, 600) % 7\n"
        "with Pool(2) as pool: b = np.vstack(list(pool.map(lambda half: half @ a, [a[:300], a[300:]])))\n"
        "print(b.sum() == (a.sum(0) * a.sum(1)).sum())",
        "True\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("preload", ["bare", "numpy"])
def test_the_c_library_knows_its_thread_processor_and_mutexes(casemate: Casemate, preload: str) -> None:
    code = ("import numpy\n" if preload == "numpy" else "") + ITSELF
    for one in outcomes(casemate, code, 4):
        wanted = f"True {RIGHT}\n{RIGHT}\nTrue {RIGHT}\n0\n"
        assert one["stdout"]["text"] == wanted, one["report"]


@pytest.mark.parametrize("what", USERS)
def test_threads_and_processes_work_in_a_slot(casemate: Casemate, what: str) -> None:
    code, wanted = USERS[what]
    options = ["--cpus", "2"] if "dot" in what else []
    (one,) = outcomes(casemate, code, 1, *options)
    assert one["stdout"]["text"] == wanted, one["report"]
