"""stdout and stderr: exact bytes, nothing lost, true order."""

from __future__ import annotations

import signal
import unittest

from engine import RunnerTest


class Bytes(RunnerTest):
    def test_surrogates_never_fail(self) -> None:
        ended = self.run_ok(
            "import sys\nprint('a\\ud83d\\udcffb')\nprint('e\\udcff', file=sys.stderr)\nprint('tail')"
        )
        self.assertEqual(ended.stdout, b"a\\ud83d\xffb\ntail\n")
        self.assertEqual(ended.stderr, b"e\\udcff\n")

    def test_bytes_that_are_no_utf8_pass(self) -> None:
        ended = self.run_ok(
            "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nprint('\\u4f60\\u597d')"
        )
        self.assertEqual(ended.stdout, bytes(range(256)) + "\u4f60\u597d\n".encode())

    def test_no_newline_is_translated(self) -> None:
        self.assertEqual(
            self.run_ok("print('a\\r\\nb\\r', end='\\n')").stdout, b"a\r\nb\r\n"
        )

    def test_large_writes_arrive_whole(self) -> None:
        ended = self.run_ok("print('x' * 6_000_000)\nprint('after')")
        self.assertEqual(len(ended.stdout), 6_000_001 + 6)
        self.assertTrue(ended.stdout.endswith(b"x\nafter\n"))

    def test_a_pipe_that_became_non_blocking_loses_nothing(self) -> None:
        ended = self.run_ok(
            "import os\nos.set_blocking(1, False)\nprint('x' * 3_000_000)\nprint('after')"
        )
        self.assertEqual(len(ended.stdout), 3_000_001 + 6)

    def test_streams_look_like_pythons(self) -> None:
        ended = self.run_ok(
            "import sys, io\nfor s in (sys.stdout, sys.stderr, sys.__stdout__):\n    print(s.name, s.mode,"
            " s.encoding, s.fileno(), s.isatty(), s.writable(), isinstance(s,"
            " io.TextIOWrapper))\nsys.stdout.writelines(['a',"
            " 'b\\n'])\nsys.stdout.buffer.write(memoryview(b'cd\\n'))\nprint(sys.stdout.buffer.write(b'12'))"
        )
        self.assertEqual(
            ended.stdout.decode(),
            (
                "<stdout> w utf-8 1 False True True\n<stderr> w utf-8 2 False True True\n<stdout> w utf-8 1"
                " False True True\nab\ncd\n122\n"
            ),
        )

    def test_stdin_is_at_its_end(self) -> None:
        ended = self.run_ok(
            "try:\n    print(repr(input('name? ')))\nexcept EOFError:\n    print('no stdin')"
        )
        self.assertEqual(ended.stdout, b"name? no stdin\n")


class NothingLost(RunnerTest):
    def test_unflushed_output_survives_a_kill(self) -> None:
        ended = self.engine.run(
            "import time\nprint('step one done')\nprint('half a line', end='')\ntime.sleep(30)",
            kill_when=b"line",
        )
        self.assertEqual(
            (ended.status, ended.stdout),
            (-signal.SIGKILL, b"step one done\nhalf a line"),
        )

    def test_output_survives_os__exit(self) -> None:
        ended = self.engine.run("import os\nprint('a', end='')\nos._exit(9)")
        self.assertEqual((ended.status, ended.stdout), (9, b"a"))

    def test_prints_before_an_exception_are_there(self) -> None:
        ended = self.engine.run(
            "print('the decisive number is 17')\nraise RuntimeError('later')"
        )
        self.assertEqual(
            (ended.stdout, ended.report.message),
            (b"the decisive number is 17\n", "later"),
        )

    def test_a_fork_duplicates_nothing(self) -> None:
        ended = self.run_ok(
            "import os\nprint('once')\nprint('half', end=' ')\npid = os.fork()\nif pid == 0:\n   "
            " print('child'); os._exit(0)\nos.waitpid(pid, 0); print('parent')\npid = os.fork()\nif pid =="
            " 0:\n    print('second')\n    raise SystemExit(0)\nos.waitpid(pid, 0)"
        )
        self.assertEqual(ended.stdout, b"once\nhalf child\nparent\nsecond\n")

    def test_lines_of_threads_and_processes_stay_whole(self) -> None:
        ended = self.run_ok(
            "import threading, multiprocessing as mp\ndef talk(n):\n    for i in range(300): print('worker',"
            " n, 'line', i)\nmp.set_start_method('fork')\nts = [threading.Thread(target=talk, args=(n,)) for"
            " n in range(4)]\n[t.start() for t in ts]; [t.join() for t in ts]\nps = [mp.Process(target=talk,"
            " args=(n,)) for n in range(4)]\n[p.start() for p in ps]; [p.join() for p in ps]; None"
        )
        lines = ended.stdout.decode().splitlines()
        self.assertEqual(len(lines), 2400)
        self.assertEqual(len(set(lines)), 1200)
        for line in lines:
            self.assertRegex(line, r"^worker \d line \d+$")


class Pace(RunnerTest):
    def test_very_many_prints_become_one_write_a_line(self) -> None:
        program = "import sys\nprint(sys.stdout.write_through)\nfor i in range(3000): print('row', i)\nprint(sys.stdout.write_through)"
        ended = self.run_ok(program)
        lines = ended.stdout.decode().splitlines()
        self.assertEqual((lines[0], lines[-1], len(lines)), ("True", "False", 3002))
        self.assertEqual(lines[1:-1], [f"row {i}" for i in range(3000)])


class Order(RunnerTest):
    def test_a_program_that_only_prints_sends_no_order(self) -> None:
        self.assertEqual(self.run_ok("for i in range(100): print(i)").frames, [])

    def test_the_true_order_can_be_told(self) -> None:
        ended = self.run_ok(
            "import sys\nfor i in range(5):\n    print('out', i)\n    print('err', i,"
            " file=sys.stderr)\nsys.stderr.write('x')\nsys.stdout.write('y')\nsys.stderr.write('z')"
        )
        expected = "".join(f"out {i}\nerr {i}\n" for i in range(5)) + "xyz"
        self.assertEqual(ended.combined().decode(), expected)
        self.assertEqual(len(ended.orders), 11)

    def test_stderr_first(self) -> None:
        ended = self.run_ok("import sys\nprint('e', file=sys.stderr)\nprint('o')")
        self.assertEqual(
            (ended.orders, ended.combined()), ([(2, 0), (1, 0)], b"e\no\n")
        )

    def test_raw_bytes_count_too(self) -> None:
        ended = self.run_ok(
            "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe')\nprint('\\u00e9')\nprint('e',"
            " file=sys.stderr)\nprint('o')"
        )
        self.assertEqual(ended.orders, [(2, 0), (1, 5)])

    def test_held_lines_keep_their_order(self) -> None:
        ended = self.run_ok(
            "import sys, os\nif os.fork() == 0: os._exit(0)\nfor i in range(5):\n    print('half', i, end=' ')\n    print('err', i, file=sys.stderr)\nprint()"
        )
        self.assertEqual(
            ended.combined().decode(),
            "".join(f"half {i} err {i}\n" for i in range(5)) + "\n",
        )

    def test_many_changes_end_at_a_bound(self) -> None:
        ended = self.run_ok(
            "import sys\nfor i in range(20000):\n    print('o'); print('e', file=sys.stderr)\nNone"
        )
        self.assertEqual(len(ended.orders), 16384)
        self.assertEqual((len(ended.stdout), len(ended.stderr)), (40000, 40000))


if __name__ == "__main__":
    unittest.main()
