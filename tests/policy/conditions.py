"""The conditions of docs/policy.md, read and evaluated as plainly as can be. Truth is True, False or None: unknown."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<number>" + NUMBER.pattern + r")"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|(?P<sign>==|!=|<=|>=|!~|[<>~=()\[\]{},.*:@]))"
)
PLACES = 2000

Truth = bool | None


class Number(str):
    """A JSON number as it was written, so that none is rounded."""


def exact(value: Any) -> Fraction | None:
    """The number that a JSON number, or a string that spells one, stands for; None for anything else."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        return None
    mantissa, _, exponent = value.lower().partition("e")
    digits = mantissa.replace(".", "").lstrip("-")
    if not digits.strip("0"):
        return Fraction(0)
    shift = int(exponent or 0) - (len(mantissa.partition(".")[2]))
    top = len(digits.lstrip("0")) + shift
    bottom = len(digits) - len(digits.rstrip("0")) + shift
    if top > PLACES or bottom < -PLACES:
        return None
    number = Fraction(int(digits)) * Fraction(10) ** shift
    return -number if mantissa.startswith("-") else number


def kleene_not(a: Truth) -> Truth:
    """Unknown stays unknown."""
    return None if a is None else not a


def kleene_all(truths: list[Truth]) -> Truth:
    """False if one is, else unknown if one is."""
    if any(truth is False for truth in truths):
        return False
    return None if any(truth is None for truth in truths) else True


def kleene_any(truths: list[Truth]) -> Truth:
    """True if one is, else unknown if one is."""
    if any(truth is True for truth in truths):
        return True
    return None if any(truth is None for truth in truths) else False


def glob_matches(pattern: str, text: str) -> bool:
    """By trying everything: a table of which prefixes match which."""
    items: list[tuple[str, bool]] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
            items.append((pattern[at], False))
        else:
            items.append((pattern[at], pattern[at] in "*?"))
        at += 1
    row = [True] + [False] * len(text)
    for character, wild in items:
        new = [False] * (len(text) + 1)
        for end in range(len(text) + 1):
            if wild and character == "*":
                new[end] = any(row[: end + 1])
            elif end > 0:
                new[end] = row[end - 1] and ((wild and character == "?") or character == text[end - 1])
        row = new
    return row[-1]


class Words:
    """The tokens of a condition."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match, text[at:]
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind]))
            at = match.end()
        self.tokens.append(("end", ""))

    def take(self, *wanted: str) -> str | None:
        """The next token if it is one of these signs or names."""
        kind, text = self.tokens[0]
        if kind in ("sign", "name") and text in wanted:
            self.tokens.pop(0)
            return text
        return None

    def next(self) -> tuple[str, str]:
        """The next token."""
        return self.tokens.pop(0)


def unquoted(text: str) -> str:
    """What a string in quotes says."""
    return text[1:-1].replace(text[0] * 2, text[0])


Test = Callable[[Any], Truth]
MISSING, EMPTY, OTHER = "missing", "empty", "other"


def parse_path(words: Words) -> list[str | None]:
    """Steps: a member's name, or None for `[*]`."""
    steps: list[str | None] = []
    while True:
        kind, text = words.next()
        steps.append(unquoted(text) if kind == "string" else text)
        while words.take("["):
            assert words.take("*") and words.take("]")
            steps.append(None)
        if not words.take("."):
            return steps


def reach(value: Any, steps: list[str | None], holder: Any = None) -> list[tuple[str, Any, Any]]:
    """Every end of the path: ("there" or why not, value, the object that holds it)."""
    if not steps:
        return [("there", value, holder)]
    if steps[0] is None:
        if not isinstance(value, list):
            return [(OTHER, None, None)]
        if not value:
            return [(EMPTY, None, None)]
        return [end for item in value for end in reach(item, steps[1:])]
    if not isinstance(value, dict):
        return [(OTHER, None, None)]
    if steps[0] not in value:
        return [(MISSING, None, None)]
    return reach(value[steps[0]], steps[1:], value)


def equal(value: Any, literal: Any) -> Truth:
    """`==` by the type of the literal."""
    if literal is None:
        return value is None
    if isinstance(literal, bool):
        return value == literal if isinstance(value, bool) else None
    if isinstance(literal, Fraction):
        number = exact(value)
        return None if number is None else number == literal
    return value == literal if isinstance(value, str) and not isinstance(value, Number) else None


