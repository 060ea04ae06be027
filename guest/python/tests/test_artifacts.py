"""casemate.artifact, and matplotlib's figures."""

from __future__ import annotations

import textwrap
import unittest

from engine import RunnerTest
from test_results import has


class Declared(RunnerTest):
    def test_a_file_is_declared(self) -> None:
        ended = self.run_ok(
            "import casemate\nopen('r.csv', 'w').write('a')\ncasemate.artifact('r.csv', summary='the rows')"
        )
        self.assertEqual(
            ended.artifacts,
            [
                {
                    "path": str(ended.root / "work/r.csv"),
                    "name": "r.csv",
                    "summary": "the rows",
                    "media_type": "text/csv",
                    "origin": "declared",
                }
            ],
        )

    def test_paths_of_all_kinds(self) -> None:
        ended = self.run_ok(
            "import casemate, os, pathlib\nfrom casemate import artifact\nos.makedirs('out/deep')\nfor p in"
            " (pathlib.Path('out/deep/x.JSON'), os.path.abspath('y'), b'\\xff.png', 'out/../z.tar.gz'):\n   "
            " open(p, 'w').close(); artifact(p)"
        )
        self.assertEqual(
            [
                (
                    a["path"].partition("/work/")[2],
                    a["name"],
                    a["media_type"],
                    a["summary"],
                )
                for a in ended.artifacts
            ],
            [
                ("out/deep/x.JSON", "x.JSON", "application/json", ""),
                ("y", "y", "application/octet-stream", ""),
                ("\udcff.png", "\\xff.png", "image/png", ""),
                ("z.tar.gz", "z.tar.gz", "application/gzip", ""),
            ],
        )

    def test_a_summary_is_one_bounded_line(self) -> None:
        ended = self.run_ok(
            "import casemate\nopen('f', 'w').close()\ncasemate.artifact('f', summary='a\\nb\\x1b[31m' + 'x' *"
            " 1000)\ncasemate.artifact('f', media_type='text/x-own')"
        )
        first, second = ended.artifacts
        self.assertEqual(len(first["summary"]), 200)
        self.assertTrue(first["summary"].startswith("a\\nb\\x1b[31mx"))
        self.assertTrue(first["summary"].endswith("\u2026"))
        self.assertEqual(second["media_type"], "text/x-own")

    def test_mistakes_have_clear_errors(self) -> None:
        for call, kind, said in [
            ("artifact('nope.csv')", "FileNotFoundError", "no such file"),
            ("artifact('.')", "IsADirectoryError", "directory"),
            ("artifact('')", "ValueError", "empty"),
            ("artifact('a\\0b')", "ValueError", "NUL"),
            ("artifact('/etc/hostname')", "ValueError", "not beneath /work"),
            (
                "os.symlink('/etc/hostname', 'l'); artifact('l')",
                "ValueError",
                "symbolic link",
            ),
            (
                "os.symlink('/etc', 'd'); artifact('d/hostname')",
                "ValueError",
                "not beneath /work",
            ),
            ("os.mkfifo('p'); artifact('p')", "ValueError", "not a regular file"),
            ("artifact('f', media_type='nonsense')", "ValueError", "media type"),
            ("artifact('f', media_type='a/b\\nc')", "ValueError", "media type"),
            ("artifact('f', summary=5)", "TypeError", "summary"),
            ("artifact(5)", "TypeError", ""),
            ("[artifact('f') for _ in range(257)]", "RuntimeError", "256"),
        ]:
            with self.subTest(call):
                report = self.run_failing(
                    f"import os\nfrom casemate import artifact\nopen('f', 'w').close()\n{call}"
                )
                self.assertEqual((report.type, report.line), (kind, 4))
                self.assertIn(said, report.message)

    def test_a_child_cannot_declare(self) -> None:
        ended = self.run_ok(
            "import os, casemate\nopen('f', 'w').close()\npid = os.fork()\nif pid == 0:\n    try:"
            " casemate.artifact('f')\n    except RuntimeError as e: print(e)\n   "
            " os._exit(0)\nos.waitpid(pid, 0)"
        )
        self.assertIn(b"first process", ended.stdout)
        self.assertEqual(ended.artifacts, [])

    def test_a_closed_channel_is_told(self) -> None:
        ended = self.engine.run(
            "import os, casemate\nopen('f', 'w').close()\nos.close(3)\ncasemate.artifact('f')"
        )
        self.assertIn(b"control socket", ended.stderr)

    def test_importing_costs_nothing(self) -> None:
        ended = self.run_ok(
            "import sys\nbefore = set(sys.modules)\nimport casemate\nprint(set(sys.modules) - before,"
            " dir(casemate))"
        )
        self.assertEqual(ended.stdout, b"set() ['ToolDenied', 'ToolError', 'artifact', 'tools']\n")

    def test_outside_a_box_it_says_so(self) -> None:
        import os
        import tempfile

        from casemate import _wire, artifact

        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(f"{directory}/work")
            open(f"{directory}/work/f", "w").close()
            _wire.work = f"{directory}/work"
            try:
                with self.assertRaisesRegex(
                    RuntimeError, "does not run in a casemate box"
                ):
                    artifact(f"{directory}/work/f")
            finally:
                _wire.work = "/vol/work"


@unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
class Figures(RunnerTest):
    def figures(self, source: str, **options: object) -> list[tuple[str, str]]:
        ended = self.run_ok(
            "import matplotlib.pyplot as plt\n" + textwrap.dedent(source), **options
        )
        self.assertEqual({a["origin"] for a in ended.artifacts} - {"figure"}, set())
        for artifact in ended.artifacts:
            with open(artifact["path"], "rb") as file:
                self.assertEqual(file.read(4)[1:], b"PNG")
        self.assertEqual(ended.stderr, b"")
        return [
            (a["path"].partition("/work/")[2], a["summary"]) for a in ended.artifacts
        ]

    def test_show_keeps_and_closes(self) -> None:
        found = self.figures(
            """\
            plt.bar(["A", "B", "C"], [1, 2, 3], label="sold"); plt.xlabel("who"); plt.ylabel("n"); plt.show()
            assert not plt.get_fignums()
            plt.title("second"); plt.show()
            """
        )
        self.assertEqual(
            found, [("out/figure-1.png", "n by who"), ("out/figure-2.png", "second")]
        )

    def test_figures_left_open_are_kept(self) -> None:
        found = self.figures(
            "plt.figure(); plt.suptitle('one'); fig, (a, b) = plt.subplots(2); a.set_title('x\\ny');"
            " b.set_title('z')\nNone"
        )
        self.assertEqual(
            found, [("out/figure-1.png", "one"), ("out/figure-2.png", "x y; z")]
        )

    def test_they_are_kept_after_an_exit_or_an_exception(self) -> None:
        for end, status in (("import sys; sys.exit(3)", 3), ("1/0", 1)):
            ended = self.engine.run(
                f"import matplotlib.pyplot as plt\nplt.plot([1])\n{end}"
            )
            self.assertEqual((ended.status, len(ended.artifacts)), (status, 1))

    def test_what_the_program_saved_is_not_saved_twice(self) -> None:
        self.assertEqual(
            self.figures("plt.title('t'); plt.savefig('mine.png'); plt.show()"),
            [("mine.png", "t")],
        )
        self.assertEqual(
            self.figures("plt.plot([1]); plt.savefig('mine.png')"), [("mine.png", "")]
        )
        self.assertEqual(
            self.figures("plt.plot([1]); plt.savefig('mine.png'); plt.plot([2])\nNone"),
            [("out/figure-1.png", "")],
        )
        self.assertEqual(
            self.figures("plt.plot([1]); plt.savefig('mine.png'); plt.close()"), []
        )

    def test_an_explicit_Agg_is_the_same(self) -> None:
        ended = self.run_ok(
            "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1]);"
            " plt.show(); plt.close('all')"
        )
        self.assertEqual((len(ended.artifacts), ended.stderr), (1, b""))

    def test_no_file_of_an_earlier_run_is_replaced(self) -> None:
        self.assertEqual(
            self.figures(
                "plt.plot([1])\nplt.show()", files={b"out/figure-1.png": b"old"}
            ),
            [("out/figure-2.png", "")],
        )

    def test_a_failure_is_one_line_and_nothing_else(self) -> None:
        ended = self.engine.run(
            "import matplotlib.pyplot as plt\nplt.plot([1]); plt.show(); print('on')",
            files={b"out": b"a file is in the way"},
        )
        self.assertEqual(
            (ended.status, ended.stdout, ended.artifacts), (0, b"on\n", [])
        )
        self.assertRegex(
            ended.stderr.decode(),
            r"^casemate: a figure could not be kept: FileExistsError.*\n$",
        )

    def test_a_child_keeps_none(self) -> None:
        ended = self.engine.run(
            "import os\nimport matplotlib.pyplot as plt\nplt.plot([1])\npid = os.fork()\nif pid == 0:\n   "
            " plt.show(); os._exit(0)\nos.waitpid(pid, 0)\nplt.close('all')"
        )
        self.assertEqual((ended.status, ended.artifacts), (0, []))
        self.assertIn(b"first process", ended.stderr)

    def test_missing_glyphs_are_one_clear_warning(self) -> None:
        ended = self.run_ok(
            "import matplotlib.pyplot as plt\nplt.title('\\u9500\\u552e \\u7279\\u6027 \\ud55c\\uad6d');"
            " plt.plot([1, 2]); plt.tight_layout(); plt.savefig('cjk.png'); plt.savefig('cjk2.png')"
        )
        lines = ended.stderr.decode().splitlines()
        if lines:  # Nothing at all where a font with these characters is the default.
            self.assertEqual(len(lines), 1)
            self.assertIn("DejaVu Sans", lines[0])
            self.assertIn("\u9500", lines[0])

    def test_other_warnings_pass(self) -> None:
        ended = self.run_ok(
            "import warnings\nimport matplotlib.pyplot as plt\nclass P(type(plt.gca().patch)):\n    def"
            " draw(self, r): warnings.warn('of mine')\nplt.gca().add_patch(P((0, 0), 1, 1));"
            " plt.savefig('x.png')"
        )
        self.assertIn(b"UserWarning: of mine", ended.stderr)

    def test_other_programs_find_a_backend(self) -> None:
        ended = self.run_ok(
            "import subprocess, sys\nprint(subprocess.run(['/usr/bin/python3', '-c', 'import"
            ' matplotlib.pyplot as plt; plt.plot([1]); plt.savefig("s.png"); print(plt.get_backend())\'],'
            " capture_output=True, text=True))"
        )
        self.assertIn(b"returncode=0", ended.stdout)
        self.assertIn(b"agg", ended.stdout.lower())

    def test_without_a_plot_nothing_is_sent(self) -> None:
        self.assertEqual(
            self.run_ok("import matplotlib.pyplot\nprint('no plot')").artifacts, []
        )


class Watch(RunnerTest):
    """The wait for matplotlib, with a stand-in for it."""

    def test_a_failing_hook_does_not_fail_the_import(self) -> None:
        files = {
            b"matplotlib/__init__.py": b"",
            b"matplotlib/backends/__init__.py": b"",
            b"matplotlib/backends/backend_agg.py": b"loaded = 1\n",
        }
        ended = self.run_ok(
            "import matplotlib.backends.backend_agg as b\nprint(b.loaded)", files=files
        )
        self.assertEqual(ended.stdout, b"1\n")
        self.assertRegex(
            ended.stderr.decode(),
            r"^casemate: figures will not be kept: AttributeError",
        )


if __name__ == "__main__":
    unittest.main()
