"""One small call: here a program costs more than the call itself.

The grants are those of examples/ledgers. With --json the last line is one JSON object. Exit code 1: a number of calls is
not what it must be, or code does not lose: then docs/code-mode.md is wrong.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples/agents"), str(ROOT / "examples/ledgers")]

import arms  # noqa: E402
from comparison import Comparison  # noqa: E402
from ledgers_task import HERE, tools_of  # noqa: E402

PROGRAM = """from casemate import tools
print(tools.settlement.read(tenant="acme-03")["amount"])
"""


def task() -> arms.Task:
    return arms.Task(
        user="What was settled with acme-03?",
        tools=tools_of(HERE),
        calls=[{"name": "settlement.read", "input": {"tenant": "acme-03"}}],
        answer=lambda results: f"{json.loads(results[0])['amount']}.",
        program=PROGRAM,
        reads=lambda printed: f"{printed.strip()}.",
    )


def main() -> int:
    asked = task()
    with Comparison("single_call", (__doc__ or "").splitlines()[0], "answer") as compared:
        described = compared.boxes("describe", HERE).describe()
        for name in ("tools", "code"):
            boxes, begun = compared.boxes(name, HERE), time.monotonic()
            did = arms.code(asked, boxes, described) if name == "code" else arms.serial(asked, boxes.call)
            compared.add(name, did, boxes, 1, begun, did.answer)
            compared.found[name]["answer"] = did.answer
        compared.show()
        compared.must(compared.cut("code", "tools") < 0, "code does not lose")
        print(f"bar: code has {compared.fewer('code', 'tools')} tokens than one call")
        return compared.end()


if __name__ == "__main__":
    sys.exit(main())
