"""Source to code: the last expression, encodings, lines, and Python's own errors."""

from __future__ import annotations

import textwrap
import unittest
from typing import Any

from engine import RunnerTest, frame, request

from casemate import _program, _wire


class LastExpression(RunnerTest):
    def result(self, source: str) -> str | None:
        return self.run_ok(textwrap.dedent(source)).result.get("text/plain")

    def test_it_is_sent(self) -> None:
        for source, expected in [
            ("1 + 1", "2"),
            ("x = 5\nx + 1\n", "6"),
            ("x = 5\nx + 1  # comment\n# more\n\n", "6"),
            ("x = 5; x", "5"),
            ("x = [1,\n2,\n]\nx\n", "[1, 2]"),
            ("def f():\n    return 3\nf(\n)\n", "3"),
            ("'''\na\nb\nc\nd\ne\nf\n'''.strip()", repr("a\nb\nc\nd\ne\nf")),
            ("if True:\n    pass\n(lambda: 7)()", "7"),
            ("(y := 4)", "4"),
            ("x = 1\r\nx + 1\r\n", "2"),
            ("# coding: latin-1\nx = 3\nx", "3"),
            ("\ufeffx = 3\nx", "3"),
            ("from __future__ import annotations\nx = 3\nx", "3"),
            ("'docstring'", "'docstring'"),
            ("x = 3\nx\\\n+ 1", "4"),
            ("x = '''\nx\n'''\nx", "'\\nx\\n'"),
            ("str('''\nx = 1''')", repr("\nx = 1")),
            ("x = 1\n'''\nname = value\n'''\n", repr("\nname = value\n")),
            ('"""\nname = value\n"""', repr("\nname = value\n")),
            ("x = 1\n'a\\\nb=1'", "'ab=1'"),
            ("x = 1\n(1, '''\nb=2''')", "(1, '\\nb=2')"),
            ("x = 5\nx == 5", "True"),
            ("x = 5\nx\\\n==5", "True"),
            ("f = dict\nf(\na=1)", "{'a': 1}"),
            (
                "{'greeting': '\u4f60\u597d', 'emoji': '\U0001f600'}",
                "{'greeting': '\u4f60\u597d', 'emoji': '\U0001f600'}",
            ),
        ]:
            with self.subTest(source):
                self.assertEqual(self.run_ok(source).result.get("text/plain"), expected)

    def test_nothing_is_sent_for_what_is_no_expression_with_a_value(self) -> None:
        for source in [
            "",
            "# nothing\n",
            "None",
            "print(1)",
            "x = 5",
            "x = 5; x;",
            "def f(): return 1\n",
            "if True:\n    5 + 5",
            "if True: str(1)\nelse: str(2)",
            "for i in 'a': str(i)",
            "from os import path",
            "with open('/dev/null') as f: f.read()",
            "try:\n    1\nexcept KeyError:\n    2\n",
            "x = '''\n5\n'''\n",
            "str(1)\nx = y = 2",
            "import os\nstr(1)\nos.some_name=1",
            "@staticmethod\ndef f(): pass",
        ]:
            with self.subTest(source):
                self.assertEqual(self.run_ok(source).result, {})

    def test_it_runs_once_and_in_order(self) -> None:
        ended = self.run_ok("def f():\n    print('f')\n    return 3\nprint('a')\nf()")
        self.assertEqual((ended.stdout, ended.result["text/plain"]), (b"a\nf\n", "3"))

    def test_an_error_in_it_has_its_line_and_column(self) -> None:
        report = self.run_failing("x = 1\n\nf(\n  x.nope)\n".replace("f(", "str("))
        self.assertEqual((report.line, report.source), (4, "  x.nope)"))

    def test_nothing_is_left_in_the_namespace(self) -> None:
        ended = self.run_ok(
            "print(sorted(k for k in globals() if not k.startswith('__')))\n_ = 0\n5"
        )
        self.assertEqual(ended.stdout, b"[]\n")


