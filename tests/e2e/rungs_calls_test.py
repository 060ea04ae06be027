"""Calls of capabilities have the same outcome on every rung."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate
from rungs import on, outcome_of
from tools_kit import FRAMES, HOSTILE, IMPORT, SOURCES, Tools

RUNGS = on("gvisor", "gvisor hot", "microvm", "microvm hot")
POLICY = '[permissions]\ndeny = ["peer.no"]\nask = ["peer.ask"]\nallow = ["peer.*"]\n' + SOURCES
PROGRAMS = {
    "a value": "print(tools.peer.echo(a=1, b=[None, 0.5, 'é']))",
    "what is denied, asked and unknown": (
        "for name in ('peer.no', 'peer.ask', 'peer.nothing', 'peer.fail'):\n"
        "    try: tools[name]()\n    except ToolError as e: print(type(e).__name__, e.code, e)"
    ),
    "threads and asyncio": (
        "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "print(sum(ThreadPoolExecutor(8).map(lambda n: tools.peer.echo(n=n)['n'], range(100))))\n"
        "async def main(): return await asyncio.gather(*(tools.peer.echo.aio(n=n) for n in range(50)))\n"
        "print(sum(r['n'] for r in asyncio.run(main())))"
    ),
    "three megabytes there and back": (
        "print(len(tools.peer.large(bytes=3_000_000)))\nt = 'x' * 900_000\nprint(tools.peer.echo(t=t)['t'] == t)"
    ),
    "an exception that is not caught": "def f(): return tools.peer.no()\nf()",
    "a thousand calls": "print(sum(tools.peer.echo(n=n)['n'] for n in range(1000)))",
    "a child": "import os\nif os.fork() == 0:\n    try: tools.peer.echo()\n    except ToolError as e: print(e.code, flush=True)\n    os._exit(0)\nos.wait(); print(tools.peer.echo(n=1))",
    "the tree": "import os\nprint(sorted(os.listdir('/tools/peer')), 'def echo(' in open('/tools/peer/echo.pyi').read())",
    "discovery": "print(dir(tools), [t['name'] for t in tools.search('echo')], len(tools.describe('peer.echo')) > 20)",
}  # fmt: skip


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    made = Tools(casemate, tmp_path)
    made.policy = POLICY
    for name in ("echo", "no", "ask", "fail", "large"):
        made.tool(f"peer.{name}", durable="false")
    return made


def seen(kit: Tools, rung: str, program: str) -> dict[str, Any]:
    """What both sides saw of a run, but for what differs from run to run."""
    before = len(kit.effects)
    outcome = outcome_of(kit.casemate, rung, IMPORT + program, "--wall", "60s", *kit.write())
    calls = [(call["capability"], call["verdict"], call["rule"], call["status"]) for call in outcome["calls"]]
    exception = outcome.get("exception", {})
    found = {key: outcome.get(key) for key in ("status", "exit_code", "labels", "calls_left_out")}
    return found | {
        "out": outcome["stdout"]["text"],
        "exception": [exception.get(key) for key in ("type", "message", "line", "source")],
        "calls": sorted(calls),
        "effects": sorted(effect["capability"] for effect in kit.effects[before:]),
    }


@pytest.mark.parametrize("what", PROGRAMS)
@pytest.mark.parametrize("rung", RUNGS)
def test_the_same_calls_have_the_same_outcome(kit: Tools, rung: str, what: str) -> None:
    jail = seen(kit, "jail", PROGRAMS[what])
    assert jail["status"] == ("error" if "not caught" in what else "ok"), jail
    assert seen(kit, rung, PROGRAMS[what]) == jail


@pytest.mark.parametrize("what", ["garbage", "a number twice", "an answer", "the engine's own frames"])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_guest_that_breaks_the_protocol_has_no_more_calls(kit: Tools, rung: str, what: str) -> None:
    program = FRAMES + f"print('on', flush=True)\n{HOSTILE[what]}\n"
    outcome = outcome_of(kit.casemate, rung, IMPORT + program, "--wall", "20s", *kit.write())
    assert outcome["stdout"]["text"] == "on\n", outcome["report"]
    assert len(kit.kinds("verdict")) == len(kit.effects)
