"""How programs end: exits, exceptions, threads, children, and what hostile ones try."""

from __future__ import annotations

import signal
import textwrap
import unittest

from engine import RunnerTest

from casemate import _wire


class Exits(RunnerTest):
    def test_exit_codes_are_the_program_s(self) -> None:
        for source, status, stderr in [
            ("import sys; sys.exit(3)", 3, b""),
            ("import sys; sys.exit()", 0, b""),
            ("import sys; sys.exit('bad input')", 1, b"bad input\n"),
            ("raise SystemExit(300)", 300 & 0xFF, b""),
            ("import os; os._exit(9)", 9, b""),
            (
                "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
                -signal.SIGTERM,
                b"",
            ),
            ("import atexit, sys\natexit.register(lambda: print('bye'))", 0, b""),
            ("exit(4)", 4, b""),
            ("raise KeyboardInterrupt", -signal.SIGINT, b""),
        ]:
            with self.subTest(source):
                ended = self.engine.run(source)
                self.assertEqual((ended.status, ended.stderr), (status, stderr))
                reports = ended.of(_wire.EXCEPTION)
                self.assertEqual(len(reports), 1 if "Keyboard" in source else 0)

    def test_atexit_handlers_run_after_an_exception_too(self) -> None:
        ended = self.engine.run(
            "import atexit, sys\natexit.register(lambda: print('bye', sys.last_value))\n1/0"
        )
        self.assertEqual((ended.status, ended.stdout), (1, b"bye division by zero\n"))

    def test_threads_that_are_no_daemons_are_joined(self) -> None:
        ended = self.run_ok(
            "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.3),"
            " print('late'))).start()\nprint('main done')"
        )
        self.assertEqual(ended.stdout, b"main done\nlate\n")

    def test_a_thread_s_exception_is_printed_without_our_frames(self) -> None:
        ended = self.run_ok(
            "import threading\ndef f():\n    1/0\nt = threading.Thread(target=f); t.start();"
            " t.join()\nprint('on')"
        )
        self.assertIn(b"Exception in thread", ended.stderr)
        self.assertIn(b'program.py", line 3, in f\n    1/0\n', ended.stderr)
        self.assertNotIn(b"casemate/_", ended.stderr)

    def test_an_excepthook_of_the_program_runs_beside_the_report(self) -> None:
        ended = self.engine.run(
            "import sys\nsys.excepthook = lambda t, v, tb: print('hook', t.__name__, tb.tb_lineno)\n1/0"
        )
        self.assertEqual(
            (ended.status, ended.stdout, ended.report.type),
            (1, b"hook ZeroDivisionError 3\n", "ZeroDivisionError"),
        )

    def test_a_broken_excepthook_is_told(self) -> None:
        ended = self.engine.run("import sys\nsys.excepthook = lambda *a: nope\n1/0")
        self.assertEqual(ended.status, 1)
        self.assertIn(b"Error in sys.excepthook", ended.stderr)

    def test_without_a_channel_the_traceback_is_printed(self) -> None:
        for how in (
            "os.close(3)",
            "os.dup2(os.open('/dev/null', os.O_RDWR), 3)",
            "import socket; socket.socket(fileno=3).shutdown(2)",
        ):
            with self.subTest(how):
                ended = self.engine.run(f"import os\n{how}\nprint('on')\n1/0")
                self.assertEqual((ended.status, ended.stdout), (1, b"on\n"))
                self.assertIn(b"ZeroDivisionError: division by zero", ended.stderr)
                self.assertNotIn(b"casemate/_", ended.stderr)

    def test_a_crash_is_a_signal_with_pythons_stack(self) -> None:
        ended = self.engine.run(
            "print('before')\nimport ctypes\nctypes.string_at(0)",
            flags=("-X", "faulthandler"),
        )
        self.assertEqual((ended.status, ended.stdout), (-signal.SIGSEGV, b"before\n"))
        self.assertIn(b'program.py", line 3', ended.stderr)


