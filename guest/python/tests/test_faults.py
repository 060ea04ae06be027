"""What a program costs a hot slot, counted in page faults: a count that hardly depends on the machine.

None of these programs is rehearsed, though what they use is. From parking to the end of the process,
which is more than from the program's arrival to DONE. With CASEMATE_TEST_TIMES=1 it also tells the
time between these two, as the engine sees it.
"""

from __future__ import annotations

import os
import socket
import statistics
import time
import unittest

import engine
from slots import Slot, SlotEngine

from casemate import _wire

FAULTS_MAX = 15
TRIES = 3

PROGRAMS = {
    "arithmetic": ("print((17 * 23 - 4) / 3 ** 2, 10 ** 20 // 7, -7 % 3)", b"43.0 14285714285714285714 2\n"),
    "f-string and comprehension": (
        (
            "words = ['pear', 'fig', 'plum']\nprint(f'{len(words):>4} {sum(map(len, words)) / 3:.2f}',"
            " [w.upper() for w in words if 'p' in w])"
        ),
        b"   3 3.67 ['PEAR', 'PLUM']\n",
    ),
    "dict and sort": (
        (
            "counts = {}\nfor n in range(200):\n    counts[f'key{n * 37 % 200}'] = n\ntop ="
            " sorted(counts.items(), key=lambda item: (-item[1], item[0]))\nprint(top[0], top[-1],"
            " len(counts))"
        ),
        b"('key163', 199) ('key0', 0) 200\n",
    ),
    "json": (
        (
            "import json\ntext = json.dumps({'rows': [{'id': i, 'ok': i % 2 == 0} for i in range(20)]},"
            " indent=1)\nprint(len(json.loads(text)['rows']), len(text))"
        ),
        b"20 736\n",
    ),
    "re": (
        (
            "import re\nlog = 'GET /a 200\\nPOST /b 404\\nGET /c 500\\n'\nfor m in re.finditer(r'^(GET|POST)"
            " (/\\w) (\\d+)$', log, re.M):\n    print(m.group(2), int(m[3]) + 1)\nprint(re.sub(r'\\d', '#',"
            " log.split()[2]))"
        ),
        b"/a 201\n/b 405\n/c 501\n###\n",
    ),
    "datetime": (
        (
            "from datetime import date, datetime, timedelta\nstart = date(2024, 2, 27)\nprint([str(start +"
            " timedelta(days=d)) for d in range(4)])\nprint(datetime(2024, 5, 6, 7, 8).strftime('%A %d %B"
            " %Y'), (date(2025, 1, 1) - start).days)"
        ),
        b"['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01']\nMonday 06 May 2024 309\n",
    ),
    "decimal": (
        (
            "from decimal import Decimal, ROUND_HALF_UP\nprices = ['19.99', '5.01', '0.10']\ntotal ="
            " sum(map(Decimal, prices), Decimal(0))\nprint(total, (total *"
            " Decimal('0.19')).quantize(Decimal('0.01'), ROUND_HALF_UP))"
        ),
        b"25.10 4.77\n",
    ),
    "class": (
        (
            "class Account:\n    rate = 0.5\n    def __init__(self, owner, balance=0):\n        self.owner,"
            " self.balance = owner, balance\n    def deposit(self, amount):\n        self.balance += amount\n"
            "        return self\n    @property\n    def interest(self):\n        return self.balance *"
            " self.rate\nclass Special(Account):\n    rate = 0.75\n    def __str__(self):\n        return"
            " f'<{self.owner}: {self.interest}>'\nprint(Special('ann', 8).deposit(8))"
        ),
        b"<ann: 12.0>\n",
    ),
    "KeyError": (
        (
            "stock = {'a': 1}\nfor name in 'ab':\n    try:\n        print(name, stock[name])\n    except"
            " KeyError as missing:\n        print('no', missing)\n    finally:\n        stock.pop(name, None)"
        ),
        b"a 1\nno 'b'\n",
    ),
    "generators": (
        (
            "import itertools\ndef evens(start):\n    while True:\n        yield start\n        start +="
            " 2\nprint(list(itertools.islice(evens(4), 5)), [k + str(len(list(g))) for k, g in"
            " itertools.groupby('aabccc')], sum(itertools.chain(range(5), (n * n for n in range(5)))))"
        ),
        b"[4, 6, 8, 10, 12] ['a2', 'b1', 'c3'] 40\n",
    ),
}


class Faults(unittest.TestCase):
    engine: SlotEngine

    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = SlotEngine()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()

    def test_ten_programs_touch_few_new_pages(self) -> None:
        for name, (source, stdout) in PROGRAMS.items():
            with self.subTest(name):
                faults = []
                for _ in range(TRIES):
                    ended = self.engine.run(source)
                    self.assertEqual((ended.status, ended.stdout), (0, stdout), ended.stderr)
                    self.assertEqual((ended.done, ended.frames), (0, []))
                    assert self.engine.last is not None
                    faults.append(self.engine.last.faults)
                if "CASEMATE_TEST_TIMES" in os.environ:
                    print(f"{name}: {faults} faults, {self.engine.last.faults_parked} before")
                self.assertLessEqual(min(faults), FAULTS_MAX)

    @unittest.skipUnless("CASEMATE_TEST_TIMES" in os.environ, "tells times, tests nothing")
    def test_time_from_program_to_done(self) -> None:
        for name, (source, stdout) in [("print", ("print(1)", b"1\n")), *PROGRAMS.items()]:
            taken = []
            for _ in range(60):
                taken.append(self._time(engine.request(source.encode()), stdout))
            taken.sort()
            print(f"{name}: p50 {statistics.median(taken):.3f} min {taken[0]:.3f} p95 {taken[-3]:.3f} ms")

    def _time(self, message: bytes, stdout: bytes) -> float:
        root = self.engine.new_root()
        ours, theirs = socket.socketpair()
        slot = Slot(self.engine, root, theirs.fileno())
        theirs.close()
        time.sleep(0.005)
        begin = time.perf_counter()
        ours.sendall(message)
        told = ours.recv(1 << 16)
        taken = time.perf_counter() - begin
        ours.shutdown(socket.SHUT_WR)
        self.assertEqual(told[4], _wire.DONE)
        self.assertEqual(slot.stdout.read(), stdout)
        slot.wait()
        for held in (slot.stdout, slot.stderr, ours):
            held.close()
        return taken * 1000


if __name__ == "__main__":
    unittest.main()
