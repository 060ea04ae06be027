"""What a start costs: counts that do not depend on the machine."""

from __future__ import annotations

import os
import resource
import subprocess
import unittest

from engine import PYTHON, RunnerTest

OURS = {
    "casemate",
    "casemate._program",
    "casemate._request",
    "casemate._runner",
    "casemate._streams",
    "casemate._wire",
}
LIST = "import sys\nprint(*sorted(sys.modules))"


class Startup(RunnerTest):
    def bare(self, code: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return subprocess.run(
            [PYTHON, "-I", "-B", "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def test_a_program_that_succeeds_loads_nothing_but_the_runner(self) -> None:
        bare = set(self.bare(LIST).split())
        for source in (
            LIST,
            f"def f(): pass\nfor i in range(3): print(end='')\n{LIST}",
            f"x = 1\n{LIST}\nif x:\n    x = 2\n",
        ):
            with self.subTest(source):
                self.assertEqual(
                    set(self.run_ok(source).stdout.decode().split()) - bare, OURS
                )

    def test_no_tree_is_made_of_a_program_that_succeeds(self) -> None:
        # The types of _ast are made on first use by compile(), at 44 page faults; see _program.
        source = "import gc\nprint(any(k.__module__ == 'ast' for k in object.__subclasses__()))"
        self.assertEqual(self.run_ok(source).stdout, b"False\n")
        self.assertEqual(self.bare("compile('1', '', 'exec')\n" + source), "True\n")

    def test_nothing_is_left_in_the_working_directory(self) -> None:
        for source in ("print(1)", "1 / 0", "[1]", "import helper"):
            ended = self.engine.run(
                source, files={b"helper.py": b""} if "helper" in source else {}
            )
            self.assertEqual(
                os.listdir(ended.root / "work"),
                ["helper.py"] if "helper" in source else [],
            )
            self.assertEqual(os.listdir(ended.root / "run"), ["program.py"])

    def test_few_system_calls_and_faults_more_than_bare(self) -> None:
        def faults(run: object) -> int:
            counts = []
            for _ in range(5):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
                run()  # type: ignore[operator]
                counts.append(
                    resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
                )
            return min(counts)

        # The shell that prepares descriptor 3 costs some 100 of its own; the bound is for regressions
        # such as an import of re (120) or of ast (200).
        shell = faults(
            lambda: subprocess.run(
                ["/bin/sh", "-c", 'exec 3</dev/null; exec "$@"', "sh", "/bin/true"],
                check=True,
            )
        )
        alone = faults(lambda: subprocess.run(["/bin/true"], check=True))
        bare = faults(lambda: self.bare("print(1)"))
        runner = faults(lambda: self.run_ok("print(1)"))
        self.assertLess(runner - bare - (shell - alone), 110)


if __name__ == "__main__":
    unittest.main()