class Children(RunnerTest):
    def test_a_child_reports_nothing_and_holds_no_channel(self) -> None:
        ended = self.engine.run(
            "import os, sys\npid = os.fork()\nif pid == 0:\n    try:\n        os.fstat(3); print('open')\n   "
            " except OSError: print('closed')\n    print('e', file=sys.stderr); print('o')\n    raise"
            " ValueError('child')\n_, status = os.waitpid(pid, 0)\nprint(os.waitstatus_to_exitcode(status))\n"
        )
        self.assertEqual((ended.status, ended.stdout), (0, b"closed\no\n1\n"))
        self.assertEqual(ended.frames, [])
        self.assertIn(b"ValueError: child", ended.stderr)
        self.assertNotIn(b"casemate/_", ended.stderr)

    def test_a_child_that_ends_first_leaves_the_value_to_the_parent(self) -> None:
        ended = self.run_ok(
            "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\npid > 0 or 'child'"
        )
        self.assertEqual(ended.result, {"text/plain": "True"})

    def test_the_channel_is_not_inherited_by_programs(self) -> None:
        ended = self.run_ok(
            "import subprocess\nprint(subprocess.run(['/bin/sh', '-c', 'ls /proc/self/fd | tr \"\\\\n\" \""
            " \"'], close_fds=False, capture_output=True, text=True).stdout)"
        )
        self.assertEqual(ended.stdout.split()[:3], [b"0", b"1", b"2"])
        self.assertLessEqual(
            len(ended.stdout.split()), 4
        )  # ls itself has one for the directory

    def test_multiprocessing_by_fork_and_spawn(self) -> None:
        program = """\
            from concurrent.futures import ProcessPoolExecutor
            import multiprocessing as mp, pickle
            class Point:
                def __init__(self, x): self.x = x
            def f(p): return Point(p.x + 1)
            if __name__ == "__main__":
                assert pickle.loads(pickle.dumps(Point(4))).x == 4
                for method in ("fork", "spawn"):
                    with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as ex:
                        print(method, [p.x for p in ex.map(f, [Point(1), Point(2)])])
            """
        self.assertEqual(
            self.run_ok(textwrap.dedent(program)).stdout, b"fork [2, 3]\nspawn [2, 3]\n"
        )

    def test_asyncio_runs(self) -> None:
        self.assertEqual(
            self.run_ok(
                "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    return"
                " 5\nprint(asyncio.run(main()))"
            ).stdout,
            b"5\n",
        )


