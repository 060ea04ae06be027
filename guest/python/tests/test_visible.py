"""What a program can see in a slot is what it sees in a cold run, and no two slots see the same chance."""

from __future__ import annotations

import json
import pathlib
import unittest
from typing import Any

from engine import Engine
from slots import SlotEngine

VISIBLE = (pathlib.Path(__file__).parent / "visible.py").read_text()

CHANCE = """\
import hashlib, json, os, random, secrets, ssl, tempfile, uuid
print(json.dumps({
    "random": random.random(), "state": hash(random.getstate()), "secrets": secrets.token_hex(8),
    "gauss": random.gauss(0, 1), "uuid1": str(uuid.uuid1()), "uuid4": str(uuid.uuid4()),
    "ssl": ssl.RAND_bytes(8).hex(), "tempfile": tempfile.mktemp(), "urandom": os.urandom(8).hex(),
    "system": random.SystemRandom().random(),
}))
"""


class Visible(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.cold = Engine()
        cls.slots = {level: SlotEngine(level=level) for level in ("hot", "warm")}

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cold.close()
        for engine in cls.slots.values():
            engine.close()

    def dump(self, engine: Engine, *arguments: bytes) -> dict[str, Any]:
        flags = () if isinstance(engine, SlotEngine) else ("-X", "faulthandler")
        ended = engine.run(VISIBLE, flags=flags, arguments=arguments, memory_bytes=5 << 20)
        self.assertEqual(ended.status, 0, ended.stderr)
        text = ended.stdout.decode().replace(str(ended.root), "/vol")
        seen: dict[str, Any] = json.loads(text)
        return seen

    def test_a_slot_shows_what_a_cold_run_shows(self) -> None:
        cold = self.dump(self.cold)
        del cold["environment"]["PWD"]  # The shell's, which starts the cold run here.
        for level, engine in self.slots.items():
            slot = self.dump(engine)
            for name, value in cold.items():
                with self.subTest(name, level=level):
                    self.assertEqual(slot[name], value)

    def test_a_rehearsal_leaves_nothing(self) -> None:
        dumps = [self.dump(engine, b"modules") for engine in self.slots.values()]
        self.assertEqual(*dumps)

    def test_modules_of_slots_are_preloaded_ones_or_the_runner(self) -> None:
        cold = self.dump(self.cold, b"modules")["modules"]
        slot = self.dump(self.slots["hot"], b"modules")["modules"]
        self.assertEqual([name for name in cold if name not in slot], [])
        self.assertNotIn("_casemate_slot", slot)

    def test_slots_differ_by_chance(self) -> None:
        for level, engine in self.slots.items():
            first, second = (json.loads(engine.run(CHANCE).stdout) for _ in range(2))
            for name in first:
                with self.subTest(name, level=level):
                    self.assertNotEqual(first[name], second[name])


if __name__ == "__main__":
    unittest.main()
