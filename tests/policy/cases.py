"""Random policies and runs, made so that rules and calls meet often."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from conditions import Number
from oracle import ANNOTATIONS, TIER_ONE

NAMES = ["a.x", "a.y", "b.pay", "b.send", "c", "a.x.y"]
GLOBS = ["*", "a.*", "?.x", "b.*", "b.p*", "*y", "?", "a.?", *NAMES]
TEXTS = ["", "a", "b", "ab", "a@x.org", "b@y.org", "100", "1e2", "01", "é", "EUR", "USD", "a'b", "null", "*"]
NUMBERS = ["0", "-0", "1", "-1", "100", "1e2", "100.0", "99.99", "0.1", "1e400", "1e-400", "1e999999999",
           "100.00000000000000000000000000001", "9007199254740993", "9007199254740992"]
PATHS = ["to", "amount", "n", "deep.to", "deep.amount", "deep.deep.n", "'odd key'", "'in'"]
MANY = ["list[*]", "items[*].amount", "items[*].to", "deep.list[*]", "items[*].list[*]"]
GLOB_TEXTS = ["*", "a*", "*a", "a?", "?", "*@x.org", "", "*a*b*", "\\*", "é", "*0*"]
LABELS = ["untrusted", "private", "odd"]
SINKS = ["external", "inner"]


def quoted(pick: random.Random, text: str) -> str:
    """A string of a condition."""
    quote = pick.choice("'\"")
    return quote + text.replace(quote, quote * 2) + quote


def number(pick: random.Random) -> str:
    """A number that a file may have."""
    return pick.choice([one for one in NUMBERS if one != "1e999999999"])


def amount(pick: random.Random, path: str) -> str:
    """A number, perhaps with a currency."""
    text = number(pick)
    if pick.random() < 0.4:
        text += " " + pick.choice(["EUR", "USD"])
        if path.endswith("[*]") or pick.random() < 0.3:
            text += " from " + pick.choice(["currency", "deep.currency", "to"])
    return text


def test(pick: random.Random) -> str:
    """One test of a condition."""
    if pick.random() < 0.15:
        return f"present({pick.choice(PATHS + MANY)})"
    many = pick.random() < 0.3
    path = pick.choice(MANY if many else PATHS)
    left = (pick.choice(["any ", "all "]) if many else "") + path
    kind = pick.randrange(5)
    if kind == 0:
        return f"{left} {pick.choice(['<', '<=', '>', '>=', '==', '!='])} {amount(pick, path)}"
    if kind == 1:
        literal = pick.choice([quoted(pick, pick.choice(TEXTS)), "true", "false", "null"])
        return f"{left} {pick.choice(['==', '!='])} {literal}"
    if kind == 2:
        return f"{left} {pick.choice(['~', '!~'])} {quoted(pick, pick.choice(GLOB_TEXTS))}"
    texts = pick.random() < 0.6
    items = [quoted(pick, pick.choice(TEXTS)) if texts else number(pick) for _ in range(pick.randint(1, 3))]
    return f"{left} {pick.choice(['in', 'not in'])} [{', '.join(items)}]"


def formula(pick: random.Random, one: Any, depth: int = 3) -> str:
    """Tests put together."""
    if depth == 0 or pick.random() < 0.4:
        return str(one(pick))
    kind = pick.randrange(4)
    if kind == 0:
        return f"not {formula(pick, one, 0)}"
    if kind == 1:
        return f"({formula(pick, one, depth - 1)})"
    return f"{formula(pick, one, depth - 1)} {pick.choice(['and', 'or'])} {formula(pick, one, depth - 1)}"


def pattern(pick: random.Random, classes: bool, conditions: bool = True) -> str:
    """A pattern of a permission."""
    target = pick.choice(GLOBS)
    if classes and pick.random() < 0.2:
        target = pick.choice(["", target]) + "@" + pick.choice(TIER_ONE + ANNOTATIONS + ["tier1"])
    if conditions and pick.random() < 0.7:
        target += f"({formula(pick, test)})"
    return target


def flow_test(pick: random.Random) -> str:
    """One test of a flow rule."""
    kind = pick.randrange(3)
    if kind == 0:
        return f"{pick.choice(LABELS)} {pick.choice(['in', 'in', 'not in'])} run"
    if kind == 1:
        return f"sink {pick.choice(['==', '!='])} {pick.choice([*SINKS, 'stdout'])}"
    return f"effect {pick.choice(['==', '!='])} {pick.choice(TIER_ONE)}"


def listed(values: list[str]) -> str:
    """A TOML list of strings: JSON's strings are TOML's."""
    return json.dumps(values, ensure_ascii=False)


def some(pick: random.Random, make: Any, most: int) -> list[Any]:
    """0 to `most` made ones."""
    return [make() for _ in range(pick.randint(0, most))]


def budget(pick: random.Random, kind: str) -> list[str]:
    """One budget."""
    lines = [f"[[budgets.{kind}]]", f"of = {json.dumps(pattern(pick, True, False))}"]
    lines.append(f"beyond = \"{pick.choice(['ask', 'deny'])}\"")
    if kind == "sum":
        path = pick.choice(["amount", "deep.amount", "items[*].amount"])
        sums = pick.choice([["100 EUR"], ["100 EUR", "1e3 USD"], ["250.5"]])
        lines.append(f"max = {json.dumps(sums[0]) if len(sums) == 1 else listed(sums)}")
        if "EUR" in sums[0] and pick.random() < 0.3:
            lines.append('currency = "deep.currency"')
    else:
        path = pick.choice(["to", "deep.to", "list[*]"])
        lines.append(f"max = {pick.randint(0, 3)}")
    if kind != "calls":
        lines.append(f"argument = {json.dumps(path)}")
    return lines


def labels(pick: random.Random) -> list[str]:
    """Sources and sinks, each absent, empty or there."""
    lines = ["[labels]", 'others = ["odd"]']
    if pick.random() < 0.7:
        lines.append("[labels.sources]")
        for name in pick.sample(GLOBS, pick.randint(0, 3)):
            lines.append(f"{json.dumps(name)} = {listed(pick.sample(LABELS, pick.randint(0, 2)))}")
    if pick.random() < 0.7:
        lines.append("[labels.sinks]")
        for name in pick.sample([*GLOBS, "stdout", "result"], pick.randint(0, 3)):
            lines.append(f"{json.dumps(name)} = \"{pick.choice(SINKS)}\"")
    return lines


def policy(pick: random.Random) -> str:
    """A file without a mistake."""
    lines = []
    if pick.random() < 0.5:
        lines.append(f"default = \"{pick.choice(['ask', 'deny'])}\"")
    if pick.random() < 0.95:
        lines.append("[permissions]")
        for decision, most in (("deny", 1), ("ask", 1), ("allow", 4)):
            if pick.random() < 0.85:
                made = some(pick, lambda decision=decision: pattern(pick, decision != "allow"), most)
                lines.append(f"{decision} = {listed(made)}")
    lines += labels(pick)
    effects = pick.sample(GLOBS, pick.randint(0, 2)) if pick.random() < 0.5 else []
    if effects:
        lines.append("[effects]")
        lines += [f"{json.dumps(name)} = {listed(pick.sample(TIER_ONE, pick.randint(0, 2)))}" for name in effects]
    if pick.random() < 0.3:
        lines.append("[tiers]")
        for name in pick.sample(GLOBS, pick.randint(0, 2)):
            override = name in NAMES and pick.random() < 0.5
            lines.append(f"{json.dumps(name)} = " + ('{ tier = 2, override = "so" }' if override else "1"))
    for _ in range(pick.choice([0, 0, 1, 2])):
        when = formula(pick, flow_test)
        if '"inner"' not in "".join(lines):
            when = when.replace("inner", "external")
        verdict = pick.choice(["ask", "deny"])
        lines.append(f"[[flow]]\nwhen = {json.dumps(when)}\nverdict = \"{verdict}\"\nreason = \"so\"")
    if pick.random() < 0.4:
        for kind in pick.sample(["calls", "distinct", "sum"], pick.randint(1, 3)):
            lines += budget(pick, kind)
    return "\n".join(lines) + "\n"


def value(pick: random.Random, depth: int = 2) -> Any:
    """Any JSON value; numbers keep their text."""
    kind = pick.randrange(8 if depth else 5)
    if kind < 2:
        return pick.choice(TEXTS)
    if kind < 4:
        return Number(pick.choice(NUMBERS))
    if kind == 4:
        return pick.choice([True, False, None])
    if kind == 5:
        return some(pick, lambda: value(pick, depth - 1), 3)
    return arguments(pick, depth - 1)


def arguments(pick: random.Random, depth: int = 2) -> dict[str, Any]:
    """Arguments whose types are often those that conditions want."""
    made: dict[str, Any] = {}
    usual: dict[str, Callable[[], Any]] = {
        "to": lambda: pick.choice(TEXTS),
        "amount": lambda: Number(pick.choice(NUMBERS)),
        "currency": lambda: pick.choice(["EUR", "EUR", "USD", "GBP"]),
        "n": lambda: Number(pick.choice(NUMBERS)),
        "odd key": lambda: pick.choice([True, False, None]),
        "in": lambda: pick.choice(TEXTS),
        "list": lambda: some(pick, lambda: pick.choice(TEXTS), 3),
    }
    if depth:
        usual["deep"] = lambda: arguments(pick, depth - 1)
        usual["items"] = lambda: some(pick, lambda: arguments(pick, 0), 3)
    for key, make in usual.items():
        if pick.random() < 0.75:
            made[key] = make() if pick.random() < 0.8 else value(pick, max(depth - 1, 0))
    return made


def call(pick: random.Random) -> dict[str, Any]:
    """One call, or one way out."""
    if pick.random() < 0.1:
        return {"sink": pick.choice(["stdout", "result", "artifact"])}
    made: dict[str, Any] = {"name": pick.choice(NAMES), "arguments": arguments(pick)}
    if pick.random() < 0.3:
        made["from"] = pick.choice(["box", "model"])
    if pick.random() < 0.2:
        made["effects"] = pick.sample(TIER_ONE, pick.randint(0, 2))
    if pick.random() < 0.2:
        made["annotations"] = pick.sample(ANNOTATIONS, pick.randint(0, 2))
    if pick.random() < 0.1:
        made["tier"] = pick.choice([1, 2])
    if pick.random() < 0.1:
        made["labels"] = [pick.choice(LABELS)]
    return made


def as_json(content: Any) -> str:
    """JSON in which a Number is a number, as it is written."""
    if isinstance(content, Number):
        return str(content)
    if isinstance(content, list):
        return "[" + ",".join(as_json(item) for item in content) + "]"
    if isinstance(content, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{as_json(item)}" for key, item in content.items()) + "}"
    return json.dumps(content)