def parse_amount(words: Words) -> tuple[Fraction, str | None, list[str | None] | None]:
    """A number, its currency, and where a call states that."""
    number = exact(words.next()[1])
    assert number is not None
    currency, origin = None, None
    if words.tokens[0][0] == "name" and words.tokens[0][1] not in ("and", "or"):
        currency = words.next()[1]
        if words.take("from"):
            origin = parse_path(words)
    return number, currency, origin


def states(currency: str | None, origin: list[str | None] | None, holder: Any, arguments: Any) -> bool:
    """Does the call say this currency?"""
    if currency is None:
        return True
    if origin is not None:
        how, stated, _ = reach(arguments, origin)[0]
        return how == "there" and type(stated) is str and stated == currency
    return isinstance(holder, dict) and type(holder.get("currency")) is str and holder["currency"] == currency


def parse_literal(words: Words) -> Any:
    """A string, number, boolean or null."""
    kind, text = words.next()
    if kind == "string":
        return unquoted(text)
    if kind == "number":
        return exact(text)
    return {"true": True, "false": False, "null": None}[text]


def parse_test(words: Words) -> Test:
    """One test of a condition."""
    if words.take("present"):
        assert words.take("(")
        wanted = parse_path(words)
        assert words.take(")")
        return lambda arguments: kleene_any(
            [None if how == OTHER else how == "there" for how, _, _ in reach(arguments, wanted)]
        )
    each = words.take("any", "all")
    path = parse_path(words)
    negated = bool(words.take("not"))
    sign = words.take("<", "<=", ">", ">=", "==", "!=", "~", "!~", "in")
    one = parse_comparison(words, sign)
    negated = negated or sign in ("!=", "!~")

    def test(arguments: Any) -> Truth:
        truths = []
        for how, value, holder in reach(arguments, path):
            truth = one(value, holder, arguments) if how == "there" else None
            truths.append(kleene_not(truth) if negated else truth)
        return kleene_all(truths) if each == "all" else kleene_any(truths)

    return test


def parse_comparison(words: Words, sign: str | None) -> Callable[[Any, Any, Any], Truth]:
    """What one value is compared with; before any negation."""
    if sign == "in":
        words.take("[")
        literals = [parse_literal(words)]
        while words.take(","):
            literals.append(parse_literal(words))
        words.take("]")
        return lambda value, _holder, _arguments: kleene_any([equal(value, literal) for literal in literals])
    if sign in ("~", "!~"):
        pattern = unquoted(words.next()[1])
        return lambda value, _holder, _arguments: (
            glob_matches(pattern, value) if isinstance(value, str) and not isinstance(value, Number) else None
        )
    if sign in ("==", "!=") and words.tokens[0][0] != "number":
        literal = parse_literal(words)
        return lambda value, _holder, _arguments: equal(value, literal)
    number, currency, origin = parse_amount(words)

    def compare(value: Any, holder: Any, arguments: Any) -> Truth:
        found = exact(value)
        if found is None or not states(currency, origin, holder, arguments):
            return None
        return {
            "<": found < number, "<=": found <= number, ">": found > number, ">=": found >= number,
            "==": found == number, "!=": found == number,
        }[sign or ""]

    return compare


def parse_formula(words: Words, parse_one: Callable[[Words], Test]) -> Test:
    """`or` over `and` over `not`."""

    def unary() -> Test:
        if words.take("not"):
            inner = unary()
            return lambda given: kleene_not(inner(given))
        if words.take("("):
            inside = alternatives()
            assert words.take(")")
            return inside
        return parse_one(words)

    def conjunction() -> Test:
        parts = [unary()]
        while words.take("and"):
            parts.append(unary())
        return lambda given: kleene_all([part(given) for part in parts])

    def alternatives() -> Test:
        parts = [conjunction()]
        while words.take("or"):
            parts.append(conjunction())
        return lambda given: kleene_any([part(given) for part in parts])

    formula = alternatives()
    assert words.tokens[0][0] == "end", words.tokens
    return formula


def parse_flow_test(words: Words) -> Test:
    """A test on (labels, sinks, effects)."""
    kind, text = words.next()
    if text in ("sink", "effect") and kind == "name":
        negated = words.take("==", "!=") == "!="
        word = words.next()[1].strip("'\"")
        where = 1 if text == "sink" else 2
        return lambda given: (word in given[where]) != negated
    absent = bool(words.take("not"))
    assert words.take("in") and words.take("run")
    label = text.strip("'\"")
    return lambda given: (label in given[0]) != absent
