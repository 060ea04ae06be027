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
        self._seconds: dict[tuple[str, str], float] = {}  # of whole suites, by user and suite
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
        elif kind == "suite":
            self._seconds[report["who"], report["suite"]] = float(report["seconds"])
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
        print(f"{'user':8} {'suite':8} {'passed':>7} {'failed':>7} {'skipped':>7} {'took':>9}")
        counts: dict[tuple[str, str], Counter[str]] = {}
        for result in self._results:
            of = counts.setdefault((str(result["who"]), str(result["suite"])), Counter())
            of[str(result["result"])] += int(result.get("count", 1))
        for (who, suite), count in counts.items():
            took = f"{self._seconds[who, suite]:.0f} s" if (who, suite) in self._seconds else ""
            print(f"{who:8} {suite:8} {count['pass']:7} {count['FAIL']:7} {count['skip']:7} {took:>9}")
        total: Counter[str] = sum(counts.values(), Counter())
        if failed:
            print("\nfailed:")
            for result in failed:
                self._print(result)
        print(f"\n{total['pass']} passed, {total['FAIL']} failed, {total['skip']} skipped")
        if not self._ended:
            print("the session in the machine did not come to its end; console.log may say why")
            return 3
        return 1 if failed or not total["pass"] else 0
