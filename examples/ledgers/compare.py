"""Three scripted agents settle fourteen ledgers: calls one by one, all at once, one program.

`make ledgers` runs this. What the agents write is scripted; what they read comes out of boxes. With --json the last line
is one JSON object. Exit code 1: turns, calls, effects, tokens or what the program found are not what they must be.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agents"))

import arms  # noqa: E402
from comparison import Comparison  # noqa: E402
from ledgers_task import HERE, ledgers_task  # noqa: E402

BAR = 95.0  # percent fewer tokens than with tool calls of either kind
TURNS = {"tools": 29, "batched": 2, "code": 2}


def tenants_in(answer: str) -> list[str]:
    return [word.strip(".,") for word in answer.split() if word.startswith("acme-")]


def main() -> int:
    task = ledgers_task()
    with Comparison("ledgers", (__doc__ or "").splitlines()[0], "mismatches") as compared:
        described = compared.boxes("describe", HERE).describe()
        printed = ""
        for name, turns in TURNS.items():
            boxes = compared.boxes(name, HERE)
            begun = time.monotonic()
            if name == "code":
                did = arms.code(task, boxes, described)
            else:
                did = (arms.serial if name == "tools" else arms.batched)(task, boxes.call)
            tenants = tenants_in(did.answer)
            compared.add(name, did, boxes, len(task.calls), begun, " ".join(tenants))
            found = compared.found[name]
            found["mismatches"] = tenants
            compared.must(found["turns"] == turns, f"{name}: {found['turns']} turns, and not {turns}")
            if did.run_id:
                found["run_id"], printed = did.run_id, did.printed
        compared.show()
        print(f"\nall that the model of `code` saw of the {len(task.calls)} results:\n{printed}")
        for other in ("tools", "batched"):
            cut = compared.cut("code", other)
            compared.must(cut >= BAR, f"code has {cut:.2f} % fewer tokens than {other}; the bar is {BAR:g} %")
        said = " and ".join(f"{compared.fewer('code', other)} tokens than {other}" for other in ("tools", "batched"))
        print(f"bar: code has {said}; turns are {', '.join(map(str, TURNS.values()))}")
        return compared.end()


if __name__ == "__main__":
    sys.exit(main())