class Names(RunnerTest):
    def test_main_is_what_a_script_has(self) -> None:
        ended = self.run_ok(
            "print(sorted(globals()), __name__, __doc__, __spec__, __package__)"
        )
        expected = (
            "['__annotations__', '__builtins__', '__cached__', '__doc__', '__file__', '__loader__',"
            " '__name__', '__package__', '__spec__']"
        )
        self.assertEqual(ended.stdout.decode(), f"{expected} __main__ None None None\n")

    def test_the_file_is_there_with_the_submitted_bytes(self) -> None:
        source = b"# \xe9 coding: latin-1\nprint(open(__file__, 'rb').read().hex())\n"
        self.assertEqual(self.run_ok(source).stdout.decode().strip(), source.hex())

    def test_the_program_runs_without_a_file_too(self) -> None:
        ended = self.engine.run(
            "import os, linecache\nos.unlink(__file__)\nlinecache.clearcache()\ndef f():\n    import"
            " traceback; print(traceback.format_exc())\ntry:\n    1/0\nexcept Exception: f()"
        )
        self.assertIn(b"    1/0\n", ended.stdout)

    def test_a_missing_run_directory_is_made(self) -> None:
        self.assertEqual(
            self.run_ok(
                "print(open(__file__).read())", make_run_directory=False
            ).stdout,
            b"print(open(__file__).read())\n",
        )

    def test_argv_path_and_environment(self) -> None:
        ended = self.run_ok(
            (
                "import sys, os\nprint(sys.argv[1:], os.path.basename(sys.argv[0]), sys.path[0] =="
                " os.getcwd())\nprint(os.environ['A'], os.environ['CASEMATE_MEMORY_BYTES'])\nimport helper,"
                " casemate"
            ),
            arguments=(b"one", b"\xff two"),
            environment=(b"A=b=c",),
            memory_bytes=123,
            files={b"helper.py": b"print('helped')"},
        )
        self.assertEqual(
            ended.stdout, b"['one', '\\udcff two'] program.py True\nb=c 123\nhelped\n"
        )

    def test_the_name_of_the_program_is_the_engine_s(self) -> None:
        report = self.run_failing("1/0", name=b"analysis.py")
        self.assertEqual(
            (report.file, report.frames[0]["file"]), ("analysis.py", "analysis.py")
        )
        self.assertIn('File "analysis.py", line 1', report.rendered)

    def test_TZ_takes_effect(self) -> None:
        ended = self.run_ok(
            "import time; print(time.strftime('%Z'))", environment=(b"TZ=XYZ+5",)
        )
        self.assertEqual(ended.stdout, b"XYZ\n")


class PythonsOwnErrors(RunnerTest):
    def test_syntax_errors_keep_line_and_caret(self) -> None:
        for source, kind, line, said in [
            (
                "import matplotlib as plt\nif True:\n\tprint(1)\nfrom __future__ import annotations\n",
                "SyntaxError",
                4,
                "from __future__",
            ),
            (
                (
                    "import asyncio\nasync def main():\n    return 5\nprint(asyncio.run(main()))\nprint(await"
                    " main())\n"
                ),
                "SyntaxError",
                5,
                "await",
            ),
            ("x = 1\nif x\n    pass\n", "SyntaxError", 2, ""),
            ("def f():\n    x = 1\n  y = 2\n", "IndentationError", 3, "unindent"),
            ("if 1:\n        x = 1\n\ty = 2\n", "TabError", 3, "inconsistent"),
        ]:
            with self.subTest(source):
                report = self.run_failing(source)
                self.assertEqual(
                    (report.type, report.file, report.line), (kind, "program.py", line)
                )
                self.assertIn(said, report.message)
                self.assertIn(f'File "program.py", line {line}\n', report.rendered)
                if kind != "TabError":  # for which Python has no column
                    self.assertIn("^", report.rendered)
                self.assertEqual(report.frames, [])

    def test_deep_nesting_is_pythons_own_error(self) -> None:
        report = self.run_failing("(" * 3000 + "1" + ")" * 3000)
        self.assertIn(report.type, ("MemoryError", "SyntaxError", "RecursionError"))

    def test_nul_bytes_are_pythons_own_error(self) -> None:
        report = self.run_failing(b"x = 1\n\0")
        self.assertIn(report.type, ("ValueError", "SyntaxError"))
        self.assertIn("null bytes", report.message)

    def test_an_encoding_that_lies_is_pythons_own_error(self) -> None:
        self.assertEqual(self.run_failing(b"x = '\xe9'\n").type, "SyntaxError")
        self.assertEqual(
            self.run_failing(b"# coding: no-such\nx = 1\n").type, "SyntaxError"
        )

    def test_huge_integers_are_pythons_own_error(self) -> None:
        report = self.run_failing("x = 1\nprint(7 ** 20000)\n")
        self.assertEqual((report.type, report.line), ("ValueError", 2))

    def test_a_syntax_warning_is_shown_once_with_the_right_place(self) -> None:
        ended = self.run_ok("y = 1\nx = 1 is 1\nx")
        self.assertEqual(ended.stderr.count(b"SyntaxWarning"), 1)
        self.assertIn(b"/run/program.py:2: SyntaxWarning", ended.stderr)

    def test_cookies_are_honoured(self) -> None:
        self.assertEqual(
            self.run_ok(b"# coding: latin-1\nprint(len('\xe9'))").stdout, b"1\n"
        )

    def test_our_own_future_imports_do_not_leak(self) -> None:
        # With `annotations` inherited, the undefined name would not be looked at.
        self.assertEqual(
            self.run_failing("def f(x: undefined_name): pass\n").type, "NameError"
        )
        self.assertEqual(
            self.run_failing("def f(x: undefined_name): pass\nf; f\n").type, "NameError"
        )
        self.run_ok(
            '"""doc"""\nfrom __future__ import annotations\ndef f(x: undefined_name): pass\nf.__doc__'
        )


