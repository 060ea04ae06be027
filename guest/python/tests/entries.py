"""Programs that end in every way there is, for test_entries: source, whether a slot ends them by
DONE (else Python ends the process), and options of Engine.run."""

from __future__ import annotations

from typing import Any

_DEL = """\
class Bye:
    def __init__(self, name): self.name = name
    def __del__(self): print('bye', self.name, CONST)
CONST = 'const'
"""

ENDS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "print": ("print(1)", True, {}),
    "nothing": ("", True, {}),
    "value": ("1 + 1", True, {}),
    "huge value": ("list(range(10**6))", True, {}),
    "long text value": ("'x' * 10**7", True, {}),
    "None": ("None", True, {}),
    "value whose repr prints": (
        "class A:\n    def __repr__(self): print('repr'); return 'A()'\nA()",
        True,
        {},
    ),
    "value whose repr fails": ("class A:\n    def __repr__(self): 1/0\nA()", True, {}),
    "exit 3": ("import sys\nsys.exit(3)", True, {}),
    "exit 0": ("raise SystemExit", True, {}),
    "exit None": ("import sys\nsys.exit(None)", True, {}),
    "exit text": ("import sys\nsys.exit('bad input')", True, {}),
    "exit object": ("import sys\nsys.exit([1, 2])", False, {}),
    "exit True": ("import sys\nsys.exit(True)", True, {}),
    "exit float": ("import sys\nsys.exit(1.0)", False, {}),
    "exit 256": ("import sys\nsys.exit(256)", True, {}),
    "exit -1": ("import sys\nsys.exit(-1)", True, {}),
    "exit 2**40": ("import sys\nsys.exit(2**40 + 7)", True, {}),
    "exit 10**30": ("import sys\nsys.exit(10**30)", False, {}),
    "own SystemExit": ("class E(SystemExit): code = 9\nraise E", False, {}),
    "exit()": ("exit(4)", True, {}),
    "os._exit": ("import os\nprint('x', end='')\nos._exit(9)", False, {}),
    "exit in finally": ("import sys\ntry:\n    1/0\nfinally:\n    sys.exit(5)", True, {}),
    "exit in function with locals": (
        _DEL + "import sys\ndef f():\n    x = Bye('local')\n    sys.exit(6)\nf()",
        True,
        {},
    ),
    "SIGTERM": ("import os\nos.kill(os.getpid(), 15)", False, {}),
    "SIGKILL": ("import os\nos.kill(os.getpid(), 9)", False, {}),
    "segfault": ("import ctypes\nprint('on')\nctypes.string_at(0)", False, {}),
    "abort": ("import os\nos.abort()", False, {}),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", False, {}),
    "SIGINT": ("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)", False, {}),
    "uncaught": ("def f(x):\n    return x['a']\nf({'b': 1})", True, {}),
    "uncaught with cause": (
        "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('v') from e",
        True,
        {},
    ),
    "uncaught of locals with __del__": (
        _DEL + "def f():\n    x = Bye('local')\n    1/0\ny = Bye('y')\nf()",
        True,
        {},
    ),
    "syntax error": ("x = = 1", True, {}),
    "warning": ("import warnings\nwarnings.warn('careful')\nx = 1 is 1", True, {}),
    "excepthook": ("import sys\nsys.excepthook = lambda *a: print('hook', a[0])\n1/0", False, {}),
    "assert": ("assert 1 == 2, 'no'", True, {}),
    "BaseException": ("class E(BaseException): pass\nraise E('x')", True, {}),
    "group": ("raise ExceptionGroup('g', [ValueError(1)])", True, {}),
    "recursion": (
        "def f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nprint(f(0) // 50)",
        True,
        {},
    ),
}
OBJECTS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "__del__": (_DEL + "a = Bye('a')\n_b = Bye('_b')\nc = [Bye('c1'), Bye('c2')]", True, {}),
    "__del__ without functions": ("import io\nclass A(io.StringIO): pass\na = A()", True, {}),
    "__del__ in a cycle": (_DEL + "a = Bye('a')\na.me = a\ndel a\nb = Bye('b')\nb.me = [b]", True, {}),
    "__del__ that raises": ("class A:\n    def __del__(self): 1/0\na = A()", True, {}),
    "__del__ that exits": ("class A:\n    def __del__(self): raise SystemExit(4)\na = A()", True, {}),
    "__del__ of a deleted name": (_DEL + "a = Bye('a')\ndel a\nprint('after')", True, {}),
    "__del__ that prints to stderr": (
        "import sys\nclass A:\n    def __del__(self): print('err', file=sys.stderr)\na = A()",
        True,
        {},
    ),
    "unflushed file": ("f = open('out.txt', 'w')\nf.write('unflushed')\nprint('on')", True, {}),
    "unflushed file in a function": (
        "def f():\n    f.file = open('o', 'w')\n    f.file.write('x' * 9)\nf()",
        True,
        {},
    ),
    "unflushed binary file in a list": (
        "fs = [open(f'{n}.bin', 'wb') for n in range(3)]\nfs[1].write(b'1')",
        True,
        {},
    ),
    "csv writer": ("import csv\nw = csv.writer(open('a.csv', 'w'))\nw.writerow([1, 2])", True, {}),
    "generator with finally": (
        "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g()\nnext(x)",
        True,
        {},
    ),
    "generator of an exception": (
        "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g()\nnext(x)\n1/0",
        True,
        {},
    ),
    "coroutine never awaited": ("async def f(): pass\nx = f()", True, {}),
    "weakref callback": (
        "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda _: print('gone'))\ndel a",
        True,
        {},
    ),
    "weakref.finalize": (
        "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'final')",
        True,
        {},
    ),
    "temporary directory": (
        (
            "import tempfile, os\nd = tempfile.TemporaryDirectory(dir='.',"
            " prefix='t')\nprint(len(os.listdir('.')))"
        ),
        True,
        {},
    ),
    "named temporary file": (
        "import tempfile\nt = tempfile.NamedTemporaryFile(dir='.')\nt.write(b'x')",
        True,
        {},
    ),
    "zip left open": ("import zipfile\nz = zipfile.ZipFile('a.zip', 'w')\nprint(z.mode)", True, {}),
    "gzip left open": ("import gzip\ng = gzip.GzipFile('a.gz', 'wb', mtime=0)\ng.write(b'x')", True, {}),
    "sqlite left open": (
        "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('create table t(x)')",
        True,
        {},
    ),
    "dbm left open": ("import dbm.dumb\nd = dbm.dumb.open('d', 'c')\nd['a'] = '1'\nprint('on')", True, {}),
    "object in a preloaded module": (_DEL + "import json\njson.mine = Bye('there')", False, {}),
    "object in builtins": (_DEL + "import builtins\nbuiltins.mine = Bye('there')", False, {}),
    "object in sys": (_DEL + "import sys\nsys.mine = Bye('there')", False, {}),
    "object in an exception": (
        _DEL + "try:\n    raise ValueError(Bye('e'))\nexcept ValueError as e:\n    k = e",
        True,
        {},
    ),
    "object in a default": (_DEL + "def f(x=Bye('default')): pass", True, {}),
    "object in a closure": (
        _DEL + "def f():\n    x = Bye('closure')\n    return lambda: x\ng = f()",
        True,
        {},
    ),
    "object in a cache": (
        _DEL + "import functools\n@functools.lru_cache\ndef f(n): return Bye(n)\nf(1)",
        True,
        {},
    ),
    "module of the program": (
        "import helper\nprint(helper.f())",
        True,
        {
            "files": {
                b"helper.py": b"f = lambda: 'helped'\nclass A:\n    def __del__(self): print('A')\na = A()\n"
            }
        },
    ),
    "package of the program": (
        "from pack.inner import x\nprint(x)",
        True,
        {
            "files": {
                b"pack/__init__.py": b"",
                b"pack/inner.py": b"x = open('made', 'w'); x.write('1')\nx = 2\n",
            }
        },
    ),
    "module in place of a preloaded one": (
        "import random, statistics\nprint(random.mine, statistics.mine)",
        True,
        {"files": {b"random.py": b"mine = 1\n", b"statistics/__init__.py": b"mine = 2\n"}},
    ),
    "data beside preloaded names": (
        "import json, csv\nprint(json.loads('[1]'), csv.reader, open('json.txt').read())",
        True,
        {"files": {b"json.txt": b"text", b"csv/data.bin": b""}},
    ),
}
HOOKS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "atexit": ("import atexit\natexit.register(print, 1)\natexit.register(print, 2)\nprint(0)", True, {}),
    "atexit that raises": (
        "import atexit\natexit.register(lambda: 1/0)\natexit.register(print, 2)",
        True,
        {},
    ),
    "atexit that exits": (
        "import atexit, sys\natexit.register(print, 1)\natexit.register(sys.exit, 5)",
        True,
        {},
    ),
    "atexit after exit": ("import atexit, sys\natexit.register(print, 1)\nsys.exit(2)", True, {}),
    "atexit after an exception": (
        "import atexit, sys\natexit.register(lambda: print(sys.last_value))\n1/0",
        True,
        {},
    ),
    "atexit with globals": ("import atexit\nX = 1\ndef f(): print(X)\natexit.register(f)", True, {}),
    "atexit in atexit": ("import atexit\natexit.register(lambda: atexit.register(print, 'in'))", True, {}),
    "atexit that _exits": (
        "import atexit, os\natexit.register(os._exit, 7)\nprint('on', flush=True)",
        False,
        {},
    ),
    "signal handler": ("import signal\nsignal.signal(signal.SIGTERM, lambda *a: print('term'))", True, {}),
    "logging": (
        "import logging\nlogging.basicConfig(filename='l.log', format='%(message)s')\nlogging.error('e')",
        True,
        {},
    ),
    "logging to stderr": ("import logging\nlogging.warning('w')\nprint('o')", True, {}),
    "trace": ("import sys\nsys.settrace(lambda *a: None)\nprint(1)", True, {}),
    "gc off": (_DEL + "import gc\ngc.disable()\na = Bye('a')\na.me = a\ndel a", True, {}),
    "codec error handler": (
        "import codecs\ncodecs.register_error('mine', lambda e: ('', e.end))\nprint(1)",
        False,
        {},
    ),
    "unraisablehook": (
        (
            "import sys\nsys.unraisablehook = lambda u: print('un', u.exc_type.__name__)\nclass A:\n    def"
            " __del__(self): 1/0\na = A()"
        ),
        False,
        {},
    ),
}
STREAMS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "unfinished line": ("print('x', end='')", True, {}),
    "both streams": ("import sys\nfor n in range(5): print(n); print(n, file=sys.stderr)", True, {}),
    "lone surrogate": ("print('\\ud800', b'\\xff'.decode('utf-8', 'surrogateescape'))", True, {}),
    "stdout replaced": ("import sys, io\nsys.stdout = io.StringIO()\nprint('lost')", True, {}),
    "stdout is a file": ("import sys\nsys.stdout = open('o.txt', 'w')\nprint('kept')", True, {}),
    "stdout is a Tee": (
        (
            "import sys\nclass Tee:\n    def __init__(self, a): self.a = a\n    def write(self, t): return"
            " self.a.write(t.upper())\n    def flush(self): self.a.write('F\\n')\nsys.stdout ="
            " Tee(sys.stdout)\nprint('t')"
        ),
        True,
        {},
    ),
    "stdout whose flush fails": (
        (
            "import sys\nclass T:\n    def write(self, t): pass\n    def flush(self): 1/0\nsys.stdout ="
            " T()\nprint('t')"
        ),
        False,
        {},
    ),
    "stdout None": ("import sys\nsys.stdout = None\nprint('lost')", True, {}),
    "stdout closed": ("import sys\nsys.stdout.close()", True, {}),
    "stdout deleted": ("import sys\ndel sys.stdout", True, {}),
    "descriptor 1 closed": ("import os\nos.close(1)", True, {}),
    "stdin": ("import sys\nprint(repr(sys.stdin.read()))\ninput()", True, {}),
    "buffer": ("import sys\nsys.stdout.buffer.write(b'raw\\n')\nprint('t')", True, {}),
    "detached": ("import sys\nsys.stdout.detach()", False, {}),
    "many lines": ("for n in range(9000): print(n)\nprint('end', end='')", True, {}),
    "flush held": (
        (
            "import threading\nt = threading.Thread(target=print, args=('a',))\nt.start();"
            " t.join()\nprint('b', end='')"
        ),
        True,
        {},
    ),
}
PROCESSES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "thread": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print('late'))).start()",
        True,
        {},
    ),
    "thread that raises": (
        "import threading\nt = threading.Thread(target=lambda: 1/0, name='T')\nt.start()",
        True,
        {},
    ),
    "daemon thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        True,
        {},
    ),
    "executor": (
        (
            "from concurrent.futures import ThreadPoolExecutor\ne = ThreadPoolExecutor(2)\nf = e.submit(pow,"
            " 2, 9)\nprint(f.result())"
        ),
        True,
        {},
    ),
    "KeyboardInterrupt while joining": (
        (
            "import os, threading, time\ndef f():\n    time.sleep(.2)\n    os.kill(os.getpid(), 2)\n   "
            " time.sleep(.2)\nthreading.Thread(target=f).start()"
        ),
        False,
        {},
    ),
    "fork": ("import os\np = os.fork()\nif p: os.waitpid(p, 0)\nprint('parent' if p else 'child')", True, {}),
    "forked child ends last": (
        (
            "import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    time.sleep(.2)\nelse:\n   "
            " os.close(w)\nprint('x')"
        ),
        True,
        {},
    ),
    "fork in atexit": (
        "import atexit, os\natexit.register(lambda: print(bool(os.fork()) and os.wait()[1]))",
        True,
        {},
    ),
    "subprocess": (
        "import subprocess\nprint(subprocess.run(['echo', 'hi'], capture_output=True).stdout)",
        True,
        {},
    ),
    "multiprocessing": (
        "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, 2]))",
        True,
        {},
    ),
    "asyncio": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nprint(asyncio.run(f()))",
        True,
        {},
    ),
    "exec": ("import os\nos.execv('/bin/echo', ['echo', 'other'])", False, {}),
    "exit in a thread": (
        "import sys, threading\nthreading.Thread(target=sys.exit, args=(3,)).start()",
        True,
        {},
    ),
}
GUEST: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "artifact": (
        (
            "import casemate, os\nos.mkdir('out')\nopen('out/a.txt',"
            " 'w').write('a')\ncasemate.artifact('out/a.txt', 'it')"
        ),
        True,
        {},
    ),
    "arguments": ("import sys\nprint(sys.argv[1:])", True, {"arguments": (b"a", b"b c")}),
    "environment": (
        "import os\nprint(os.environ['A'], os.getenv('TZ'))",
        True,
        {"environment": (b"A=1", b"TZ=UTC+3")},
    ),
    "name": ("print(__file__[-8:], __name__)\n1/0", True, {"name": b"job 1.py"}),
    "control replaced": ("import os\nos.close(3)\nprint(os.pipe()[0])", False, {}),
    "control closed": ("import os\nos.close(3)\nprint(1)", False, {}),
    "control closed, uncaught": ("import os\nos.close(3)\n1/0", False, {}),
    "builtins emptied": ("import builtins\nbuiltins.__dict__.clear()", False, {}),
    "modules emptied": ("import sys\nsys.modules.clear()", True, {}),
    "globals emptied": ("globals().clear()", True, {}),
    "pickle of main": (
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
        True,
        {},
    ),
    "inspect": ("import inspect\ndef f(): pass\nprint(inspect.getsource(f), len(inspect.stack()))", True, {}),
    "import of main": ("import __main__\nx = 5\nprint(__main__.x, sorted(vars(__main__))[:3])", True, {}),
    "changed directory": ("import os\nos.mkdir('d')\nos.chdir('d')\nopen('f', 'w').write('x')", True, {}),
}
PROGRAMS = {**ENDS, **OBJECTS, **HOOKS, **STREAMS, **PROCESSES, **GUEST}
