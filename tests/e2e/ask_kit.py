"""What the tests of asks share: a run that waits for a person, and the commands that answer it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from conftest import SLOW, Casemate, Ended, wait_for
from tools_kit import IMPORT, Tools

POLICY = """
[permissions]
deny = ["peer.echo(to == 'nobody')"]
ask = ["peer.echo"]
allow = ["peer.object", "peer.slow"]
[labels.sources]
"peer.object" = ["untrusted"]
"""
SCHEMA = """'{"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}}'"""
CATCH = "try: print(tools.peer.echo(to='a'))\nexcept ToolDenied as e: print('denied:', e)\n"


class Asking:
    """A run that asks, in the background."""

    def __init__(self, kit: Tools, program: str, *options: str, ask: str = "wait") -> None:
        self.casemate = kit.casemate
        how = ["--trust", "trusted", "--allow-below-floor", "--ask", ask, *kit.write(), *options]
        self.process = kit.casemate.start("run", "--json", *how, "-c", IMPORT + program)
        self.begun = time.monotonic()

    def asks(self, count: int = 1) -> list[dict[str, Any]]:
        """The calls that wait, once there are so many, as `approvals list` shows those of this run."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = self.listed()
            assert self.process.poll() is None, self.process.communicate()
            return len(found) >= count

        assert wait_for(there, seconds=30 * SLOW), f"{len(found)} calls wait"
        assert len({ask["run"] for ask in found}) == 1, found
        return found

    def listed(self) -> list[dict[str, Any]]:
        """Of all runs: tests run one at a time."""
        document = json.loads(self.approvals("list", "--json").stdout)
        found: list[dict[str, Any]] = document["asks"]
        return found

    def approvals(self, *args: str) -> Ended:
        return self.casemate.call("approvals", *args)

    def ended(self, seconds: float = 60.0) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=seconds * SLOW)
        assert out, err
        outcome: dict[str, Any] = json.loads(out)
        assert outcome["teardown"]["verdict"] == "destroyed", outcome
        return outcome


class Terminal:
    """A run whose standard descriptors are a terminal, and the person at it."""

    def __init__(self, kit: Tools, program: str, *options: str) -> None:
        ours, theirs = pty.openpty()
        how = ["--trust", "trusted", "--allow-below-floor", "--start", "cold", *kit.write(), *options]
        command = [kit.casemate.binary, "run", *how, "-c", IMPORT + program]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=kit.casemate.folder,
            env=os.environ | kit.casemate.environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.ours, self.shown = ours, ""
        self._seen = 0

    def until(self, text: str, seconds: float = 30.0) -> str:
        """What was shown since the last call, up to this text and with it."""
        end = time.monotonic() + seconds * SLOW
        while text not in self.shown[self._seen :]:
            assert self._read(end), f"{text!r} is not shown: {self.shown!r}"
        at = self.shown.index(text, self._seen) + len(text)
        shown, self._seen = self.shown[self._seen : at], at
        return shown

    def _read(self, end: float) -> bool:
        if not select.select([self.ours], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self.ours, 65536)
        except OSError:
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)

    def type(self, line: str) -> None:
        os.write(self.ours, line.encode() + b"\n")

    def end(self, seconds: float = 30.0) -> int:
        limit = time.monotonic() + seconds * SLOW
        while self._read(limit):
            pass
        os.close(self.ours)
        return self.process.wait(seconds * SLOW)


def frozen_groups() -> list[Path]:
    """Control groups of boxes that stand still now."""
    groups = Path("/sys/fs/cgroup").glob("**/casemate.*/cgroup.events")
    return [events.parent for events in groups if "frozen 1" in events.read_text()]


def ask_program(threads: int) -> str:
    """Asks from so many threads at once, each with its number."""
    return (
        "from concurrent.futures import ThreadPoolExecutor\n"
        f"with ThreadPoolExecutor({threads}) as pool:\n"
        f"    print(sorted(r['to'] for r in pool.map(lambda n: tools.peer.echo(to=str(n)), range({threads}))))\n"
    )


__all__ = ["Asking", "CATCH", "POLICY", "SCHEMA", "Terminal", "ask_program", "frozen_groups"]
