"""Runs programs in boxes by `casemate run`, and tells what both sides wrote down about their calls."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# One turn of a model that calls tools itself. casemate has no way yet to call a capability without a program, so the
# harness makes such calls by this one: the same grants, the same policy, the same log; all calls of a turn in one box.
CALLS = """
import json
from concurrent.futures import ThreadPoolExecutor

from casemate import tools

calls = json.loads(open("calls.json").read())


def told(call):
    return json.dumps(tools[call["name"]](**call["input"]), separators=(",", ":"), default=str)


with ThreadPoolExecutor(min(len(calls), 64)) as pool:
    open("told.json", "w").write(json.dumps(list(pool.map(told, calls))))
"""

# What a program's author is told of the capabilities. Looking has no effect: it is neither judged nor recorded.
DESCRIBE = "from casemate import tools\nprint('\\n'.join(tools.describe(found['name']) for found in tools.search()))"


@dataclass
class Boxes:
    """The grants of one folder (tools.toml, policy.toml), with a log of their own. One thread."""

    grants: Path
    folder: Path  # what is written: the audit log, the peers' logs; emptied by nobody
    options: list[str] = field(default_factory=list)  # of `casemate run`

    def run(self, program: str, *options: str) -> dict[str, Any]:
        """The outcome of one program. Ends this process with one line when it is not ok."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [
            os.environ.get("CASEMATE_BIN", str(ROOT / "build/release/bin/casemate")), "run", "--json", "--trust", "trusted",
            "--tools", str(self.grants / "tools.toml"), "--policy", str(self.grants / "policy.toml"),
            "--audit", str(self.folder / "audit"), "--weaken", "unboxed-connector", *self.options, *options, "-",
        ]  # fmt: skip
        # A peer writes its own log to its standard error, which is that of casemate.
        with (self.folder / "peers.log").open("ab") as log:
            done = subprocess.run(command, input=program.encode(), stdout=subprocess.PIPE, stderr=log, cwd=self.folder)
        if not done.stdout:
            raise SystemExit(f"casemate gave no outcome: {(self.folder / 'peers.log').read_text()[-500:].strip()}")
        outcome: dict[str, Any] = json.loads(done.stdout)
        if outcome["status"] != "ok":
            raise SystemExit(f"a program did not end well: {outcome['report']}")
        return outcome

    def call(self, calls: list[dict[str, Any]]) -> list[str]:
        """Makes the calls of one turn, at the same time; their results as the text that a model would get."""
        asked, out = self.folder / "calls.json", self.folder / "out"
        self.folder.mkdir(parents=True, exist_ok=True)
        asked.write_text(json.dumps([{"name": one["name"], "input": one["input"]} for one in calls]))
        (out / "told.json").unlink(missing_ok=True)
        self.run(CALLS, "--file", f"{asked}:calls.json", "--artifact", "told.json", "--out", str(out))
        told: list[str] = json.loads((out / "told.json").read_text())
        return told

    def describe(self) -> str:
        """The capabilities as a program sees them."""
        return str(self.run(DESCRIBE)["stdout"]["text"]).strip()

    def effects(self) -> list[dict[str, Any]]:
        """What the peers say they were asked, by their own word."""
        lines = (self.folder / "peers.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"idempotency_key"')]

    def verdicts(self) -> list[dict[str, Any]]:
        """What the audit log says was judged."""
        found = []
        for segment in sorted((self.folder / "audit/writers").glob("*/*.jsonl")):
            records = [json.loads(line) for line in segment.read_text().splitlines()]
            found += [record for record in records if record["kind"] == "verdict"]
        return found
