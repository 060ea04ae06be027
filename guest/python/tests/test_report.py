"""The report of an exception: its fields, its frames, its full text."""

from __future__ import annotations

import os
import pathlib
import sys
import textwrap
import traceback
import unittest

from engine import PYTHON, RunnerTest

from casemate import _frames, _render


class Fields(RunnerTest):
    def test_the_line_is_the_submitted_one(self) -> None:
        report = self.run_failing(
            'a = 1\nb = 2\n# comment\nraise ValueError("line four")'
        )
        self.assertEqual((report.type, report.message), ("ValueError", "line four"))
        self.assertEqual(
            (report.file, report.line, report.source),
            ("program.py", 4, 'raise ValueError("line four")'),
        )
        self.assertEqual(
            report.frames,
            [
                {
                    "file": "program.py",
                    "line": 4,
                    "function": "<module>",
                    "source": 'raise ValueError("line four")',
                }
            ],
        )
        self.assertEqual(
            (report.hidden_frames, report.exit_code, report.errno), (0, 1, None)
        )
        self.assertEqual(
            report.rendered,
            (
                'Traceback (most recent call last):\n  File "program.py", line 4, in <module>\n    raise'
                ' ValueError("line four")\nValueError: line four\n'
            ),
        )

    def test_frames_of_libraries_are_counted(self) -> None:
        report = self.run_failing(
            "import json\ndef load(t):\n    return json.loads(t)\nload('{')"
        )
        self.assertEqual(
            [frame["function"] for frame in report.frames], ["<module>", "load"]
        )
        self.assertEqual((report.hidden_frames, report.line), (3, 3))
        self.assertIn("  [3 frames outside the program]\n", report.rendered)

    def test_modules_of_the_user_are_the_user_s(self) -> None:
        files = {
            b"pkg/__init__.py": b"",
            b"pkg/inner.py": b"def f(x):\n    return x['k']\n",
        }
        report = self.run_failing("from pkg.inner import f\nf({'key': 1})", files=files)
        self.assertEqual(
            (report.file, report.line, report.source),
            ("pkg/inner.py", 2, "    return x['k']"),
        )
        self.assertIn("x keys present: ['key']", report.hints)

    def test_errno_is_told(self) -> None:
        self.assertEqual(
            self.run_failing(
                "import os\nraise OSError(28, os.strerror(28), '/tmp/x')"
            ).errno,
            28,
        )
        self.assertEqual(self.run_failing("open('nope')").errno, 2)
        self.assertIsNone(self.run_failing("raise OSError('no number')").errno)

    def test_types_have_their_modules(self) -> None:
        self.assertEqual(
            self.run_failing("import json\njson.loads('')").type,
            "json.decoder.JSONDecodeError",
        )
        self.assertEqual(
            self.run_failing("class Mine(Exception): pass\nraise Mine(1)").type, "Mine"
        )

    def test_exec_ed_text_is_told_at_the_line_that_ran_it(self) -> None:
        report = self.run_failing("x = 1\nexec('y = 1\\n1/0')\n")
        self.assertEqual((report.line, report.hidden_frames), (2, 1))
        report = self.run_failing("x = 1\neval('1 +')\n")
        self.assertEqual(
            (report.type, report.file, report.line), ("SyntaxError", "program.py", 2)
        )

    def test_long_texts_are_cut_with_a_mark(self) -> None:
        report = self.run_failing("raise ValueError('x' * 1_000_000)")
        self.assertLessEqual(len(report.message.encode()), 8 << 10)
        self.assertIn("left out", report.message)
        self.assertLessEqual(len(report.rendered.encode()), 16 << 10)
        report = self.run_failing(
            "raise ExceptionGroup('g', [ValueError('y' * 3000) for _ in range(10)])"
            if sys.version_info >= (3, 11)
            else "raise ValueError('y' * 30000)"
        )
        self.assertLessEqual(len(report.rendered.encode()), 16 << 10)

    def test_an_exception_without_frames_of_the_user(self) -> None:
        # A finalizer, a callback: raised in a library at the top.
        report = self.run_failing(
            "import sys, runpy\nrunpy.run_path('/nonexistent.py')"
        )
        self.assertEqual((report.line, report.frames[-1]["line"]), (2, 2))


