"""A second opinion on policies, as plain and slow as it can be written: docs/policy.md turned into Python.

It shares nothing with the C++ code but that page.
"""

from __future__ import annotations

import tomllib
from fractions import Fraction
from typing import Any

from conditions import (
    Truth,
    Words,
    exact,
    glob_matches,
    parse_amount,
    parse_flow_test,
    parse_formula,
    parse_path,
    parse_test,
    reach,
)

STRICT = {"allow": 0, "ask": 1, "deny": 2}
TIER_ONE = ["spend", "message", "external", "irreversible", "regulated"]
OUTWARD = {"spend", "message", "external"}
ANNOTATIONS = ["destructive", "open-world", "writes"]


class Oracle:
    """One policy and one run of it."""

    def __init__(self, text: str, labels: list[str]) -> None:
        self.file = tomllib.loads(text)
        self.labels = set(labels)
        self.spent: dict[tuple[str, int], Any] = {}

    def effects(self, call: dict[str, Any]) -> tuple[set[str], set[str]]:
        """What file and catalogue say, and what the server's annotations add."""
        declared = set(call.get("effects", []))
        for pattern, effects in self.file.get("effects", {}).items():
            if glob_matches(pattern, call["name"]):
                declared |= {effects} if isinstance(effects, str) else set(effects)
        warned = {"irreversible"} if "destructive" in call.get("annotations", []) else set()
        return declared, warned - declared

    def tier(self, call: dict[str, Any]) -> int:
        """1 or 2."""
        declared, warned = self.effects(call)
        tiers = [tier for pattern, tier in self.file.get("tiers", {}).items() if glob_matches(pattern, call["name"])]
        if any(isinstance(tier, dict) for tier in tiers):
            return 2
        return 1 if declared | warned or 1 in tiers or call.get("tier") == 1 else 2

    def covers(self, target: str, call: dict[str, Any]) -> bool:
        """A pattern without its condition."""
        name, at, word = target.partition("@")
        if not glob_matches(name or "*", call["name"]):
            return False
        if not at:
            return True
        declared, warned = self.effects(call)
        if word == "tier1":
            return self.tier(call) == 1
        return word in declared | warned or word in call.get("annotations", [])

    def static(self, call: dict[str, Any]) -> str:
        """deny, then ask, then allow, then the default."""
        permissions = self.file.get("permissions", {})
        for decision in ("deny", "ask", "allow"):
            for pattern in permissions.get(decision, []):
                target, bracket, condition = pattern.partition("(")
                if not self.covers(target, call):
                    continue
                closed = self.tier(call) == 1 and call.get("from", "box") == "box"
                if decision == "allow" and closed and target != call["name"]:
                    continue
                truth: Truth = True
                if bracket:
                    truth = parse_formula(Words(condition[:-1]), parse_test)(call["arguments"])
                if truth or (truth is None and decision != "allow"):
                    return decision
        if permissions.get("allow") == []:
            return "deny"
        return str(self.file.get("default", "ask"))

    def named(self, name: str) -> bool:
        """Does an ask or allow rule name it?"""
        permissions = self.file.get("permissions", {})
        return any(
            pattern.partition("(")[0] == name for word in ("ask", "allow") for pattern in permissions.get(word, [])
        )

    def sinks(self, call: dict[str, Any]) -> set[str]:
        """The classes that a capability is a sink of."""
        listed = self.file.get("labels", {}).get("sinks")
        found = {
            kind
            for pattern, kind in (listed or {}).items()
            if pattern not in ("stdout", "result", "artifact") and glob_matches(pattern, call["name"])
        }
        if not found and (listed is None or self.effects(call)[0] & OUTWARD):
            found = {"external"}
        return found

    def flows(self, sinks: set[str], declared: set[str], warned: set[str]) -> list[str]:
        """The verdicts of the flow rules that apply."""
        found = []
        for rule in self.file.get("flow", []):
            holds = parse_formula(Words(rule["when"]), parse_flow_test)
            if holds((self.labels, sinks, declared)) or holds((self.labels, sinks, declared | warned)):
                found.append(rule["verdict"])
        return found

    def counted(self, kind: str, rule: dict[str, Any], arguments: Any) -> Any:
        """What a call would use of a budget: values, or (currency, number) pairs; None: that cannot be said."""
        ends = reach(arguments, parse_path(Words(rule["argument"])))
        if any(how != "there" for how, _, _ in ends):
            return None
        if kind == "distinct":
            values = [value for _, value, _ in ends]
            fits = all(type(value) is str and len(value.encode()) <= 1024 for value in values)
            return set(values) if fits else None
        limits = self.limits(rule)
        charges = []
        for _, value, holder in ends:
            number = exact(value)
            if number is None or number < 0:
                return None
            stated: Any = ""
            if "" not in limits:
                stated = holder.get("currency") if isinstance(holder, dict) else None
                if "currency" in rule:
                    stated = reach(arguments, parse_path(Words(rule["currency"])))[0][1]
                if type(stated) is not str or stated not in limits:
                    return None
            charges.append((stated, number))
        return charges

    @staticmethod
    def limits(rule: dict[str, Any]) -> dict[str, Fraction]:
        """Currency to the sum that is allowed."""
        sums = [rule["max"]] if isinstance(rule["max"], str) else rule["max"]
        parsed = [parse_amount(Words(text)) for text in sums]
        return {currency or "": number for number, currency, _ in parsed}

    def budgets(self, call: dict[str, Any], charge: bool) -> list[str]:
        """What the budgets say of a call; with `charge`, charges it instead."""
        found = []
        for kind in ("calls", "distinct", "sum"):
            for number, rule in enumerate(self.file.get("budgets", {}).get(kind, [])):
                if not self.covers(rule["of"], call):
                    continue
                key = (kind, number)
                if kind == "calls":
                    used = self.spent.get(key, 0)
                    beyond, after = used >= rule["max"], used + 1
                else:
                    beyond, after = self.budget_of_arguments(kind, rule, key, call["arguments"])
                if charge:
                    self.spent[key] = after
                elif beyond:
                    found.append(rule["beyond"])
        return found

    def budget_of_arguments(self, kind: str, rule: Any, key: Any, arguments: Any) -> tuple[bool, Any]:
        """Is it beyond, and what is used afterwards?"""
        counted = self.counted(kind, rule, arguments)
        if kind == "distinct":
            used = self.spent.get(key, set())
            if counted is None:
                return True, used
            return bool(counted - used) and len(used | counted) > rule["max"], used | counted
        sums = dict(self.spent.get(key, {}))
        if counted is None:
            return True, sums
        for currency, amount in counted:
            sums[currency] = sums.get(currency, Fraction(0)) + amount
        limits = self.limits(rule)
        return any(sums[currency] > limits[currency] for currency, _ in counted), sums

    def judge(self, call: dict[str, Any]) -> str:
        """The verdict on a call or a sink, which then takes effect unless it is denied."""
        if "sink" in call:
            listed = self.file.get("labels", {}).get("sinks") or {}
            sinks = {call["sink"]} | ({listed[call["sink"]]} if call["sink"] in listed else set())
            return max(["allow", *self.flows(sinks, set(), set())], key=STRICT.__getitem__)
        verdicts = [self.static(call), *self.flows(self.sinks(call), *self.effects(call))]
        if self.tier(call) == 1 and call.get("from", "box") == "box" and not self.named(call["name"]):
            verdicts.append("deny")
        verdicts += self.budgets(call, charge=False)
        verdict = max(verdicts, key=STRICT.__getitem__)
        if verdict != "deny":
            self.budgets(call, charge=True)
            self.deliver(call)
        return verdict

    def deliver(self, call: dict[str, Any]) -> None:
        """The labels of a result."""
        self.labels |= set(call.get("labels", []))
        sources = self.file.get("labels", {}).get("sources")
        if sources is None:
            self.labels.add("untrusted")
        for pattern, labels in (sources or {}).items():
            if glob_matches(pattern, call["name"]):
                self.labels |= {labels} if isinstance(labels, str) else set(labels)
