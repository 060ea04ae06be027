"""The programs of the rehearsal: ordinary ones, so that ordinary ones find their pages private.

They print little, write one file and remove it, and import only what is preloaded. What they leave in
caches of the library is cleared after them (_rehearsal).
"""

import sys

# Syntax, builtin types and what the compiler and the interpreter need for them.
_LANGUAGE = b'''\
"""Doc."""
import itertools
from collections import Counter, defaultdict, deque

LIMIT = 12
names = ["delta", "alpha", "Charlie", "bravo"] * 3


def scale(values, factor=2.5, *rest, offset=0, **more):
    """Doc."""
    total = 0
    for index, value in enumerate(values):
        if value % 2 == 0 and index > 0 or not value:
            continue
        total += value * factor + offset
    return total, [v for v in values if v < LIMIT], {v: str(v) for v in values}, {v // 3 for v in values}


def steps(limit):
    n = 0
    while n < limit:
        yield n
        n += 1


class Shape:
    sides = 0
    __slots__ = ("name", "_size")

    def __init__(self, name, size=1.0):
        self.name, self._size = name, size

    @property
    def area(self):
        return self._size ** 2

    @classmethod
    def unit(cls):
        return cls("unit")

    @staticmethod
    def double(value):
        return value + value

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self._size:.2f})"

    def __eq__(self, other):
        return isinstance(other, Shape) and self.name == other.name

    def __lt__(self, other):
        return self.area < other.area


class Square(Shape):
    sides = 4

    def __init__(self, size):
        super().__init__("square", size)
        self.tags = {"a": 1}


def outer(start):
    count = start

    def add(amount=1):
        nonlocal count
        count += amount
        return count

    return add


add = outer(3)
shapes = sorted([Square(n * 1.5) for n in range(4, 0, -1)])
print(scale(range(40), offset=1, other=2)[0], shapes[0], max(shapes), add(), add(4), Shape.unit() == shapes[0])
print(sum(n * n for n in steps(20)), list(itertools.islice(itertools.count(3), 4)), [*zip("ab", (1, 2))])
counted = Counter(word.lower()[0] for word in names)
print(counted.most_common(2), dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))))
groups = defaultdict(list)
for key, group in itertools.groupby(sorted(names), key=len):
    groups[key].extend(group)
print(len(groups), min(groups), ", ".join(map(str, groups)), deque(names, maxlen=2)[-1])
big = {f"k{n}": n / 7 for n in range(300)}
best = sorted(big.items(), key=lambda item: item[1], reverse=True)[:3]
print(f"{best[0][0]:>6}|{best[0][1]:8.3f}|{len(big):,}|{7:05d}|{0.25:.0%}|{255:#x}", 2 ** 100 % 97, 7 // 2, -7 % 3)
text = "The quick brown fox, jumps: over it".replace(",", "").split()
print("-".join(reversed(text)), text[1:-1:2], " ".join(text).title().center(40, "*"), "%s %d" % ("a", 3))
a, *b = (1, 2, 3)
nested = [[row * col for col in range(3)] for row in range(3)]
print(a, b, nested, set("hello") & set("world"), bytes([65, 66]).decode(), any(b), all([]), abs(-3), round(2.567, 2))
for bad in ("int('x')", "{}['no']", "[][1]", "None.x", "1 / 0", "'a' + 1", "undefined"):
    try:
        eval(bad)
    except (ValueError, KeyError, IndexError) as error:
        print(type(error).__name__, error)
    except Exception as error:
        print("other", error)
    finally:
        a += 1
try:
    raise ValueError("told") from None
except ValueError as error:
    print(repr(error))
'''

