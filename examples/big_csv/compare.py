"""Ten megabytes of CSV: into the context as a tool's result, or through a box as a call's result or an input file.

No model has a context that holds the first; it is counted as though one had. With --json the last line is one JSON
object. Exit code 1: a cut or a number of calls is not what it must be.
"""

from __future__ import annotations

import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "agents"))

import arms  # noqa: E402
import sales  # noqa: E402
from comparison import Comparison  # noqa: E402

BAR = 98.7  # percent fewer tokens
ASKED = "What was sold in each region, to the cent? Refunds are negative."


def task() -> arms.Task:
    listed = tomllib.loads((HERE / "tools.toml").read_text())["tools"][0]
    return arms.Task(
        user=ASKED,
        tools=[{"name": listed["name"], "description": listed["description"], "input_schema": {"type": "object"}}],
        calls=[{"name": "sales.export", "input": {}}],
        # Nobody adds 200,000 rows by reading them; what it would say is not counted.
        answer=lambda results: "I cannot add that many rows exactly.",
        program=(HERE / "total.py").read_text(),
        reads=lambda printed: ", ".join(printed.splitlines()),
    )


# Reading a table row by row takes a while where others keep the machine busy.
TIME = ["--wall", "5m", "--cpu-time", "2m"]


def main() -> int:
    asked = task()
    with Comparison("big_csv", (__doc__ or "").splitlines()[0], "answer") as compared:
        described = compared.boxes("describe", HERE).describe()

        boxes, begun = compared.boxes("tools", HERE, TIME), time.monotonic()
        did = arms.batched(asked, boxes.call)
        compared.add("tools", did, boxes, 1, begun, did.answer)

        boxes, begun = compared.boxes("code", HERE, TIME), time.monotonic()
        did = arms.code(asked, boxes, described)
        compared.add("code", did, boxes, 1, begun, "below")

        boxes = compared.boxes("file", HERE, [*TIME, "--file", "sales.csv"])
        boxes.folder.mkdir(parents=True)
        (boxes.folder / "sales.csv").write_text(sales.table())
        begun = time.monotonic()
        filed = arms.code(asked, boxes, described)
        compared.add("file", filed, boxes, 0, begun, "below")

        compared.must(did.printed == filed.printed, "the call's result and the file give other sums")
        compared.show()
        print(f"\nall that the model of `code` saw of {len(sales.table()):,} bytes:\n{did.printed}")
        cut = compared.cut("code", "tools")
        compared.must(cut >= BAR, f"code has {cut:.2f} % fewer tokens; the bar is {BAR:g} %")
        print(f"bar: code has {compared.fewer('code', 'tools')} tokens than the same result in the context")
        return compared.end()


if __name__ == "__main__":
    sys.exit(main())
