"""One row per hint: a program that fails, and what the report says would have helped."""

from __future__ import annotations

import subprocess
import unittest

from engine import PYTHON, RunnerTest

from casemate import _look

# Programs run with these files in /work.
FILES = {b"data.csv": b"a,b\n", b"data/sales.csv": b"x", b"other/sub.csv": b"x"}

# (program, hints that must be among those of the report)
TABLE: list[tuple[str, list[str]]] = [
    # KeyError
    ("rows = [{'tenant': 1, 'value': 2}]\nfor row in rows:\n    print(row['amount'])", ["row keys present: ['tenant', 'value']"]),
    ("rows = [{'tenant': 1}]\n[r['Tenant'] for r in rows]", ["r keys present: ['tenant']", "did you mean 'tenant'? (they differ in case)"]),
    ("row = {' amount': 1}\nrow['amount']", ["did you mean ' amount'? (they differ in spaces)"]),
    ("class A:\n  def __init__(self): self.rows = {'total_price': 1}\n  def f(self): return self.rows['totl_price']\nA().f()", ["self.rows keys present: ['total_price']", "did you mean 'total_price'?"]),
    ("d = {'a': {'b': {'unit': 1}}}\nk = 'b'\nd['a'][k]['unti']", ["d['a'][k] keys present: ['unit']", "did you mean 'unit'?"]),
    ("d = {'a': {'b': 1}}\nd['b']['a']", ["d keys present: ['a']", "'b' is a key of d['a']"]),
    ("d = {1: 'a'}\nd['1']", ["1 (int) is present; '1' is of type str", "did you mean 1?"]),
    ("d = {'a': 1}\nd.pop('b')", ["d keys present: ['a']"]),
    ("d = {}\ndel d['b']", ["d is empty: no keys are present"]),
    ("from collections import OrderedDict\nd = OrderedDict(a=1)\nd['b']", ["d keys present: ['a']"]),
    ("d = {'a': 1}\nprint(f\"{d['b']}\")", ["d keys present: ['a']"]),
    ("import os\nos.environ['HOMEE']", ["did you mean 'HOME'?"]),
    ("s = {'a', 'b'}\ns.remove('c')", ["s keys present: ['a', 'b']"]),
    # IndexError
    ("rows = [1, 2, 3]\ni = 5\nrows[i]", ["rows has 3 items; index i = 5; the last index is 2"]),
    ("rows = [1]\nrows[len(rows)]", ["rows has 1 item; index len(rows) = 1; the last index is 0"]),
    ("rows = []\nrows[0]", ["rows is empty; index 0"]),
    ("rows = []\nrows.pop()", ["rows is empty"]),
    ("rows = [1, 2]\nfor i in range(3):\n    rows[i]", ["an index runs from 0 to len(rows) - 1, so range(len(rows)) reaches them all"]),
    ("import sys\nsys.argv[1]", ["sys.argv has 1 item; index 1; the last index is 0"]),
    ("s = 'abc'\ns[3]", ["s has 3 characters; index 3; the last index is 2"]),
    # NameError, UnboundLocalError
    ("total = 1\nprint(totl)", ["did you mean 'total'?"]),
    ("math.sqrt(2)", ['did you forget "import math"?']),
    ("np.zeros(3)", ['did you forget "import numpy as np"?']),
    ("Decimal('1')", ['did you forget "from decimal import Decimal"?']),
    ("x = true", ["did you mean 'True'? (Python's word for true)"]),
    ("main()\ndef main(): pass", ["'main' is defined at line 2, after this line runs; move the definition up, or this line down"]),
    ("n = 0\ndef f():\n    n += 1\nf()", ["'n' is assigned in f (line 3), which makes it local to all of f", 'did you forget "global n"? (n of the module is 0)']),
    ("class A:\n  def __init__(self): self.total = 1\n  def f(self): return total\nA().f()", ["did you mean 'self.total'? (the object has an attribute of that name)"]),
    # AttributeError
    ("x = [1]\nx.push(3)", ["did you mean 'append'?"]),
    ("x = [1]\nx.length", ["instead of .length: len(...)"]),
    ("'a'.uper()", ["did you mean 'upper'?"]),
    ("import datetime\ndatetime.now()", ["did you mean 'datetime.datetime.now'? (datetime is the module here; datetime.datetime is the class)"]),
    ("from datetime import datetime\ndatetime.timedelta(1)", ['did you forget "from datetime import timedelta"?']),
    ("import math\nmath.squareroot(1)", []),
    ("import math\nmath.sqr(1)", ["did you mean 'sqrt'?"]),
    ("x = [3, 1].sort()\nx.index(1)", ["x is None here", "sort(...) at line 1 changes its object and returns None; do not assign what it returns"]),
    ("import re\nm = re.match('a', 'b')\nm.group()", ["re.match('a', 'b') at line 2 gives None where nothing is found; test for that first"]),
    ("import xml\nxml.etree", ['did you forget "import xml.etree"? (a submodule is not imported with its package)']),
    # ImportError
    ("import jsn", ["did you mean 'json'?"]),
    ("import surely_not_a_real_package_qq", ["this image has no module 'surely_not_a_real_package_qq'"]),
    ("from math import squirt", ["did you mean 'sqrt'?"]),
    ("import os.pth", ["'os' is a module, not a package: it has no submodules"]),
    ("import xml.etre", ["did you mean 'xml.etree'?"]),
    # Files
    ("open('dta.csv')", ["did you mean 'data.csv'?"]),
    ("open('data/sale.csv')", ["did you mean 'data/sales.csv'?", "files in data: ['sales.csv']"]),
    ("open('dat/sales.csv')", ["did you mean 'data/sales.csv'?"]),
    ("open('sub.csv')", ["did you mean 'other/sub.csv'?"]),
    ("open('results/x.csv', 'w')", ["the directory 'results' does not exist; os.makedirs('results', exist_ok=True) makes it"]),
    ("import subprocess\nsubprocess.run(['sssh'])", ["no program 'sssh' in PATH (/usr/bin:/bin); packages are added to the image by an operator"]),
    ("open('data')", ["'data' is a directory; it holds: ['sales.csv']"]),
    ("import os\nos.mkdir('data')", ["'data' exists already; for a directory, os.makedirs('data', exist_ok=True) accepts that"]),
    ("open('data.csv/x')", ["a parent of 'data.csv/x' is a file: 'data.csv'"]),
    ("input()", ["stdin is empty or at its end: a run has no one to ask; put the value into the program, its arguments or stdin"]),
    ("raise OSError(101, 'Network is unreachable')", ["this box has no network, or none to that host: what a program needs must come with the request or by a granted tool"]),
    ("import socket\ntry:\n    raise socket.gaierror(-3, 'x')\nexcept OSError as e:\n    raise RuntimeError('request failed') from e", ["this box has no network, or none to that host: what a program needs must come with the request or by a granted tool"]),
    # Text
    ("import json\njson.loads('{\"a\": 1 \"b\"}')", ['line 1 column 9: {"a": 1 "b"}', " " * 25 + "^"]),
    ("import json\njson.loads('{\"a\": 1,}')", ["JSON has no comma before a closing bracket"]),
    ("import json\njson.loads(\"{'a': 1}\")", ["JSON has double quotes only; ast.literal_eval reads a Python literal"]),
    ("import json\njson.loads('{\"a\":1}\\n{\"a\":2}')", ["the text holds one JSON document per line: [json.loads(line) for line in text.splitlines() if line.strip()]"]),
    ("import json\njson.loads('')", ["the text is empty"]),
    ("import json\njson.loads('<html>')", ["the text begins with '<': this is HTML or XML, not JSON"]),
    ("import json\njson.loads('{\"a\": [1, 2')", ["the text ends too early: it was cut, or a bracket or quote is not closed"]),
    ("b'caf\\xe9 au lait'.decode()", ["bytes 0 to 10: 63 61 66 [e9] 20 61 75 20 6c 61 69", "the data decodes with encoding='cp1252': ...caf\u00e9 au lait..."]),
    ("'\u4f60\u597d'.encode('gbk').decode()", ["the data decodes with encoding='gb18030': ...\u4f60\u597d..."]),
    ("'abc'.encode('utf-16').decode()", ["the data begins with a byte order mark of UTF-16: use encoding='utf-16'"]),
    ("b'\\x1f\\x8b\\x08'.decode()", ["the data is gzip: open it with gzip.open"]),
    ("'caf\u00e9'.encode('ascii')", ["the character is U+00E9, at index 3: ...caf\u00e9...", "use encoding='utf-8'"]),
    # Syntax
    ("x = (1,\nprint(2)\n", ["the '(' of line 1 is never closed"]),
    ("x = [1, 2)\n", ["')' on line 1 does not close the '[' of line 1"]),
    ("print(1))\n", ["')' on line 1 closes nothing"]),
    ("print('abc)\n", ["the string that begins on line 1 with ' is not closed"]),
    ("if True\n    pass", []),
    ("def f():\n    x = 1\n  y = 2\n", ["line 3 is indented by 2 columns; the blocks that are open there are at [0, 4]"]),
    ("for x in y:\nprint(x)", ["the line before it (for x in y:) needs an indented block; `pass` is an empty one"]),
    ("x = 1\n  y = 2", ["line 2 is indented by 2 columns, the line before it by 0, and that one opens no block"]),
    ("```python\nprint(1)\n```", ["line 1 is a Markdown fence (```), not Python; submit the lines between the fences alone"]),
    ("print(\u201chi\u201d)", ["line 1 column 7 has U+201C (\u201c): write '\"'"]),
    ("async def f(): pass\nawait f()", ["a program is not a coroutine: put it into `async def main(): ...` and end with `asyncio.run(main())`"]),
    # TypeError
    ("def area(width, height, *, unit='m'): pass\narea(3)", ["signature: area(width, height, *, unit=...)"]),
    ("def area(width, height, *, unit='m'): pass\narea(3, 4, units='cm')", ["did you mean 'unit'?"]),
    ("class P:\n  def __init__(self, name, age=3): pass\nP()", ["signature: P(name, age=...)"]),
    ("class P:\n  def go(self, a, /, b, *c, **d): pass\np = P()\np.go()", ["signature: go(a, /, b, *c, **d)"]),
    ("count = 3\nprint('total: ' + count)", ["left: 'total: ' (str); right: count = 3 (int)", "did you mean 'str(count)'? (or an f-string)"]),
    ("a = '5'\nb = 6\na + b", ["did you mean 'int(a)'? (its text is a number)"]),
    ("s = 'a'\ns += 1", ["left: s = 'a' (str); right: 1 (int)"]),
    ("list = [1]\nlist((1, 2))", ["'list' is a variable of this program at line 1, [1], which hides Python's own list; rename the variable"]),
    ("import datetime\ndatetime(2024, 1, 1)", ['did you forget "from datetime import datetime"?']),
    ("d = {'a': 1}\nd('a')", ["square brackets select: d[...]"]),
    ("import json, datetime\nd = {'a': {'when': datetime.datetime(2024, 1, 1)}}\njson.dumps(d)", ["it is at d['a']['when']", "json.dumps(..., default=str) writes what JSON does not have as text"]),
    ("rows = [{'a': 1}]\nrows['a']", ["rows[0] keys present: ['a']", "did you mean rows[0]['a']?"]),
    ("s = '{\"a\": 1}'\ns['a']", ["it looks like JSON: json.loads(s) makes a dict or list of it"]),
    ("numbers = [1, 2]\n', '.join(numbers)", ["join takes texts: map(str, numbers) makes them"]),
    ("n = 5\nfor i in n: pass", ["n = 5 is one number; range(n) counts up to it"]),
    ("x = [3, 1].sort()\nx[0]", ["x is None here"]),
    ("def f(): pass\nx = f()\nfor y in x:\n    pass", ["x is None here", "f() at line 2 returned None; does every path of f return a value?"]),
    ("def f(x): pass\nf[1]", ["f is a function or class; call it with round brackets: f(...)"]),
    ("{[1]: 2}", ["a list, dict or set cannot be a key or a member of a set; tuple(...) or frozenset(...) of it can"]),
    # ValueError and the like
    ("int('12,5')", ["the text has commas: text.replace(',', '') is '125', a number"]),
    ("int('3.7')", ["'3.7' has a fraction: int(float('3.7')) or round(float('3.7')) makes it whole"]),
    ("x = ' 1,234.50 USD'\nfrom decimal import Decimal\nDecimal(x)", ["x = ' 1,234.50 USD'"]),
    ("float('')", ["the text is empty; decide what an absent number means, such as 0, or skip it"]),
    ("from datetime import datetime\ndatetime.strptime('02/01/2024', '%Y-%m-%d')", ["'02/01/2024' fits '%d/%m/%Y', and also '%m/%d/%Y'"]),
    ("rows = []\nsum(rows) / len(rows)", ["the divisor len(rows) is 0", "rows is empty"]),
    ("total, count = 5, 0\ntotal / count", ["the divisor count is 0"]),
    ("pair = (1, 2, 3)\na, b = pair", ["pair has 3 items: (1, 2, 3)"]),
    ("d = {'abc': 1}\nfor k, v in d: pass", ["a loop over d gives its keys; d.items() gives pairs"]),
    ("x = 3\ny = 4\nassert x == y", ["where x = 3, y = 4"]),
    ("places = ['north', 'south']\nplaces.index('nort')", ["did you mean 'north'?"]),
    ("values = []\nmax(values)", ["values is empty; test for that first, or give a default"]),
    # Limits
    ("def f(n): return f(n + 1)\nf(0)", []),
    ("bytearray(1 << 60)", ["this run may use 512 MiB of memory; work on the data in parts, or ask for more"]),
]  # fmt: skip

