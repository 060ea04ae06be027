"""The value of the last expression, as it is sent."""

from __future__ import annotations

import subprocess
import unittest

from engine import PYTHON, RunnerTest

from casemate import _result


def has(module: str) -> bool:
    """Whether the interpreter under test has a module."""
    return (
        subprocess.run(
            [PYTHON, "-I", "-c", f"import {module}"], stderr=subprocess.DEVNULL
        ).returncode
        == 0
    )


class Text(unittest.TestCase):
    def test_values_are_their_repr(self) -> None:
        for value in (
            1,
            "a'b",
            [1, [2, (3,)], {4: {5}}],
            {"k": [None, True]},
            (),
            set(),
            b"\xff",
            1.5,
            frozenset({1}),
            {"\u4f60": "\U0001f600"},
            [[]],
            {1: ()},
        ):
            with self.subTest(value):
                self.assertEqual(_result.describe(value), repr(value))

    def test_large_values_are_cut_with_a_mark(self) -> None:
        for value in (
            "x" * 10**6,
            b"x" * 10**6,
            list(range(10**6)),
            {n: "y" * 100 for n in range(10**5)},
            [["z" * 1000] * 1000] * 3,
        ):
            with self.subTest(type(value)):
                text = _result.describe(value)
                self.assertLessEqual(len(text.encode()), _result.TEXT_MAX)
                self.assertIn("[...", text)

    def test_a_huge_container_is_not_made_into_text_as_a_whole(self) -> None:
        import tracemalloc

        value = [["y" * 1000] * 1000] * 1000  # a gigabyte of text
        tracemalloc.start()
        _result.describe(value)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(peak, 1 << 20)

    def test_a_cut_keeps_characters_whole(self) -> None:
        text = _result.cut("\u4f60" * 10_000, 1000)
        self.assertLessEqual(len(text.encode()), 1000)
        self.assertNotIn("\ufffd", text)
        self.assertIn("of 30000 bytes left out", text)

    def test_recursion_ends(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        self.assertEqual(_result.describe(loop), "[" * 20 + "[[...]]" + "]" * 20)


class Sent(RunnerTest):
    def test_a_repr_that_fails_is_told(self) -> None:
        for body, said in (
            ("raise ValueError('no')", "<Odd object: repr failed: ValueError: no>"),
            ("raise SystemExit(3)", "<Odd object: repr failed: SystemExit: 3>"),
            (
                "return 5",
                "<Odd object: repr failed: TypeError: __repr__ returned non-string (type int)>",
            ),
        ):
            with self.subTest(body):
                ended = self.run_ok(
                    f"class Odd:\n    def __repr__(self): {body}\nOdd()"
                )
                self.assertEqual(ended.result, {"text/plain": said})

    def test_a_huge_integer_is_told(self) -> None:
        ended = self.run_ok("7 ** 20000")
        self.assertRegex(
            ended.result["text/plain"],
            r"^(<int object: repr failed: ValueError: Exceeds the limit|\d{1000})",
        )

    def test_lone_surrogates_become_escapes(self) -> None:
        self.assertEqual(
            self.run_ok("type('T', (), {'__repr__': lambda s: '\\ud83d'})()").result[
                "text/plain"
            ],
            "\\ud83d",
        )


@unittest.skipUnless(has("pandas"), "pandas is not installed")
class Tables(RunnerTest):
    def test_a_large_table_says_its_shape_and_what_is_shown(self) -> None:
        ended = self.run_ok(
            "import pandas as pd\ndf = pd.DataFrame({f'c{i}': range(1000) for i in range(40)})\ndf"
        )
        plain, html = ended.result["text/plain"], ended.result["text/html"]
        self.assertTrue(
            plain.endswith("[1000 rows x 40 columns; shown: 60 rows, 20 columns]"),
            plain[-200:],
        )
        self.assertTrue(
            html.endswith("<p>1000 rows x 40 columns; shown: 60 rows, 20 columns</p>")
        )
        self.assertLessEqual(html.count("<tr"), 63)

    def test_a_small_table_is_whole(self) -> None:
        ended = self.run_ok(
            "import pandas as pd\npd.DataFrame({'a': [1, 2], '<b>': ['x', '<script>']})"
        )
        self.assertTrue(ended.result["text/plain"].endswith("\n\n[2 rows x 2 columns]"))
        self.assertNotIn("<script>", ended.result["text/html"])

    def test_wide_cells_stay_within_the_bound(self) -> None:
        ended = self.run_ok(
            "import pandas as pd\npd.DataFrame({f'c{i}': ['y' * 5000] * 500 for i in range(30)})"
        )
        self.assertLessEqual(len(ended.result.get("text/html", "")), _result.HTML_MAX)
        self.assertLessEqual(len(ended.result["text/plain"]), _result.TEXT_MAX)

    def test_a_series_says_its_length_and_kind(self) -> None:
        ended = self.run_ok("import pandas as pd\npd.Series(range(3), name='q')")
        self.assertTrue(
            ended.result["text/plain"].endswith("\n\n[3 rows, dtype int64, name q]")
        )

    def test_missing_columns_are_told(self) -> None:
        head = (
            "import pandas as pd\ndf = pd.DataFrame({'amount': [1], 'tenant': ['x']})\n"
        )
        for last, hints in (
            (
                "df['amout'].sum()",
                ["df columns present: ['amount', 'tenant']", "did you mean 'amount'?"],
            ),
            (
                "df.groupby('tenan').sum()",
                ["df columns present: ['amount', 'tenant']", "did you mean 'tenant'?"],
            ),
            (
                "df[['amount', 'tennant']]",
                ["df columns present: ['amount', 'tenant']", "did you mean 'tenant'?"],
            ),
            ("df.amout", ["did you mean 'amount'?"]),
            ("df.sort_values('amnt')", ["df columns present: ['amount', 'tenant']"]),
        ):
            with self.subTest(last):
                report = self.run_failing(head + last)
                for hint in hints:
                    self.assertIn(hint, report.hints)

    def test_an_array_says_its_shape(self) -> None:
        ended = self.run_ok("import numpy as np\nnp.zeros((1000, 40))")
        self.assertTrue(
            ended.result["text/plain"].endswith(
                "\n[array of shape (1000, 40), dtype float64]"
            )
        )


class Fakes(RunnerTest):
    """What is true without the libraries."""

    def test_a_class_called_DataFrame_is_no_table(self) -> None:
        ended = self.run_ok(
            "class DataFrame:\n    def __repr__(self): return 'mine'\n    def to_html(self, **k): raise"
            " AssertionError\nDataFrame()"
        )
        self.assertEqual(ended.result, {"text/plain": "mine"})

    def test_a_module_called_pandas_is_not_trusted(self) -> None:
        ended = self.run_ok(
            "import sys, pandas\nclass X(pandas.DataFrame):\n    def __repr__(self): return 'mine'\nX()",
            files={
                b"pandas.py": (
                    b"class DataFrame:\n    columns = property(lambda s: 1/0)\n    def __len__(self):"
                    b" return 3\n"
                )
            },
        )
        self.assertEqual(ended.result, {"text/plain": "mine"})


if __name__ == "__main__":
    unittest.main()
