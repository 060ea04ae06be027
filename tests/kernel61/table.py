"""What the guest reports, as lines while it works and as a table at the end."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any


def printable(text: str) -> str:
    """Guest text is data: without control characters, one line."""
    return "".join(x if x.isprintable() else " " for x in text)


class Table:
    """Collects the reports of one session."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._texts: list[tuple[str, str]] = []
        self._ended = False

    def on_report(self, report: dict[str, Any]) -> None:
        kind = report.get("kind")
        if kind == "result":
            self._results.append(report)
            self._print(report)
        elif kind == "facts":
            for name, value in report["facts"].items():
                print(f"  {name:32} {printable(str(value))}")
        elif kind in ("doctor", "inside"):
            self._texts.append(
                (f"casemate doctor{' --inside' if kind == 'inside' else ''}, as {report['who']}", str(report["text"]))
            )
        elif kind == "end":
            self._ended = True
        sys.stdout.flush()

    def _print(self, result: dict[str, Any]) -> None:
        line = f"{result['result']:4} {result['who']:7} {float(result['seconds']):7.1f} s  "
        line += printable(str(result["name"]))
        detail = printable(str(result.get("detail", "")))
        print(f"{line}{': ' + detail if detail else ''}")

    def finish(self) -> int:
        """Prints the sum; the exit code of the whole."""
        for title, text in self._texts:
            print(f"\n{title}:")
            for line in text.splitlines():
                print(f"  {printable(line)}")
        failed = [result for result in self._results if result["result"] == "FAIL"]
        print()
        for who in sorted({str(result["who"]) for result in self._results}):
            count = Counter(str(result["result"]) for result in self._results if result["who"] == who)
            print(f"{who:8} {count['pass']} passed, {count['FAIL']} failed, {count['skip']} skipped")
        if failed:
            print("\nfailed:")
            for result in failed:
                self._print(result)
        if not self._ended:
            print("the session in the machine did not come to its end; console.log may say why")
            return 3
        return 1 if failed else 0
