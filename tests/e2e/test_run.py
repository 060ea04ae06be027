"""The main promises of a run: fresh, its files exact, its products whole, and ordinary Python in between."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, SLOW, Casemate

REVENUE = ROOT / "examples" / "revenue"

# Writes a token by every way in which something could be left for a later box: files under a name, a hidden
# name, in a directory, a link, a lock, in memory, in an IPC object, in the interpreter's own caches.
LEAVE = """
import ctypes, fcntl, mmap, os, socket, subprocess, sys, tempfile
from multiprocessing import shared_memory
token = sys.argv[1]
left = []
for folder, folders, _ in os.walk("/"):
    if folder in ("/proc", "/sys"): folders[:] = []
    for name in (token, "." + token):
        try:
            with open(os.path.join(folder, name), "w") as f: f.write(token)
            left.append(folder)
        except OSError: pass
os.makedirs(os.path.expanduser("~/.cache/" + token), exist_ok=True)
os.symlink(token, "/tmp/lnk")
m = shared_memory.SharedMemory("shm" + token, create=True, size=4096); m.buf[:len(token)] = token.encode()
s = socket.socket(socket.AF_UNIX); s.bind("\\0" + token)
fcntl.flock(os.open("/usr/bin/python3", os.O_RDONLY), fcntl.LOCK_EX)
os.environ[token] = token
subprocess.Popen(["sleep", "60"], env={token: token}, start_new_session=True)
libc = ctypes.CDLL(None, use_errno=True)
for make in (lambda: libc.shmget(3141, 4096, 0o1666), lambda: libc.semget(3141, 1, 0o1666), lambda: libc.msgget(3141, 0o1666)): make()
print(len(left) >= 4, sorted(set(p.split("/")[1] for p in left)))
"""

LOOK = """
import ctypes, fcntl, os, socket, sys
token = sys.argv[1]
found = []
for folder, folders, files in os.walk("/"):
    if folder == "/sys": folders[:] = []
    found += [os.path.join(folder, n) for n in folders + files if token in n or n == "lnk"]
    if folder in ("/tmp", "/vol", "/work", "/dev/shm") or folder.startswith(("/vol/", "/tmp/")):
        for n in files:
            try:
                if token in open(os.path.join(folder, n), errors="replace").read(): found.append("in " + n)
            except OSError: pass