class Request(RunnerTest):
    def test_files_arrive_whole_under_their_bytes(self) -> None:
        big = bytes(range(256)) * 8192
        files = {
            b"\xc3.txt": b"1",
            b"a/b/c d.txt": big,
            "\U0001f923\n--x".encode(): b"",
            b"--help": b"2",
        }
        ended = self.run_ok("pass", files=files)
        for name, data in files.items():
            with open(bytes(ended.root / "work") + b"/" + name, "rb") as file:
                self.assertEqual(file.read(), data)

    def test_a_large_program_arrives(self) -> None:
        self.assertEqual(
            self.run_ok("x = '" + "y" * 3_000_000 + "'\nprint(len(x))").stdout,
            b"3000000\n",
        )

    def test_what_is_not_the_protocol_is_refused(self) -> None:
        start = frame(_wire.START)
        path = lambda name: frame(
            _wire.FILE, _wire.field(_wire.TAG_PATH, name)
        )  # noqa: E731
        for raw in (
            path(b"../x") + start,
            path(b"/etc/x") + start,
            path(b"a//b") + start,
            path(b"") + start,
            path(b"a\0b") + start,
            path(b"x") + request(b"print(1)"),
            frame(_wire.FILE_DATA, _wire.field(_wire.TAG_BYTES, b"x")) + start,
            frame(_wire.START, _wire.field(_wire.TAG_NAME, b"../x.py")),
            frame(_wire.START, _wire.field(_wire.TAG_ENVIRONMENT, b"=x")),
            frame(_wire.START, _wire.field(_wire.TAG_STREAM, b"x")),
            frame(_wire.ORDER) + start,
            b"\xff" * 64,
        ):
            with self.subTest(raw[:60]):
                ended = self.engine.run("", raw=raw)
                self.assertEqual(ended.status, 125)
                self.assertIn(b"casemate: the run could not be set up", ended.stderr)
                self.assertEqual(ended.stdout, b"")

    def test_an_engine_that_goes_away_is_no_error(self) -> None:
        # A box that is parked and never used: the socket just closes.
        import os
        import socket
        import subprocess
        import sys

        from engine import COMMAND, PACKAGE_ROOT

        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        code = COMMAND.format(package=str(PACKAGE_ROOT), root="/nonexistent").replace(
            "root=", f"descriptor={theirs.fileno()}, root="
        )
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", code],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
        )
        theirs.close()
        ours.close()
        _, stderr = process.communicate()
        self.assertEqual((process.returncode, stderr), (125, b""))


class Cut(unittest.TestCase):
    def test_quick_and_slow_ways_agree(self) -> None:
        # The compiler's own tree decides what the last statement is.
        import ast

        for source in [
            "x = 1\nx", "f(1)\n", "a\nb\nc", "x = '''\n1\n2\n'''\n", "print('''\nx\ny\n''')", "if a:\n    b\nc", "a; b", "[\n1,\n2\n]\n", "a\n# end",
            "try:\n  a\nfinally:\n  b\n", "'''a\nb'''\n'''c\nd'''\n", "f'''\n{x}\n'''", "x = 1\n\n\n\n(\nx\n)\n\n", "lambda: 0", "async def f(): pass\nf()", "with a: b\n",
            "x = {\n}\nx\n", "for i in x:\n    i\nelse:\n    i\n", "@f\nclass A: pass\n", "a if b else c", "x = '\\\n'\nx", "from a import b", "match = 1\nmatch",
        ]:  # fmt: skip
            with self.subTest(source):
                last = ast.parse(source).body[-1]
                _, value = _program.load(source.encode(), "p.py")
                self.assertEqual(value is not None, isinstance(last, ast.Expr))
                if value is not None:
                    self.assertEqual(value.co_filename, "p.py")

    def test_an_assignment_at_the_end_is_compiled_once(self) -> None:
        grasp, tried = _program._grasp, []

        def count(run: Any, source: bytes, path: str) -> Any:
            tried.append(source)
            return grasp(run, source, path)

        _program._may_end_in_expression(compile("1", "", "exec"))  # That compiles a sample, once.
        _program._grasp = count
        try:
            for source in (b"import os\nprint(1)\nos.left = 1\n", b"f(1)\n_x=2"):
                tried.clear()
                _program.load(source, "p.py")
                self.assertEqual(tried, [source])
        finally:
            _program._grasp = grasp

    def test_flags_left_behind(self) -> None:
        import sys
        import warnings

        before = list(warnings.filters)
        (
            _program.load(b"x = 1\nx = 1 is 1\nx; x", "p.py")
            if sys.version_info < (3, 8)
            else _program.load(b"x = 1\nx; x", "p.py")
        )
        self.assertEqual(list(warnings.filters), before)
        self.assertIsNone(sys.getprofile())


if __name__ == "__main__":
    unittest.main()