# The modules that programs import most.
_LIBRARY = b"""\
import csv
import io
import json
import math
import os
import random
import re
import statistics
import sys
import time
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache, reduce
from pathlib import Path

rows = [{"id": n, "name": f"n{n}", "ok": n % 2 == 0, "score": n / 3, "tags": [], "none": None} for n in range(20)]
print(len(json.dumps(rows)), json.loads(json.dumps(rows, indent=2, sort_keys=True))[1]["name"])
pattern = re.compile(r"^(?P<who>[a-z]+)@(\\w+)\\.(com|org)\\b", re.M)
print([m.group("who") for m in pattern.finditer("me@here.com\\nyou@there.org")], re.sub(r"\\s+", " ", "a  b"))
print(re.findall(r"\\d+", "1, 22"), re.split(r"[;,]", "a;b"), re.match(r"(.*?)=(.*)", "k=v").groups())
day = date(2023, 12, 30)
print([str(day + timedelta(days=n)) for n in range(3)], datetime(2023, 1, 2, 3, 4, tzinfo=timezone.utc).isoformat())
print(day.strftime("%a %d %b %Y"), (date(2024, 3, 1) - day).days, datetime.strptime("2023-01-02", "%Y-%m-%d").year)
print(sum([Decimal("1.10"), Decimal("2.2")]) * 3 / Decimal(7), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))
print(math.sqrt(2), math.floor(2.5), math.pi, statistics.mean([1, 2, 4]), reduce(lambda x, y: x * y, [1, 2, 3]))
random.random(), random.randint(1, 6), random.choice("abc"), random.shuffle([1, 2, 3])
time.time(), time.perf_counter(), datetime.now()


@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@dataclass
class Point:
    x: int
    y: int = 0


print(fib(30), Point(1).y, Point(1) == Point(1, 0))
reader = csv.DictReader(io.StringIO("a,b\\n1,2\\n3,4\\n"))
print(sum(int(row["b"]) for row in reader), file=sys.stderr)
path = Path(".casemate-rehearsal")
try:
    with open(path, "w") as file:
        file.write("one\\ntwo\\n")
    with open(path) as file:
        lines = [line.strip() for line in file]
    path.exists(), os.path.join("a", "b"), lines
    os.unlink(path)
except OSError:
    pass
rows[:5]
"""

# An exception that ends the program, so that the report of one is at hand.
_FAILURE = b"""\
def total(rows):
    return sum(row["price"] for row in rows)


orders = [{"prize": 3}, {"price": 4}]
print(total(orders))
"""

_NUMPY = b"""\
import numpy as np

a = np.arange(12, dtype=float).reshape(3, 4)
print(a.mean(axis=0), (a @ a.T).sum(), a[a > 5][:3], np.linspace(0, 1, 5), np.array([3, 1, 2]).argsort())
rng = np.random.default_rng()
rng.normal(size=3), np.random.rand(2), np.linalg.solve(np.eye(2), [1, 2]), np.concatenate([a, a]).std().round(3)
a
"""

_PANDAS = b"""\
import io

import pandas as pd

df = pd.read_csv(io.StringIO("day,team,score\\n2024-01-01,a,1.5\\n2024-01-02,b,2\\n2024-01-03,a,"), parse_dates=["day"])
df["double"] = df["score"] * 2
print(df.groupby("team")["score"].agg(["mean", "sum"]), df.dtypes, df.describe(), sep="\\n")
other = pd.DataFrame({"team": ["a", "b"], "name": ["ann", "bob"]})
merged = df.merge(other, on="team").sort_values("score", ascending=False)
print(merged[merged["score"] > 1].head(), merged["name"].value_counts(), merged.isna().sum())
merged.pivot_table(index="team", values="score", aggfunc="mean").to_csv(), df.to_dict("records")
df
"""

PROGRAMS = (_LANGUAGE, _LIBRARY, _FAILURE)


def programs() -> "tuple[bytes, ...]":
    """Those for what is loaded."""
    found: "tuple[bytes, ...]" = PROGRAMS
    if "numpy" in sys.modules:
        found += (_NUMPY,)
    if "pandas" in sys.modules:
        found += (_PANDAS,)
    return found