# What the exceptions of 3.9 do not say, or 3.9 still has.
SINCE_3_10 = [
    ("class A:\n  def __init__(self): self.colour = 1\nA().color", ["did you mean 'colour'?"]),
    ("from collections import Mapping", ["did you mean 'from collections.abc import Mapping'?"]),
]  # fmt: skip


class Hints(RunnerTest):
    def test_the_table(self) -> None:
        old = subprocess.run(
            [PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]
        ).returncode
        for source, expected in TABLE + ([] if old else SINCE_3_10):
            with self.subTest(source):
                ended = self.engine.run(
                    source,
                    files=FILES,
                    memory_bytes=512 << 20,
                    flags=("-X", "dev", "-W", "ignore"),
                )
                report = ended.report
                self.assertNotIn(b"hints failed", ended.stderr)
                self.assertEqual(ended.stderr, b"")
                for hint in expected:
                    found = [
                        given
                        for given in report.hints
                        if given == hint
                        or given.startswith(hint + ".")
                        or given.startswith(hint + ";")
                    ]
                    self.assertTrue(found, f"{hint!r} is not among {report.hints}")
                self.assertLessEqual(len(report.hints), 16)
                self.assertTrue(
                    all(
                        len(hint) <= 500 and hint.isprintable() for hint in report.hints
                    )
                )

    def test_no_false_names(self) -> None:
        # Where nothing is near, nothing is suggested.
        for source in (
            "print(zzyzx_qq)",
            "d = {'tenant': 1}\nd['amount']",
            "'a'.zzyzx",
            "import zzyzx_qq",
            "open('zzyzx')",
        ):
            with self.subTest(source):
                hints = self.engine.run(source, files=FILES).report.hints
                self.assertFalse([hint for hint in hints if "did you" in hint], hints)

    def test_many_keys_are_cut(self) -> None:
        hints = self.run_failing(
            "d = {f'key_{n}': n for n in range(100000)}\nd['nope']"
        ).hints
        self.assertRegex(hints[0], r"^d keys present: \['key_0', .*\.\.\. \d+ more\]$")
        self.assertLess(len(hints[0]), 500)


