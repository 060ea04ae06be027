"""The zygote: what it imports, that it has one thread and says nothing, and what it says when it fails."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from engine import PYTHON
from slots import SlotEngine

REHEARSED = "import json\nfrom casemate import _rehearsal\nprint(json.dumps(_rehearsal.codes))"
CHANCE = "import json, numpy as n\nprint(json.dumps([n.random.rand(), n.random.default_rng().random()]))"
THREADS = "import os\nprint(len(os.listdir('/proc/self/task')), [n for n in os.environ if 'THREADS' in n])"


def has(module: str) -> bool:
    return PYTHON == os.sys.executable and importlib.util.find_spec(module) is not None  # type: ignore


class Zygote(unittest.TestCase):
    def start(self, preload: str, **options: object) -> SlotEngine:
        engine = SlotEngine(preload=preload, **options)  # type: ignore[arg-type]
        self.addCleanup(engine.close)
        self.assertEqual(engine.told, "ready")
        return engine

    def test_a_set_that_cannot_be_imported_is_told_in_one_line(self) -> None:
        engine = SlotEngine(preload="nothing")
        self.addCleanup(engine.close)
        self.assertEqual(engine.told, "failed preload nothing: KeyError: 'nothing'")
        self.assertEqual(engine.status(), 1)

    def test_it_ends_when_the_link_closes(self) -> None:
        engine = SlotEngine()
        engine.close()
        self.assertEqual(engine.status(), 0)

    def test_all_that_is_rehearsed_runs(self) -> None:
        # The third is to fail; what fails otherwise would leave its pages to the real program.
        ended = self.start("bare").run(REHEARSED)
        self.assertEqual(json.loads(ended.stdout), [0, 0, 1])
        self.assertEqual(json.loads(self.start("bare", level="warm").run(REHEARSED).stdout), [])

    def test_a_request_that_is_none_ends_the_slot(self) -> None:
        engine = self.start("bare")
        ended = engine.run("", raw=b"\xff" * 64)
        self.assertEqual((ended.status, ended.done), (125, None))
        self.assertIn(b"could not be set up", ended.stderr)

    @unittest.skipUnless(has("numpy"), "needs numpy")
    def test_numpy_differs_between_slots_and_leaves_threads_alone(self) -> None:
        engine = self.start("numpy")
        first, second = (json.loads(engine.run(CHANCE).stdout) for _ in range(2))
        self.assertTrue(all(a != b for a, b in zip(first, second)))
        self.assertEqual(engine.run(THREADS).stdout, b"1 []\n")
        self.assertEqual(json.loads(engine.run(REHEARSED).stdout), [0, 0, 1, 0])

    @unittest.skipUnless(has("pandas") and has("matplotlib"), "needs pandas and matplotlib")
    def test_pandas_and_figures(self) -> None:
        engine = self.start("pandas")
        self.assertEqual(json.loads(engine.run(REHEARSED).stdout), [0, 0, 1, 0, 0])
        ended = engine.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertEqual((ended.status, ended.done), (0, 0))
        self.assertIn("<table", ended.result["text/html"])
        ended = engine.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('Two')")
        self.assertEqual((ended.status, ended.done, ended.stderr), (0, 0, b""))
        self.assertEqual([one["summary"] for one in ended.artifacts], ["Two"])
        self.assertTrue((ended.root / "work/out/figure-1.png").is_file())

    def test_threads_of_a_library_end_before_slots_are_made(self) -> None:
        # As OpenBLAS does: threads from the import on, ended by a handler before each fork.
        source = """\
            #include <pthread.h>
            #include <unistd.h>
            static int ends[2]; static pthread_t thread;
            static void *wait_for_end(void *unused) { char c; (void)!read(ends[0], &c, 1); return unused; }
            static void end(void) { if (thread) { (void)!write(ends[1], "", 1); pthread_join(thread, 0); thread = 0; } }
            __attribute__((constructor)) static void start(void) {
              (void)!pipe(ends); pthread_create(&thread, 0, wait_for_end, 0); HANDLER
            }
        """
        for handler, told in (
            ("pthread_atfork(end, 0, 0);", "ready"),
            ("", "failed preload bare: RuntimeError: 2 "),
        ):
            with self.subTest(handler), tempfile.TemporaryDirectory() as place:
                path = pathlib.Path(place) / "threaded"
                path.with_suffix(".c").write_text(source.replace("HANDLER", handler))
                command = ["cc", "-shared", "-fPIC", "-o", f"{path}.so", f"{path}.c", "-lpthread"]
                try:
                    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                except (OSError, subprocess.CalledProcessError):
                    self.skipTest("needs a C compiler")
                engine = SlotEngine(variables={"LD_PRELOAD": f"{path}.so"})
                self.addCleanup(engine.close)
                self.assertEqual(engine.told[: len(told)], told)


if __name__ == "__main__":
    unittest.main()