class Hostile(RunnerTest):
    """A program can spoil its own run. It must not hang it, nor pass for something else."""

    def test_garbage_on_the_channel(self) -> None:
        ended = self.engine.run("import os\nos.write(3, b'\\xff' * 100)\nprint('on')")
        self.assertEqual((ended.status, ended.stdout), (0, b"on\n"))

    def test_streams_replaced_or_closed(self) -> None:
        for source in (
            "import sys, io\nsys.stdout = io.StringIO()\nsys.stderr = None\n1/0",
            "import sys\nsys.stdout.close()\nsys.stderr.close()\n1/0",
            "import sys\ndel sys.stdout, sys.stderr\n1/0",
            "import os\nos.close(1); os.close(2)\n1/0",
            "import sys\nsys.stdout.detach(); sys.stderr.detach()\n1/0",
        ):
            with self.subTest(source):
                ended = self.engine.run(source)
                # 120 is Python's own when it cannot flush a stream at its end.
                self.assertIn(ended.status, (1, 120) if "detach" in source else (1,))
                self.assertEqual(ended.report.type, "ZeroDivisionError")

    def test_builtins_and_modules_trashed(self) -> None:
        for spoil in (
            (
                "import builtins\ndel builtins.print, builtins.len, builtins.type, builtins.BaseException,"
                " builtins.SystemExit, builtins.isinstance"
            ),
            "import builtins\nbuiltins.__dict__.clear()",
            "__builtins__ = {}",
            "del __builtins__",
            "import sys\nsys.modules.clear()",
            "import sys\nsys.path[:] = []\nsys.meta_path[:] = []\nsys.path_hooks[:] = []",
            "import sys\nsys.modules = None",
            "import sys\nsys.path = None",
            "import builtins\nbuiltins.__import__ = None",
            "import builtins\nbuiltins.str = builtins.repr = builtins.len = None",
            "import os\nos.getpid = os.write = os.fstat = None",
            "import sys\nsys.setrecursionlimit(30)",
            "import sys\nsys.exc_info = sys.setprofile = None",
            "globals().clear()",
            "import gc\ngc.disable()",
            "import sys\ndel sys.excepthook, sys.__excepthook__",
            "import casemate._wire as w\nw.Channel.send = None",
            "import sys\nsys.settrace(lambda *a: 1/0)",
        ):
            for end, kinds in (("raise OSError(5, 'x')", {"OSError"}), ("pass", set())):
                with self.subTest(spoil=spoil, end=end):
                    ended = self.engine.run(f"{spoil}\n{end}\n")
                    if not kinds:
                        # Ordinarily 0; a trashed interpreter may say something of its own at its end.
                        self.assertIn(ended.status, (0, 1, 120))
                        continue
                    self.assertEqual(ended.status, 1, ended.stderr)
                    reports = ended.of(_wire.EXCEPTION)
                    self.assertTrue(reports or b"Error" in ended.stderr)

    def test_a_report_is_made_with_builtins_gone(self) -> None:
        ended = self.engine.run(
            "import builtins, sys\nclear = builtins.__dict__.clear\nclear()\nfoo"
        )
        self.assertEqual(
            (ended.status, ended.report.type, ended.report.message),
            (1, "NameError", "name 'foo' is not defined"),
        )

    def test_an_exit_within_atexit(self) -> None:
        ended = self.engine.run(
            "import atexit, sys\natexit.register(sys.exit, 5)\nprint('on')"
        )
        self.assertEqual(ended.stdout, b"on\n")
        self.assertIn(ended.status, (0, 5))

    def test_exceptions_that_do_not_behave(self) -> None:
        loop = "while True:\n      try:\n        while True: pass\n      except BaseException: pass"
        for body, said in [
            ("def __str__(self): raise SystemExit(0)", "failed: SystemExit"),
            ("def __str__(self): return 5", "failed: TypeError"),
            (f"def __str__(self):\n    {loop}", "did not return"),
            ("def __str__(self):\n    while True: pass", "did not return"),
            ("def __str__(self): return 'x' * 10**8", "left out"),
            ("__class__ = property(lambda self: 1/0)", ""),
            (
                "__traceback__ = __cause__ = __context__ = args = __notes__ = property(lambda self: 1/0)",
                "",
            ),
            ("def __getattribute__(self, name): raise RuntimeError", ""),
            (
                "def __eq__(self, other): raise RuntimeError\n  def __hash__(self): raise RuntimeError",
                "",
            ),
            ("def __del__(self): raise RuntimeError", ""),
        ]:
            for base in (
                "Exception",
                "KeyError",
                "OSError",
                "AttributeError",
                "NameError",
                "ModuleNotFoundError",
                "BaseException",
            ):
                if "while" in body and base != "Exception":
                    continue
                with self.subTest(body=body, base=base):
                    source = f"class E({base}):\n  {body}\nraise E('said')"
                    ended = self.engine.run(source)
                    report = ended.report
                    self.assertEqual(
                        (ended.status, report.type, report.line),
                        (1, "E", source.count("\n") + 1),
                    )
                    self.assertIn(said, report.message)
                    self.assertLess(ended.seconds, 10)
                    self.assertLessEqual(len(report.message), 10_000)

    def test_values_are_not_asked(self) -> None:
        program = """\
            class Evil:
                def __getattribute__(self, name): print('EVIL', name); raise RuntimeError
                def __repr__(self): print('EVIL repr'); return 'x'
                __str__ = __format__ = __repr__
                def __eq__(self, other): print('EVIL eq'); return True
                def __hash__(self): return hash('key')
                def __len__(self): print('EVIL len'); return 0
                def __getitem__(self, key): print('EVIL getitem'); raise KeyError(key)
                def __iter__(self): print('EVIL iter'); return iter(())
                def keys(self): print('EVIL keys'); return []
                @property
                def prop(self): print('EVIL prop')
            class Sub(dict):
                def __iter__(self): print('EVIL sub'); return iter(())
                def keys(self): print('EVIL subkeys'); return []
                def __getitem__(self, key): raise KeyError(key)
                def __contains__(self, key): print('EVIL contains'); return True
            evil = Evil(); rows = Sub({evil: 1, 'other': evil}); self = evil; name = 'key'; seq = [evil]
            sys = __import__('sys')
            sys.stdout.flush(); print('start', end=''); {last}
            """
        for last in (
            "rows['key']",
            "rows['other'].nope",
            "evil.nope",
            "undefined_thing",
            "seq[5]",
            "1 / (0 * len(seq))",
            "evil['x']",
            "int(evil)",
            "assert seq == []",
            "evil + 1",
            "dict(evil)",
            "seq.nope",
            "raise KeyError(evil)",
            "raise AttributeError(evil)",
            "raise ModuleNotFoundError(name=evil)",
            "open(evil)",
        ):
            with self.subTest(last):
                source = textwrap.dedent(program).replace("{last}", last)
                ended = self.engine.run(source)
                report = ended.report
                # What the program's own line asks is its own; nothing comes after that in the report.
                asked = ended.stdout.partition(b"start")[2]
                allowed = {
                    "evil['x']": [b"EVIL getitem"],
                    "dict(evil)": [b"EVIL keys", b"EVIL getitem", b"EVIL iter"],
                    "assert seq == []": [],
                    "raise KeyError(evil)": [b"EVIL repr"],
                    "raise AttributeError(evil)": [b"EVIL repr"],
                    "int(evil)": [],
                    "open(evil)": [],
                }
                left = [
                    line
                    for line in asked.splitlines()
                    if line and line not in allowed.get(last, [])
                ]
                left = [
                    line
                    for line in left
                    if not (last == "evil.nope" and line == b"EVIL nope")
                ]
                self.assertEqual(left, [], (report.message, report.hints))
                self.assertEqual(ended.status, 1)

    def test_recursion_is_cut_in_the_middle(self) -> None:
        ended = self.engine.run(
            "import sys\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print('caught',"
            " e)\nf(0)"
        )
        report = ended.report
        self.assertTrue(ended.stdout.startswith(b"caught"))
        self.assertEqual((report.type, len(report.frames)), ("RecursionError", 64))
        self.assertRegex(report.hints[0], r"^\d{3} frames were left out")
        self.assertIn("frames of the program left out", report.rendered)
        self.assertIn("Previous line repeated", report.rendered)
        self.assertLess(len(report.rendered), 4000)

    def test_a_report_is_made_at_the_end_of_the_stack(self) -> None:
        report = self.run_failing(
            "import sys\ndef f(n):\n    if n == 0:\n       "
            " sys.setrecursionlimit(len(__import__('inspect').stack()) + 20)\n        return [].nope\n   "
            " return f(n - 1)\nf(200)"
        )
        self.assertIn(report.type, ("AttributeError", "RecursionError"))
        self.assertEqual(
            self.run_failing(
                "import sys\nsys.setrecursionlimit(60)\ndef f(): return f()\nf()"
            ).type,
            "RecursionError",
        )

    def test_a_report_is_made_when_memory_is_short(self) -> None:
        ended = self.engine.run(
            "import resource\nused = int(open('/proc/self/statm').read().split()[0]) *"
            " 4096\nresource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20),) * 2)\nx = []\nwhile True:"
            " x.append(bytearray(1 << 16))"
        )
        self.assertEqual((ended.status, ended.report.type), (1, "MemoryError"))
        self.assertEqual(self.run_failing("bytearray(1 << 60)").type, "MemoryError")

    def test_a_very_long_line_and_name(self) -> None:
        report = self.run_failing("x" * 100_000 + "\n")
        self.assertLessEqual(len(report.source or ""), 1000)
        self.assertTrue(all(len(hint) <= 500 for hint in report.hints))

    def test_control_characters_are_escaped(self) -> None:
        report = self.run_failing("row = {'a\\x1b[31m\\n': 1}\nrow['b\\x1b\\n']")
        self.assertTrue(all(hint.isprintable() for hint in report.hints), report.hints)

    def test_another_process_s_alarm_is_left_alone(self) -> None:
        ended = self.engine.run(
            "import signal, time, atexit\nsignal.signal(signal.SIGALRM, lambda *a:"
            " print('rang'))\nsignal.setitimer(signal.ITIMER_REAL, 0.5)\natexit.register(time.sleep, 0.8)\nd"
            " = {}\nd['x']"
        )
        self.assertEqual(ended.stdout, b"rang\n")


if __name__ == "__main__":
    unittest.main()
