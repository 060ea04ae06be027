"""Rows of reference kinds `lifecycle` and `concurrency`: a run ends once, wholly, and by itself."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from conftest import SLOW, Casemate, descendants

# The image has no setsid(1).
SETSID = "setsid() { python3 -c 'import os,sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"; }\n"
BACKGROUND = {
    "sleep": "sleep 120 &",
    "holds stdout": "(while :; do sleep 1; done) &",
    "holds both": "nohup sleep 120 2>&1 &",
    "its own session": "setsid sleep 120 &",
    "daemon": "setsid sh -c 'sleep 120 & sleep 120 &' &",
    "deaf": "(trap '' TERM INT HUP; sleep 120) &",
    "stopped": "sleep 120 & kill -STOP $!",
    "many": "for i in $(seq 40); do sleep 120 & done",
}


@pytest.mark.parametrize("kind", BACKGROUND)
def test_B089_B091_children_in_the_background_do_not_hold_the_run(casemate: Casemate, kind: str) -> None:
    ended = casemate.bash(f"{SETSID}{BACKGROUND[kind]}\nsleep 0.2; echo foreground done")
    assert "not found" not in ended.outcome["stderr"]["text"]
    assert ended.outcome["status"] == "ok" and ended.outcome["exit_code"] == 0, ended.outcome["report"]
    assert ended.outcome["stdout"]["text"] == "foreground done\n"
    assert ended.seconds < 3 * SLOW
    assert ended.outcome["teardown"]["verdict"] == "destroyed"


def test_B091_nobody_writes_later(casemate: Casemate, tmp_path: Path) -> None:
    script = SETSID + (
        "setsid sh -c 'echo early > early.txt; sleep 0.7; echo late > late.txt' &\n"
        "nohup python3 -c 'import os,time\nif os.fork()==0:\n    os.setsid(); time.sleep(600)' &\nuntil test -e early.txt; do sleep 0.01; done; exit 0"
    )
    outcome = casemate.bash(script, "--artifact=late.txt", f"--out={tmp_path}").outcome
    assert outcome["status"] == "ok"
    (artifact,) = outcome["artifacts"]
    assert artifact["state"] == "failed"
    assert list(tmp_path.iterdir()) == []


DEAF = 'import signal,time; [signal.signal(s, signal.SIG_IGN) for s in (2,15,1)]; print("deaf", flush=True); time.sleep(600)'


def test_B092_a_deaf_program_is_ended_by_its_limit(casemate: Casemate) -> None:
    ended = casemate.bash(f"trap '' TERM INT HUP\npython3 -c '{DEAF}'", "--wall", "1s")
    assert ended.outcome["status"] == "limit" and ended.outcome["limit"]["name"] == "wall"
    assert ended.outcome["stdout"]["text"] == "deaf\n"
    assert ended.seconds < 4 * SLOW


def test_B092_and_by_a_cancel(casemate: Casemate) -> None:
    process = casemate.start("run", "--trust", "trusted", "-c", DEAF)
    assert process.stdout is not None and process.stdout.readline() == b"deaf\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20 * SLOW)
    assert process.returncode == 6 and time.monotonic() - begun < 3 * SLOW


def test_B093_no_run_outlives_its_service(casemate: Casemate) -> None:
    code = "import subprocess, time\nsubprocess.Popen(['sleep', '61'], start_new_session=True)\nprint('up', flush=True)\ntime.sleep(61)"
    started = [casemate.start("run", "--trust", "trusted", "-c", code) for _ in range(5)]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
    for process in started:
        process.kill()
    for process in started:
        process.communicate(timeout=20 * SLOW)
    end = time.monotonic() + 5 * SLOW
    while any("sleep 61" in command for command in descendants().values()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert casemate.python("print(1)").outcome["status"] == "ok"


def test_B095_a_here_document_is_read(casemate: Casemate) -> None:
    outcome = casemate.bash("cat << 'EOF' > t.txt\nhello $HOME `date`\nEOF\nwc -l t.txt; cat t.txt").outcome
    assert outcome["stdout"]["text"] == "1 t.txt\nhello $HOME `date`\n"


READERS = {
    "input": (
        "try: print(repr(input('name? ')))\nexcept EOFError: print('no stdin')",
        "name? no stdin\n",
        "name? 'Ada'\n",
    ),
    "read": ("import sys\nprint(repr(sys.stdin.read()))", "''\n", "'Ada\\nLovelace\\n'\n"),
    "bytes": ("import os\nprint(os.read(0, 100))", "b''\n", "b'Ada\\nLovelace\\n'\n"),
    "lines": ("import sys\nprint(list(sys.stdin))", "[]\n", "['Ada\\n', 'Lovelace\\n']\n"),
    "cat": ("import subprocess\nsubprocess.run(['cat']); None", "", "Ada\nLovelace\n"),
    "shell": ("import os\nos.system('read x; echo got $x'); None", "got\n", "got Ada\n"),
    "seek": ("import sys\nsys.stdin.seek(0)\nprint(sys.stdin.readline().strip())", "\n", "Ada\n"),
}


@pytest.mark.parametrize("reader", READERS)
def test_B097_nobody_types_and_the_program_is_told(casemate: Casemate, tmp_path: Path, reader: str) -> None:
    code, empty, given = READERS[reader]
    ended = casemate.run("-c", code)
    assert ended.seconds < 3 * SLOW
    assert ended.outcome["status"] == "ok" or reader == "seek"
    if reader != "seek":
        assert ended.outcome["stdout"]["text"] == empty
    (tmp_path / "in").write_bytes(b"Ada\nLovelace\n")
    assert casemate.run(f"--stdin={tmp_path}/in", "-c", code).outcome["stdout"]["text"] == given


def test_B104_B107_boxes_leave_no_trace_on_the_host(casemate: Casemate) -> None:
    """What a run writes is in memory of its own; afterwards the host has its memory again."""
    script = "head -c 50M /dev/zero > $HOME/m; head -c 50M /dev/zero > /tmp/m; head -c 20M /dev/zero > /dev/shm/m"

    def used() -> int:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(fields["Shmem"].split()[0])

    before, root = used(), os.statvfs("/")
    for _ in range(10):
        assert casemate.bash(script).outcome["status"] == "ok"
    assert used() - before < 600_000, "1.2 GB were written"
    assert root.f_ffree - os.statvfs("/").f_ffree < 5000


def test_B108_a_thread_that_stays_is_ended_by_the_limit(casemate: Casemate) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nprint('main done')"
    outcome = casemate.python(code, "--wall", "1s").outcome
    assert outcome["status"] == "limit" and outcome["limit"]["name"] == "wall"
    assert outcome["stdout"]["text"] == "main done\n"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()", ""),
        ("import threading\nthreading.Timer(0.2, print, ['later']).start()", "later\n"),
        ("import asyncio\nasync def f():\n    asyncio.create_task(asyncio.sleep(600))\nasyncio.run(f())", ""),
        ("import atexit\natexit.register(print, 'bye')", "bye\n"),
    ],
)
def test_B108_other_things_that_are_left_at_the_end(casemate: Casemate, code: str, text: str) -> None:
    ended = casemate.python(f"{code}\nprint('main done')")
    assert ended.outcome["status"] == "ok" and ended.seconds < 5 * SLOW
    assert ended.outcome["stdout"]["text"] == f"main done\n{text}"


def test_B109_fork_says_everything_once(casemate: Casemate) -> None:
    code = (
        "import os\nprint('once')\npid = os.fork()\nif pid == 0:\n    print('child'); os._exit(0)\n"
        "os.waitpid(pid, 0); print('parent')"
    )
    outcome = casemate.python(code).outcome
    assert outcome["stdout"]["text"] == "once\nchild\nparent\n"
    assert outcome["status"] == "ok" and "result" not in outcome


FORKS = {
    "held text": ("import os\nprint('held', end='')\nif os.fork() == 0: os._exit(0)\nos.wait(); None", "held", "ok"),
    "child exits": ("import os, sys\nif os.fork() == 0: sys.exit(3)\nprint(os.wait()[1] >> 8)", "3\n", "ok"),
    "child fails": ("import os\nif os.fork() == 0: 1/0\nprint(os.wait()[1] >> 8)", "1\n", "ok"),
    "child goes on": ("import os\npid = os.fork()\nif pid: os.wait()\nprint('both')", "both\nboth\n", "ok"),
    "parent first": ("import os, sys\nif os.fork() == 0:\n    import time; time.sleep(60)\nsys.exit(4)", "", "error"),
    "result once": ("import os\npid = os.fork()\nif pid: os.wait()\n6 * 7", "", "ok"),
    "child executes": ("import os\nif os.fork() == 0: os.execlp('echo', 'echo', 'hi')\nos.wait()\nprint('end')", "hi\nend\n", "ok"),
    "spawn": ("import os\nos.waitpid(os.posix_spawn('/bin/echo', ['echo', 'hi'], {}), 0)\nprint('end')", "hi\nend\n", "ok"),
    "pool": ("import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))", "[1, 2]\n", "ok"),
    "thread, then fork": ("import os, threading\nthreading.Thread(target=print, args=('t',)).start()\n"
                          "if os.fork() == 0: os._exit(0)\nos.wait()\nprint('end')", "t\nend\n", "ok"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORKS)
def test_B109_the_child_never_answers_for_the_program(casemate: Casemate, kind: str) -> None:
    code, text, status = FORKS[kind]
    outcome = casemate.python(code).outcome
    assert outcome["status"] == status, outcome["report"]
    assert outcome["stdout"]["text"] == text
    assert "exception" not in outcome
    if kind == "child fails":
        assert "ZeroDivisionError" in outcome["stderr"]["text"]
    assert outcome.get("result") == ({"text/plain": "42"} if kind == "result once" else None)


def test_B109_a_child_cannot_declare_products(casemate: Casemate) -> None:
    code = (
        "import casemate, os\nopen('a', 'w').write('a')\nif os.fork() == 0:\n    try: casemate.artifact('a')\n"
        "    except RuntimeError as e: print(e, flush=True)\n    os._exit(0)\nos.wait(); None"
    )
    outcome = casemate.python(code).outcome
    assert outcome["artifacts"] == [] and "first process" in outcome["stdout"]["text"]


def test_B110_B016_parallel_runs_each_get_their_own(casemate: Casemate) -> None:
    """8 at a time, 5 each: every one prints its own token, and none is ended by a limit that it did not reach."""
    for _ in range(5):
        tokens = [os.urandom(8).hex() for _ in range(8)]
        started = [
            casemate.start("run", "--trust", "trusted", "--wall", "20s", "-c", f"print({token!r})") for token in tokens
        ]
        for token, process in zip(tokens, started):
            out, err = process.communicate(timeout=60 * SLOW)
            assert (process.returncode, out.decode()) == (0, token + "\n"), err


POOLS = {
    "process pool": ("from concurrent.futures import ProcessPoolExecutor\ndef f(x): return x + 1\n"
                     "if __name__ == '__main__':\n    with ProcessPoolExecutor(2) as ex: print(list(ex.map(f, [1, 2, 3])))", "[2, 3, 4]\n"),
    "fork": ("import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
             "    with m.get_context('fork').Pool(2) as p: print(p.map(f, [1, 2, 3]))", "[2, 3, 4]\n"),
    "spawn": ("import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
              "    with m.get_context('spawn').Pool(2) as p: print(p.map(f, [1, 2, 3]))", "[2, 3, 4]\n"),
    "forkserver": ("import multiprocessing as m\ndef f(x): return x + 1\nif __name__ == '__main__':\n"
                   "    with m.get_context('forkserver').Pool(2) as p: print(p.map(f, [1, 2, 3]))", "[2, 3, 4]\n"),
    "thread pool": ("from concurrent.futures import ThreadPoolExecutor\n"
                    "with ThreadPoolExecutor(4) as ex: print(list(ex.map(abs, [-1, -2])))", "[1, 2]\n"),
    "shared memory": ("from multiprocessing import shared_memory\n"
                      "s = shared_memory.SharedMemory(create=True, size=1 << 20); s.close(); s.unlink(); print('shm ok')", "shm ok\n"),
    "semaphores": ("import multiprocessing as m\nl, e, q = m.Lock(), m.Event(), m.Queue()\n"
                   "with l: e.set(); q.put(5); print(q.get(), e.is_set())", "5 True\n"),
    "manager": ("import multiprocessing as m\nif __name__ == '__main__':\n    with m.Manager() as g: print(g.list([1, 2]))", "[1, 2]\n"),
    "value": ("import multiprocessing as m\ndef f(v):\n    with v.get_lock(): v.value += 1\nif __name__ == '__main__':\n"
              "    v = m.Value('i', 0)\n    ps = [m.Process(target=f, args=(v,)) for _ in range(4)]\n"
              "    [p.start() for p in ps]; [p.join() for p in ps]; print(v.value)", "4\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", POOLS)
def test_B115_pools_and_shared_memory_work(casemate: Casemate, kind: str) -> None:
    code, text = POOLS[kind]
    outcome = casemate.python(code).outcome
    assert outcome["stdout"]["text"] == text, outcome["report"]
    assert outcome["status"] == "ok" and outcome["stderr"]["text"] == ""


def test_B115_shared_memory_is_private_and_bounded(casemate: Casemate) -> None:
    code = "import os\ns = os.statvfs('/dev/shm')\nprint(s.f_blocks * s.f_frsize, os.listdir('/dev/shm'))"
    size, files = casemate.python(code, "--memory", "64MiB").outcome["stdout"]["text"].split(" ", 1)
    assert 0 < int(size) <= 256 << 20 and files == "[]\n"


def test_B116_a_loop_runs_and_a_bare_await_is_an_ordinary_error(casemate: Casemate) -> None:
    code = "import asyncio\nasync def main():\n    await asyncio.sleep(0.01); return 5\nprint(asyncio.run(main()))\n"
    assert casemate.python(code).outcome["stdout"]["text"] == "5\n"
    found = casemate.python(code + "print(await main())\n").outcome["exception"]
    assert (found["type"], found["line"]) == ("SyntaxError", 5)
    assert "await" in found["message"]
