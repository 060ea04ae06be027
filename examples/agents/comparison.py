"""What the three examples share: their options, a table of their arms, and conditions that the arms must meet."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import tokenizer
import transcript
from arms import Did
from box import ROOT, Boxes

HEAD = ["arm", "turns", "calls", "verdicts", "effects", "tokens", "tokens read", "bytes", "USD", "USD cached", "wall s"]


def fewer(ours: int, theirs: int) -> str:
    """By how much ours is less: "95.20 % fewer", or what it is more."""
    percent = (theirs - ours) / theirs * 100
    return f"{percent:.2f} % fewer" if percent >= 0 else f"{-percent:.0f} % more"


class Comparison:
    """Arms that are given the same task. One thread; `with` ends the tokenizer."""

    def __init__(self, name: str, about: str, answer: str) -> None:
        """`about`: the first line of --help. `answer`: the head of the last column."""
        parser = argparse.ArgumentParser(
            description=about,
            epilog="The tokenizer is fetched by tools/tokenizer. CASEMATE_BIN names the casemate to run "
            "(build/release/bin/casemate). docs/code-mode.md says what is counted.",
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")
        parser.add_argument("--price", type=_price, default=transcript.ASSUMED, metavar="IN/OUT/WRITE/READ",
                            help=f"in USD for a million tokens; without it: {transcript.ASSUMED}")  # fmt: skip
        parser.add_argument("--folder", type=Path, help="a new folder for logs (build/examples/…)")
        self.given = parser.parse_args()
        usual = ROOT / f"build/examples/{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        self.folder: Path = (self.given.folder or usual).resolve()
        self.found: dict[str, dict[str, Any]] = {}
        self._name = name
        self._rows = [[*HEAD, answer]]
        self._failed: list[str] = []
        self._tokenizer = tokenizer.Tokenizer()

    def boxes(self, name: str, grants: Path, options: list[str] | None = None) -> Boxes:
        """For one arm: its logs are its own. `options` are of `casemate run`."""
        return Boxes(grants, self.folder / name, options or [])

    def add(self, name: str, did: Did, boxes: Boxes, calls: int, begun: float, answer: str) -> None:
        """An arm that is through. `calls` is how many verdicts and effects it must have; `begun` is of the monotonic clock."""
        wall = time.monotonic() - begun
        cost = did.said.cost(self._tokenizer, self.given.price)
        verdicts, effects = len(boxes.verdicts()), len(boxes.effects())
        self.must((verdicts, effects) == (calls, calls), f"{name}: {verdicts} verdicts, {effects} effects of {calls} calls")
        self.found[name] = {"turns": cost.turns, "tokens": cost.entered}
        numbers = [cost.turns, calls, verdicts, effects, cost.entered, cost.read, cost.bytes]
        money = [f"{cost.usd:.4f}", f"{cost.usd_cached:.4f}", f"{wall:.1f}"]
        self._rows.append([name, *(f"{number:,}" for number in numbers), *money, answer])

    def fewer(self, ours: str, theirs: str) -> str:
        return fewer(self.found[ours]["tokens"], self.found[theirs]["tokens"])

    def cut(self, ours: str, theirs: str) -> float:
        """Percent that our tokens are less than theirs; negative when they are more."""
        return 100 - 100 * self.found[ours]["tokens"] / self.found[theirs]["tokens"]

    def must(self, holds: bool, otherwise: str) -> None:
        """A condition of this example; `otherwise` says how it was missed."""
        if not holds:
            self._failed.append(otherwise)

    def show(self) -> None:
        """The table, and what has to be known to read it."""
        widths = [max(len(row[n]) for row in self._rows) for n in range(len(self._rows[0]))]
        for row in self._rows:
            numbers = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
            print("  ".join([row[0].ljust(widths[0]), *numbers, row[-1]]).rstrip())
        print(f"tokens: {tokenizer.NAME}; each text once. tokens read: what each turn reads again, too")
        print(f"USD: the price is {self.given.price}")
        print("wall: the boxes alone; no model takes part")

    def end(self) -> int:
        """The exit code, after what was missed, and with --json the object as the last line."""
        for line in self._failed:
            print(f"{self._name}: {line}", file=sys.stderr)
        if self.given.json:
            print(json.dumps(self.found), flush=True)
        return 1 if self._failed else 0

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, *_: object) -> None:
        self._tokenizer.close()


def _price(text: str) -> transcript.Price:
    try:
        return transcript.parse_price(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
