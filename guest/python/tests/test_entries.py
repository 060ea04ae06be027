"""A program does the same in a slot as in a cold run: output, exit status, frames and files."""

from __future__ import annotations

import pathlib
import re
import sys
import textwrap
import unittest
from typing import Any

from engine import PYTHON, Ended, Engine
from entries import PROGRAMS
from slots import SlotEngine

# Addresses, and what faulthandler tells of the runner.
NAMELESS = (
    (rb"0x[0-9a-f]{8,}", b"0x"),
    (rb'  File "[^"]*/casemate/_\w+.py", line \d+ in \w+\n', b""),
)


def files_of(root: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in sorted(root.rglob("*"))
        if not path.is_socket()
    }


def seen(ended: Ended) -> dict[str, Any]:
    """What must not differ, with the run's own directory under one name, and no addresses."""
    own = str(ended.root).encode()

    def shown(data: bytes) -> bytes:
        for pattern, text in NAMELESS:
            data = re.sub(pattern, text, data)
        return data.replace(own, b"/vol")

    return {
        "status": ended.status,
        "stdout": shown(ended.stdout),
        "stderr": shown(ended.stderr),
        "frames": [(kind, [(tag, shown(data)) for tag, data in fields]) for kind, fields in ended.frames],
        "files": files_of(ended.root),
    }


class Entries(unittest.TestCase):
    maxDiff = None
    level = "hot"

    @classmethod
    def setUpClass(cls) -> None:
        cls.cold, cls.slots = Engine(), SlotEngine(level=cls.level)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cold.close()
        cls.slots.close()

    def both(self, source: str, **options: Any) -> tuple[Ended, Ended]:
        # Cold runs have the flag from the launcher.
        flags = ("-X", "faulthandler")
        return self.cold.run(source, flags=flags, **options), self.slots.run(source, **options)

    def test_the_table(self) -> None:
        for name, (source, done, options) in PROGRAMS.items():
            with self.subTest(name):
                cold, slot = self.both(textwrap.dedent(source), **options)
                self.assertEqual(seen(slot), seen(cold))
                # DONE comes with the status, or not at all where Python ended the process. Since 3.12
                # Python itself also runs what programs register with atexit.
                self.assertIn(slot.done, (cold.status, None))
                if not done or (PYTHON == sys.executable and sys.version_info < (3, 12)):
                    self.assertEqual(slot.done is not None, done)


class WarmEntries(Entries):
    level = "warm"


if __name__ == "__main__":
    unittest.main()