class Look(unittest.TestCase):
    def test_near_words(self) -> None:
        for word, candidates, expected in [
            ("totl", ["total", "print"], ["total"]),
            ("amount", ["Amount"], ["Amount"]),
            ("amount", ["value", "tenant"], []),
            ("posted", ["posted_at"], ["posted_at"]),
            ("lenght", ["length", "len"], ["length"]),
            ("x", ["y", "z"], []),
            ("userName", ["user_name"], ["user_name"]),
        ]:
            with self.subTest(word):
                self.assertEqual(_look.near(word, candidates), expected)

    def test_shown_values_are_bounded(self) -> None:
        deep: object = 1
        for _ in range(50):
            deep = [deep]
        for value in (
            deep,
            "x" * 10**6,
            b"x" * 10**6,
            list(range(10**6)),
            {n: "y" * 1000 for n in range(1000)},
            10**100_000,
            object(),
        ):
            self.assertLessEqual(len(_look.show(value)), _look.TEXT_MAX)

    def test_attributes_are_looked_up_without_code(self) -> None:
        class Watched:
            plain = 1

            def __init__(self) -> None:
                self.own = 2

            @property
            def computed(self) -> int:
                raise AssertionError("called")

            def __getattr__(self, name: str) -> int:
                raise AssertionError("called")

        watched = Watched()
        self.assertEqual(
            (_look.attribute(watched, "own"), _look.attribute(watched, "plain")), (2, 1)
        )
        for name in ("computed", "nothing", "__init__"):
            with self.assertRaises(_look.Unknown):
                _look.attribute(watched, name)

    def test_keys_are_compared_only_with_their_own_kind(self) -> None:
        class Same:
            def __hash__(self) -> int:
                return hash("k")

            def __eq__(self, other: object) -> bool:
                raise AssertionError("called")

        self.assertEqual(_look.item({"k": 2, "j": Same()}, "k"), 2)
        with self.assertRaises(_look.Unknown):
            _look.item({Same(): 1}, "k")


if __name__ == "__main__":
    unittest.main()
