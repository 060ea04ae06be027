"""The programs of the rehearsal."""

PROGRAMS = (
    b"""\
import json, re, math
from collections import Counter, defaultdict
def f(n, *rest, key=None, **more):
    return [i * 2.5 for i in range(n)]
class Thing:
    kind = "x"
    def __init__(self, name): self.name = name
    def __repr__(self): return f"Thing({self.name!r})"
print(f(5), Thing("a"), {k: v for k, v in zip("abc", range(3))}, sep="; ")
try:
    {}["missing"]
except KeyError as error:
    print("caught", error)
print(json.dumps({"a": [1, 2.5, None, True, "x"]}), json.loads('{"b": [1, 2.5, null, "y"]}'))
print(re.findall(r"(\\w+)@(\\w+)", "me@here you@there"))
print(sum(x * x for x in range(10)), sorted(["b", "a"], key=str.lower), max(3, 4))
""",
    b"""\
x = [n for n in range(300)]
x[-1] + 1.5
""",
    b"""\
def g(row):
    return row["absent"]
g({"present": 1})
""",
)
