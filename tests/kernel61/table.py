"""What the guest reports, as lines while it works and as a table at the end."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any


def printable(text: str) -> str:
    """Guest text is data: without control characters, one line."""
    return "".join(x if x.isprintable() else " " for x in text)


_HEAD = "Written by `tests/kernel61/run --record`. Times are the machine's own. [README.md](README.md) says more."
# The facts that are in the document.
_SHOWN = ("kernel", "systemd", "security modules", "controllers", "enabled for the user's manager", "stood still")


def _cell(text: str) -> str:
    """Text in a table's cell. Where a checkout lies is nobody's business: unit tests name their sources by it."""
    return re.sub(r"/\S*/(?=src/)", "", printable(text)).replace("|", "\\|")


class Table:
    """Collects the reports of one session."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._texts: list[tuple[str, str]] = []
        self._seconds: dict[tuple[str, str], float] = {}  # of whole suites, by user and suite
        self._facts: dict[str, str] = {}
        self._ended = False

    def on_report(self, report: dict[str, Any]) -> None:
        kind = report.get("kind")
        if kind == "result":
            self._results.append(report)
            self._print(report)
        elif kind == "facts":
            self._facts = {name: printable(str(value)) for name, value in report["facts"].items()}
            for name, value in self._facts.items():
                print(f"  {name:32} {value}")
        elif kind in ("doctor", "inside"):
            self._texts.append(
                (f"casemate doctor{' --inside' if kind == 'inside' else ''}, as {report['who']}", str(report["text"]))
            )
        elif kind == "suite":
            self._seconds[report["who"], report["suite"]] = float(report["seconds"])
        elif kind == "end":
            self._ended = True
            pauses = [float(seconds) for seconds in report.get("pauses", [])]
            self._facts["stood still"] = f"{len(pauses)} times, {sum(pauses):.0f} s in all" if pauses else "never"
            print(f"  {'stood still':32} {self._facts['stood still']}")
        sys.stdout.flush()

    def _print(self, result: dict[str, Any]) -> None:
        line = f"{result['result']:4} {result['who']:7} {float(result['seconds']):7.1f} s  "
        line += printable(str(result["name"]))
        detail = printable(str(result.get("detail", "")))
        print(f"{line}{': ' + detail if detail else ''}")

    def _those(self, result: str) -> list[dict[str, Any]]:
        return [one for one in self._results if one["result"] == result]

    def _counts(self) -> dict[tuple[str, str], Counter[str]]:
        """How often each result was, by user and suite."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for result in self._results:
            of = counts.setdefault((str(result["who"]), str(result["suite"])), Counter())
            of[str(result["result"])] += int(result.get("count", 1))
        return counts

    def _took(self, who: str, suite: str) -> str:
        return f"{self._seconds[who, suite]:.0f} s" if (who, suite) in self._seconds else ""

    def markdown(self, about: dict[str, str]) -> str:
        """The results as a document. `about` says what was run; what the host is comes from the session."""
        rows = about | {name: self._facts[name] for name in _SHOWN if name in self._facts}
        lines = ["# Results of the last complete run", "", _HEAD, "", "| | |", "|---|---|"]
        lines += [f"| {name} | {_cell(value)} |" for name, value in rows.items()]
        lines += ["", "| suite | user | passed | failed | skipped | took |", "|---|---|---|---|---|---|"]
        counts = self._counts()
        for (who, suite), count in counts.items():
            numbers = " | ".join(str(count[result]) for result in ("pass", "FAIL", "skip"))
            lines.append(f"| {suite} | {who} | {numbers} | {self._took(who, suite)} |")
        total: Counter[str] = sum(counts.values(), Counter())
        lines.append(f"| all | | {total['pass']} | {total['FAIL']} | {total['skip']} | |")
        for title, result in (("Failed", "FAIL"), ("Skipped", "skip")):
            found = self._those(result)
            lines += ["", f"## {title}", ""] + ([] if found else ["Nothing."])
            lines += ["| suite | user | test | why |", "|---|---|---|---|"] if found else []
            for one in found:
                cells = (one["suite"], one["who"], f"`{one['name']}`", str(one.get("detail", ""))[:300])
                lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
        for title, text in self._texts:
            if "--inside" not in title:
                lines += ["", f"## {title}", "", "```", *(printable(x).rstrip() for x in text.splitlines()), "```"]
        return "\n".join(lines) + "\n"

    def finish(self) -> int:
        """Prints the sum; the exit code of the whole."""
        for title, text in self._texts:
            print(f"\n{title}:")
            for line in text.splitlines():
                print(f"  {printable(line)}")
        failed = self._those("FAIL")
        counts = self._counts()
        print()
        print(f"{'user':8} {'suite':10} {'passed':>7} {'failed':>7} {'skipped':>7} {'took':>9}")
        for (who, suite), count in counts.items():
            took = self._took(who, suite)
            print(f"{who:8} {suite:10} {count['pass']:7} {count['FAIL']:7} {count['skip']:7} {took:>9}")
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
