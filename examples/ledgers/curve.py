"""Tokens over the number of calls, from 1 to 1,000, of two questions: one whose results are long, one of short ones.

    /usr/bin/python3 examples/ledgers/curve.py [--out DIR] [--most N]

Every program of `code` is run, and every result comes out of a box once. The conversations of the other two arms are
made of these same results: what they would have read is known without 1,000 boxes of one call each. Writes
code-mode-tokens.svg and .png into DIR (docs), and prints the numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agents"))

import arms  # noqa: E402
from box import ROOT, Boxes  # noqa: E402
from curve_plot import Point, draw  # noqa: E402
from ledgers_task import HERE, ledgers_task, names, tools_of  # noqa: E402
from tokenizer import Tokenizer  # noqa: E402
from transcript import ASSUMED  # noqa: E402

CALLS = (1, 2, 4, 6, 7, 8, 10, 20, 28, 50, 100, 200, 500, 1000)
LIMIT = 50_000
# 500 ledgers take a while where others keep the machine busy.
TIME = ["--wall", "5m", "--cpu-time", "2m"]


def settled_task(count: int) -> arms.Task:
    """One short result for each call."""
    tenants = names(count)
    program = f"""from casemate import tools
tenants = [f"acme-{{n:02}}" for n in range(1, {count + 1})]
print(sum(tools.settlement.read(tenant=tenant)["amount"] > {LIMIT} for tenant in tenants))
"""
    return arms.Task(
        user=f"With how many of the tenants acme-01 to {tenants[-1]} was more than {LIMIT} settled?",
        tools=tools_of(HERE),
        calls=[{"name": "settlement.read", "input": {"tenant": tenant}} for tenant in tenants],
        answer=lambda results: f"{sum(Decimal(json.loads(one)['amount']) > LIMIT for one in results)}.",
        program=program,
        reads=lambda printed: f"{printed.strip()}.",
    )


def points(task_of: dict[int, arms.Task], boxes: Boxes, described: str, count: Tokenizer) -> list[Point]:
    """One for each number of calls."""
    most = task_of[max(task_of)]
    results = dict(zip(map(json.dumps, most.calls), boxes.call(most.calls), strict=True))

    def known(calls: list[dict[str, object]]) -> list[str]:
        return [results[json.dumps({"name": one["name"], "input": one["input"]})] for one in calls]

    found = []
    for calls, task in task_of.items():
        code = arms.code(task, boxes, described).said.cost(count, ASSUMED)
        serial, batched = (make(task, known).said.cost(count, ASSUMED) for make in (arms.serial, arms.batched))
        found.append(Point(calls, serial.entered, batched.entered, code.entered, serial.read, code.read))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where the plot is written (docs)")
    parser.add_argument("--most", type=int, default=CALLS[-1], help="the most calls (1000)")
    given = parser.parse_args()
    sizes = [calls for calls in CALLS if calls <= given.most]
    if len(sizes) < 2:
        parser.error("--most takes at least 2")
    tasks = {
        "short": {calls: settled_task(calls) for calls in sizes},
        "long": {calls: ledgers_task(calls // 2) for calls in sizes if calls % 2 == 0},
    }
    count = Tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        boxes = Boxes(HERE, Path(folder), TIME)
        described = boxes.describe()
        curves = {name: points(task_of, boxes, described, count) for name, task_of in tasks.items()}
    count.close()
    for name, curve in curves.items():
        print(f"{name} results\n{'calls':>6} {'one by one':>11} {'at once':>9} {'code':>6}  {'read: one by one':>16} {'code':>6}")
        for at in curve:
            print(f"{at.calls:6,} {at.serial:11,} {at.batched:9,} {at.code:6,}  {at.serial_read:16,} {at.code_read:6,}")
    draw(curves, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