try: socket.socket(socket.AF_UNIX).connect("\\0" + token); found.append("socket")
except OSError: pass
try: fcntl.flock(os.open("/usr/bin/python3", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError: found.append("lock")
libc = ctypes.CDLL(None, use_errno=True)
for name in ("shmget", "semget", "msgget"):
    arguments = (3141, 0) if name == "msgget" else (3141, 1, 0)
    if getattr(libc, name)(*arguments) >= 0: found.append(name)
found += [k for k in os.environ if token in k] + [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
print(found)
"""


def test_every_run_is_fresh(casemate: Casemate) -> None:
    token = "canary" + os.urandom(8).hex()
    first = casemate.run("-c", LEAVE, "--", token).outcome
    assert first["status"] == "ok", first["report"]
    assert first["stdout"]["text"].startswith("True ['dev', 'tmp', 'vol'"), first["stdout"]["text"]
    second = casemate.run("-c", LOOK.replace("token = sys.argv[1]", f"token = {token[:6]!r} + {token[6:]!r}")).outcome
    assert second["stdout"]["text"] == "[]\n", second["report"]
    ids = [(run["run_id"], run["sandbox_id"], run["volume"]["id"]) for run in (first, second)]
    assert not set(ids[0]) & set(ids[1])


def test_two_runs_do_not_share_their_chance(casemate: Casemate) -> None:
    code = (
        "import os, random, ssl, tempfile, uuid\nimport numpy\n"
        "print(random.random(), numpy.random.random(), uuid.uuid4(), os.urandom(8).hex(), hash('a'), tempfile.mkdtemp(),\n"
        "      ssl.RAND_bytes(8).hex(), id(object()))"
    )
    first, second = (casemate.python(code).outcome["stdout"]["text"].split() for _ in range(2))
    same = [one for one, other in zip(first, second) if one == other]
    assert same == [], "every source of chance is seeded anew"


@pytest.mark.parametrize("size", [0, 1, 17 << 10, 1 << 20, 20 << 20])
def test_an_input_file_has_its_exact_bytes(casemate: Casemate, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "in put").write_bytes(data)
    code = (
        "import hashlib, os\nprint(os.path.getsize('in put'), hashlib.sha256(open('in put', 'rb').read()).hexdigest())"
    )
    outcome = casemate.python(code, "--file", str(tmp_path / "in put")).outcome
    assert outcome["stdout"]["text"] == f"{size} {hashlib.sha256(data).hexdigest()}\n"


def test_the_programs_own_files_are_ordinary(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first")
    code = (
        "import os\nprint(os.getcwd(), os.path.realpath('.'), oct(os.stat('a.txt').st_mode & 0o777), os.stat('a.txt').st_uid == os.getuid())\n"
        "open('a.txt', 'a').write(' more')\nos.rename('a.txt', 'b.txt')\nprint(open('b.txt').read(), os.path.basename(__file__))\n"
        "os.chmod('b.txt', 0o600); os.unlink('b.txt'); print(os.listdir('.'))"
    )
    program = tmp_path / "the program.py"
    program.write_text(code)
    outcome = casemate.run("--file", str(tmp_path / "a.txt"), str(program)).outcome
    assert (
        outcome["stdout"]["text"] == "/work /vol/work 0o644 True\nfirst more the program.py\n['out']\n"
        or outcome["stdout"]["text"] == "/vol/work /vol/work 0o644 True\nfirst more the program.py\n['out']\n"
    ), outcome["report"]
    assert (tmp_path / "a.txt").read_text() == "first", "the original is not touched"


ORDINARY = {
    "numpy": ("import numpy as np\nprint(np.linalg.solve([[2.0, 0], [0, 4]], [2, 8]).tolist())", "[1.0, 2.0]\n"),
    "pandas": ("import pandas as pd\nprint(pd.DataFrame({'a': [1, 2, 1], 'b': [1, 2, 3]}).groupby('a').b.sum().to_dict())", "{1: 4, 2: 2}\n"),
    "csv and json": ("import csv, io, json\nprint(json.dumps(list(csv.DictReader(io.StringIO('a,b\\n1,2')))))", '[{"a": "1", "b": "2"}]\n'),
    "scipy": ("from scipy import optimize\nprint(round(optimize.brentq(lambda x: x**2 - 2, 0, 2), 6))", "1.414214\n"),
    "pillow": ("from PIL import Image\nImage.new('RGB', (8, 4)).save('a.png')\nprint(Image.open('a.png').size)", "(8, 4)\n"),
    "sympy": ("import sympy\nx = sympy.symbols('x')\nprint(sympy.factor(x**2 - 1))", "(x - 1)*(x + 1)\n"),
    "sqlite": ("import sqlite3\nd = sqlite3.connect('d.db')\nwith d: d.execute('create table t (a)'); d.execute('insert into t values (7)')\n"
               "print(d.execute('select a from t').fetchall(), d.execute('pragma journal_mode=wal').fetchone())", "[(7,)] ('wal',)\n"),
    "ssl": ("import ssl, hashlib, secrets\nprint(ssl.create_default_context().verify_mode.name, len(secrets.token_hex(4)))", "CERT_REQUIRED 8\n"),
    "threads": ("import threading\nt = [threading.Thread(target=print, args=(i,)) for i in range(3)]\n[(x.start(), x.join()) for x in t]; None", "0\n1\n2\n"),
    "asyncio": ("import asyncio\nasync def f(i):\n    await asyncio.sleep(0.01 * i); print(i)\nasync def m(): await asyncio.gather(*map(f, range(3)))\nasyncio.run(m())", "0\n1\n2\n"),
    "async process": ("import asyncio\nasync def m():\n    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n    print(await p.communicate())\nasyncio.run(m())", "(b'hi\\n', None)\n"),
    "subprocess": ("import subprocess\nprint(subprocess.run('echo hi | tr a-z A-Z; exit 3', shell=True, capture_output=True, text=True))",
                   "CompletedProcess(args='echo hi | tr a-z A-Z; exit 3', returncode=3, stdout='HI\\n', stderr='')\n"),
    "python below": ("import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(6*7)'], text=True), end='')", "42\n"),
    "signals": ("import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got'))\nos.kill(os.getpid(), signal.SIGUSR1)", "got\n"),
    "timers": ("import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('rang'))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()", "rang\n"),
    "pseudo files": ("import os, sys\nprint(open('/dev/null').read() == '', len(open('/dev/urandom', 'rb').read(4)), os.path.exists('/dev/tty'))", "True 4 False\n"),
    "compression": ("import bz2, gzip, lzma, zlib\nprint([m.decompress(m.compress(b'x')) for m in (bz2, gzip, lzma, zlib)])", "[b'x', b'x', b'x', b'x']\n"),
    "ctypes": ("import ctypes\nprint(ctypes.CDLL(None).abs(-5), ctypes.sizeof(ctypes.c_long))", "5 8\n"),
    "pickle": ("import pickle\nclass C: a = 5\nprint(pickle.loads(pickle.dumps(C())).a)", "5\n"),
    "inspect": ("import inspect\ndef f(): return 1\nprint(inspect.getsource(f), end='')", "def f(): return 1\n"),
    "main": ("import sys, __main__\nprint(__name__, sys.modules['__main__'].__dict__ is globals(), __main__.__file__ == __file__)", "__main__ True True\n"),
    "locale": ("import locale, sys\nprint(sys.stdout.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding())", "utf-8 utf-8 UTF-8\n"),
    "inotify of its own": ("import ctypes\nprint(ctypes.CDLL(None).inotify_init() >= 0)", "True\n"),
    "user": ("import getpass, os, pwd\nprint(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name, os.path.expanduser('~') == os.environ['HOME'])", "box box True\n"),
}  # fmt: skip


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_python_works(casemate: Casemate, what: str) -> None:
    code, text = ORDINARY[what]
    outcome = casemate.python(code).outcome
    assert outcome["stdout"]["text"] == text, outcome["report"]
    assert outcome["status"] == "ok" and outcome["stderr"]["text"] == "", outcome["report"]


SPAWNED = """
import multiprocessing as mp, os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory
def square(x): return x * x
def write(name):
    s = shared_memory.SharedMemory(name); s.buf[:5] = b"child"; s.close()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        context = mp.get_context(method)
        with ProcessPoolExecutor(2, mp_context=context) as pool: print(method, list(pool.map(square, range(5))))
        s = shared_memory.SharedMemory(create=True, size=100)
        p = context.Process(target=write, args=(s.name,)); p.start(); p.join()
        print(bytes(s.buf[:5]), p.exitcode); s.close(); s.unlink()
"""


@pytest.mark.parametrize("way", ["file", "dash"])
def test_multiprocessing_finds_the_program_again(casemate: Casemate, tmp_path: Path, way: str) -> None:
    (tmp_path / "jobs.py").write_text(SPAWNED)
    outcome = casemate.run(str(tmp_path / "jobs.py") if way == "file" else "-", stdin=SPAWNED).outcome
    assert outcome["stdout"]["text"] == (
        "fork [0, 1, 4, 9, 16]\nb'child' 0\nspawn [0, 1, 4, 9, 16]\nb'child' 0\n"
    ), outcome["report"]
    assert outcome["stderr"]["text"] == "" and outcome["usage"]["pids_peak"] > 2


def test_figures_are_kept_whether_shown_or_left_open(casemate: Casemate, tmp_path: Path) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('a'); plt.show()\nfig, ax = plt.subplots(); ax.plot([3]); ax.set_title('b')"
    outcome = casemate.python(code, f"--out={tmp_path}").outcome
    assert outcome["status"] == "ok", outcome["report"]
    assert [(artifact["summary"], artifact["media_type"]) for artifact in outcome["artifacts"]] == [
        ("a", "image/png"),
        ("b", "image/png"),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-1.png", "figure-2.png"]


def test_products_are_exact_and_told_with_their_digest(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate, hashlib, os\nfor size in (0, 1, 4097, 3 << 20):\n    data = os.urandom(size)\n    open(f'f{size}', 'wb').write(data)\n"
        "    print(hashlib.sha256(data).hexdigest())\n    casemate.artifact(f'f{size}', summary=f'{size} bytes')\nopen('asked', 'w').write('for'); None"
    )
    outcome = casemate.python(code, "--artifact", "asked", "--artifact", "not/there", f"--out={tmp_path}").outcome
    digests = outcome["stdout"]["text"].split()
    stored = [artifact for artifact in outcome["artifacts"] if artifact["state"] == "stored"]
    assert [artifact["sha256"] for artifact in stored[:4]] == digests
    assert [hashlib.sha256(Path(artifact["uri"]).read_bytes()).hexdigest() for artifact in stored[:4]] == digests
    assert stored[4]["name"] == "asked" and Path(stored[4]["uri"]).read_text() == "for"
    (missing,) = [artifact for artifact in outcome["artifacts"] if artifact["state"] == "failed"]
    assert missing["name"] == "there" and "not stored" in outcome["report"]


def test_the_report_reads_as_designed(casemate: Casemate) -> None:
    code = "rows = [{'tenant': 'a', 'value': 1}]\nfor i in range(212): print('processing', i)\nfor row in rows:\n    total = row['amount']"
    report: str = casemate.python(code).outcome["report"]
    assert report.startswith("status: error (exit code 1)\n--- stdout (last 20 of 212 lines")
    assert (
        "processing 211\n--- stderr ---\n--- exception ---\nKeyError: 'amount'\nat line 4: total = row['amount']\n"
        in report
    )
    assert "'tenant', 'value'" in report and re.search(
        r"--- limits ---\nnone reached \(wall [\d.]+ of \d+ s, memory [\d.]+ of 512 MiB\)\n$", report
    )


@pytest.mark.parametrize("_", range(3))
def test_parallel_runs_keep_apart(casemate: Casemate, _: int) -> None:
    """8 at a time: each writes the same names and reads its own token back."""
    code = "import sys, time\nopen('f', 'w').write(sys.argv[1]); open('/tmp/f', 'w').write(sys.argv[1])\ntime.sleep(0.2)\nprint(open('f').read(), open('/tmp/f').read())"
    tokens = [os.urandom(8).hex() for _ in range(8)]
    started = [casemate.start("run", "--trust", "trusted", "--json", "-c", code, "--", token) for token in tokens]
    outcomes = [json.loads(process.communicate(timeout=60 * SLOW)[0]) for process in started]
    assert [outcome["stdout"]["text"] for outcome in outcomes] == [f"{token} {token}\n" for token in tokens]
    for field in ("run_id", "sandbox_id"):
        assert len({outcome[field] for outcome in outcomes}) == 8


def test_the_example_ends_right_to_the_cent(casemate: Casemate, tmp_path: Path) -> None:
    ended = casemate.call(
        "run", "--trust", "trusted", "--file", REVENUE / "sales.csv", "--out", tmp_path, REVENUE / "revenue.py"
    )
    assert ended.exit_code == 0, ended
    assert ended.stdout.decode().splitlines()[-1].startswith("total ")
    assert ended.stderr.count("[artifact] ") == 2
    check = subprocess.run(
        ["/usr/bin/python3", "-B", REVENUE / "check.py", tmp_path / "revenue.csv"], capture_output=True, check=False
    )
    assert check.returncode == 0, check
    assert (tmp_path / "revenue.png").read_bytes().startswith(b"\x89PNG")
    broken = (tmp_path / "revenue.csv").read_text().replace(".", ".0", 1)
    (tmp_path / "broken.csv").write_text(broken)
    check = subprocess.run(
        ["/usr/bin/python3", "-B", REVENUE / "check.py", tmp_path / "broken.csv"], capture_output=True, check=False
    )
    assert check.returncode == 1, "the check does catch a wrong sum"


def test_the_examples_data_is_what_its_maker_makes() -> None:
    made = subprocess.run(["/usr/bin/python3", "-B", REVENUE / "make_sales.py"], capture_output=True, check=True).stdout
    assert made == (REVENUE / "sales.csv").read_bytes()