@unittest.skipUnless(
    sys.version_info >= (3, 11), "Python's own text has no carets and groups before"
)
class Rendered(unittest.TestCase):
    """Against Python's own traceback module, in this process."""

    def setUp(self) -> None:
        self.sources = _frames.Sources(_Place())

    def both(self, error: BaseException) -> tuple[str, str]:
        ours = _render.render(error, self.sources, lambda e: str(e))
        theirs = "".join(traceback.format_exception(error)).replace(
            __file__, os.path.basename(__file__)
        )
        # Python's finer marks within a range are ~; ours are ^ throughout.
        lines = [
            line.replace("~", "^") if set(line.strip(" |")) <= set("~^") else line
            for line in theirs.splitlines()
        ]
        return ours, "\n".join(lines) + "\n"

    def check(self, function: object) -> None:
        try:
            function()  # type: ignore[operator]
        except BaseException as error:
            ours, theirs = self.both(error)
            self.assertEqual(ours, theirs)
        else:
            self.fail("nothing was raised")

    def test_cause_context_and_suppression(self) -> None:
        def cause() -> None:
            try:
                _ = {}["a"]
            except KeyError as error:
                raise ValueError("b") from error

        def context() -> None:
            try:
                _ = {}["a"]
            except KeyError:
                raise ValueError("two\nlines")  # noqa: B904

        def during() -> None:
            try:
                _ = {}["a"]
            except KeyError:
                [].nope  # type: ignore[attr-defined]

        def suppressed() -> None:
            try:
                _ = {}["a"]
            except KeyError:
                raise ValueError("b") from None

        for function in (cause, context, during, suppressed):
            with self.subTest(function.__name__):
                self.check(function)

    def test_groups(self) -> None:
        def raised(error: BaseException) -> BaseException:
            try:
                raise error
            except BaseException as caught:
                return caught

        def flat() -> None:
            try:
                _ = 1 / 0
            except ZeroDivisionError as error:
                raise ExceptionGroup(
                    "two", [ValueError("a"), OSError("b")]
                ) from error  # noqa: F821

        def nested() -> None:
            inner = raised(
                ExceptionGroup("in", [raised(TypeError("x\ny")), ValueError("z")])
            )  # noqa: F821
            raise ExceptionGroup("out", [raised(ValueError("a")), inner])  # noqa: F821

        def nested_first() -> None:
            inner = ExceptionGroup(
                "in", [ExceptionGroup("deep", [TypeError("x")]), ValueError("z")]
            )  # noqa: F821
            raise ExceptionGroup("out", [inner, inner, ValueError("end")])  # noqa: F821

        def wide() -> None:
            raise ExceptionGroup(
                "wide", [ValueError(n) for n in range(20)]
            )  # noqa: F821

        def caused_inside() -> None:
            try:
                raise KeyError("k") from raised(
                    ExceptionGroup("c", [ValueError("v")])
                )  # noqa: F821
            except KeyError as error:
                raise ExceptionGroup("out", [error])  # noqa: B904, F821

        def deep() -> None:
            error: Exception = ValueError("bottom")
            for n in range(15):
                error = ExceptionGroup(str(n), [error])  # noqa: F821
            raise error

        for function in (flat, nested, nested_first, wide, deep):
            with self.subTest(function.__name__):
                self.check(function)
        # Which of two places tells a shared cause is not the same as Python's; that it is told is.
        with self.assertRaises(ExceptionGroup) as held:  # noqa: F821
            caused_inside()
        text = _render.render(held.exception, self.sources, str)
        self.assertEqual(
            (text.count("KeyError: 'k'"), text.count("ValueError: v")), (2, 1)
        )

    def test_notes_and_loops(self) -> None:
        def notes() -> None:
            error = ValueError("a")
            error.add_note("first\nsecond")
            error.add_note("third")
            raise error

        self.check(notes)
        one, two = ValueError("one"), ValueError("two")
        one.__cause__, two.__cause__ = two, one
        self.assertEqual(_render.render(one, self.sources, str).count("ValueError"), 2)

    def test_syntax_errors(self) -> None:
        for source in (
            "x = = 1",
            "def f(:\n  pass",
            "x = (1,\ny = 2\n",
            "'abc",
            "x = 'a' 'b' c d\n",
            "f(a b)",
        ):
            with self.subTest(source):
                with self.assertRaises(SyntaxError) as held:
                    compile(source, "<text>", "exec")
                error = held.exception.with_traceback(None)
                theirs = "".join(traceback.format_exception_only(error))
                self.assertEqual(
                    "".join(_render.final_lines(error, self.sources, error.msg or "")),
                    theirs,
                )

    def test_carets_stand_below_what_they_mark(self) -> None:
        def wide_characters() -> None:
            x = "\u4f60\u597d"
            print("\u4f60\u597d".encode(), "你好", {}[x, "é"])  # type: ignore[index]

        try:
            wide_characters()
        except KeyError as error:
            lines = _render.render(error, self.sources, str).splitlines()
            at = next(n for n, line in enumerate(lines) if "^" in line)
            marked = lines[at - 1][lines[at].index("^") : lines[at].rindex("^") + 1]
            self.assertEqual(marked, '{}[x, "é"]')


class _Place:
    """This file in the role of the program."""

    def __init__(self) -> None:
        self.root = "/nonexistent"
        self.work = "/nonexistent/work"
        self.program = __file__
        self.name = os.path.basename(__file__)
        self.source = pathlib.Path(__file__).read_bytes()


class Python(RunnerTest):
    def test_the_example_of_the_cases(self) -> None:
        if "3.9" in PYTHON or "3.10" in PYTHON:
            self.skipTest("no exception groups")
        report = self.run_failing(
            textwrap.dedent(
                """\
                try:
                    1 / 0
                except ZeroDivisionError as z:
                    raise ExceptionGroup("two", [ValueError("a"), OSError("b")]) from z
                """
            )
        )
        self.assertEqual(
            (report.type, report.message, report.line),
            ("ExceptionGroup", "two (2 sub-exceptions)", 4),
        )
        for part in (
            "ZeroDivisionError: division by zero",
            "ValueError: a",
            "OSError: b",
            "direct cause",
        ):
            self.assertIn(part, report.rendered)


if __name__ == "__main__":
    unittest.main()
