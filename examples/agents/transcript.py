"""A conversation of a model with tools, as text, and what it comes to in tokens.

How it is counted. Each text is counted once by the tokenizer: the system text, each tool's name, description and schema,
what the user asks, each call (its id, name and arguments as JSON), each result (its id and its text as it is, without
the escapes of a JSON string), what the model says. A word for each message's role is counted too; an API's own framing is
a few tokens more a message, for all arms alike.

    entered   every text once: what the context holds at the end. The model's own words are in it
    written   of these, what the model itself wrote: calls, programs, answers
    read      what all turns read together: each turn reads the whole context that there is by then, again
    price     with `read` at the price of input; or with a cache of the prefix that the turn before has read: what is
              new is written to the cache, the rest is read from it
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tokenizer import Tokenizer


@dataclass(frozen=True)
class Price:
    """USD for a million tokens."""

    name: str
    input: float
    output: float
    cache_write: float
    cache_read: float

    def __str__(self) -> str:
        return (
            f"{self.name}: USD {self.input:g} in, {self.output:g} out, cache {self.cache_write:g} written and "
            f"{self.cache_read:g} read, a million tokens"
        )


# An assumption, not a quotation: numbers of the order that hosted models cost. Give your own with --price.
ASSUMED = Price("assumed", 3.0, 15.0, 3.75, 0.30)


def parse_price(text: str) -> Price:
    """IN/OUT/CACHE_WRITE/CACHE_READ, in USD for a million tokens. Raises ValueError."""
    numbers = [float(part) for part in text.split("/")]
    if len(numbers) != 4 or min(numbers) < 0:
        raise ValueError(f"a price is IN/OUT/CACHE_WRITE/CACHE_READ in USD for a million tokens, not {text!r}")
    return Price("given", *numbers)


@dataclass(frozen=True)
class Cost:
    """What a conversation comes to; the module says what the fields are."""

    turns: int
    entered: int
    written: int
    read: int
    bytes: int  # of the texts that entered
    usd: float
    usd_cached: float


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Conversation:
    """What was said, in order. A turn is one request to the model and what it writes then."""

    def __init__(self, system: str, tools: list[dict[str, Any]], user: str) -> None:
        self._new = [system, *(compact(tool) for tool in tools), "user", user]  # not read yet
        self._turns: list[tuple[list[str], list[str]]] = []  # what each has new to read, and what it writes
        self.results: list[str] = []  # of all calls, in order

    def says(self, text: str = "", calls: list[dict[str, Any]] | None = None) -> None:
        """One turn: the model reads all that there is, and writes this."""
        written = ["assistant", *([text] if text else [])]
        written += [f"{call['id']} {call['name']} {compact(call['input'])}" for call in calls or []]
        self._turns.append((self._new, written))
        self._new = []

    def gets(self, calls: list[dict[str, Any]], results: list[str]) -> None:
        """What the calls of the last turn gave."""
        assert len(calls) == len(results)
        self._new = ["user", *(f"{call['id']}\n{result}" for call, result in zip(calls, results, strict=True))]
        self.results += results

    def cost(self, tokenizer: Tokenizer, price: Price) -> Cost:
        context = entered = written = read = size = 0
        usd = usd_cached = 0.0
        for new, said in self._turns:
            fresh, wrote = (sum(tokenizer.count(text) for text in texts) for texts in (new, said))
            size += sum(len(text.encode()) for text in new + said)
            # What the turn before wrote was not in the cache either.
            uncached = fresh + (entered - context)
            usd_cached += (context * price.cache_read + uncached * price.cache_write + wrote * price.output) / 1e6
            context += uncached
            read += context
            usd += (context * price.input + wrote * price.output) / 1e6
            entered += fresh + wrote
            written += wrote
        return Cost(len(self._turns), entered, written, read, size, usd, usd_cached)
