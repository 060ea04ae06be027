"""What the tests of capabilities share: a tools file, a policy, and what both sides wrote down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Casemate, Ended

PEER = Path(__file__).resolve().parent / "tools_peer.py"
SOURCES = "[labels.sources]\n"  # present: a result has the labels that somebody says, and no others
ALLOW = '[permissions]\nallow = ["*"]\n' + SOURCES
IMPORT = "from casemate import tools, ToolDenied, ToolError\n"


class Tools:
    """A tools file, a policy, and what both sides wrote down."""

    def __init__(self, casemate: Casemate, folder: Path) -> None:
        self.casemate, self.folder = casemate, folder
        self.entries: list[str] = []
        self.policy = ALLOW

    def tool(self, name: str, **options: str) -> None:
        lines = [f"name = {json.dumps(name)}", 'connector = "peer"']
        lines += [f"{key} = {value}" for key, value in options.items()]
        self.entries.append("[[tools]]\n" + "\n".join(lines) + "\n")

    def write(self) -> list[str]:
        command = json.dumps(["/usr/bin/python3", "-I", str(PEER), str(self.folder / "peer.log")])
        text = f'[connectors.peer]\nkind = "exec"\nunboxed = true\ncommand = {command}\n' + "\n".join(self.entries)
        (self.folder / "tools.toml").write_text(text)
        (self.folder / "policy.toml").write_text(self.policy)
        return ["--tools", str(self.folder / "tools.toml"), "--policy", str(self.folder / "policy.toml"),
                "--audit", str(self.folder / "audit"), "--weaken", "unboxed-connector"]  # fmt: skip

    def run(self, program: str, *options: str, **more: Any) -> Ended:
        return self.casemate.python(IMPORT + program, *self.write(), *options, **more)

    def printed(self, program: str, *options: str, **more: Any) -> str:
        outcome = self.run(program, *options, **more).outcome
        assert outcome["status"] == "ok", outcome["report"]
        text: str = outcome["stdout"]["text"]
        return text

    @property
    def effects(self) -> list[dict[str, str]]:
        """What the peer was asked, by its own word, without the time."""
        log = self.folder / "peer.log"
        found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [{key: effect[key] for key in effect if key != "at"} for effect in found]

    @property
    def records(self) -> list[dict[str, Any]]:
        """What the audit log says, in the order of its chains."""
        found: list[dict[str, Any]] = []
        for segment in sorted((self.folder / "audit/writers").glob("*/*.jsonl")):
            found += [json.loads(line) for line in segment.read_text().splitlines()]
        return found

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["kind"] == kind]


# What a program can do with its own descriptor 3.
HOSTILE = {
    "garbage": r"os.write(3, b'\xff' * 64)",
    "half a call": "os.write(3, frame(32, field(7, (1).to_bytes(8, 'little')) + field(3, b'peer.echo') + field(1, b'{}'))[:-3])",
    "a number twice": "os.write(3, call(5) + call(5))",
    "a piece of nothing": "os.write(3, frame(33, field(7, (9).to_bytes(8, 'little')) + field(1, b'{}')))",
    "an answer": "os.write(3, frame(10, field(7, (9).to_bytes(8, 'little'))))",
    "the engine's own frames": "os.write(3, frame(4, b'') + frame(1, b''))",
    "calls without end": "while True: os.write(3, call(next(n)))",
    "pieces without end": "os.write(3, call(1, more=True))\nwhile True: os.write(3, frame(33, field(7, (1).to_bytes(8, 'little')) + field(1, b'x' * 500000) + field(64, b'')))",
}
FRAMES = """
import os, itertools
n = itertools.count(1)
def field(tag, data): return tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data
def frame(kind, payload): return len(payload).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload
def call(number, name=b"peer.echo", text=b"{}", more=False):
    return frame(32, field(7, number.to_bytes(8, "little")) + field(3, name) + field(1, text) + (field(64, b"") if more else b""))
"""
