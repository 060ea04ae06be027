"""The peer of this example, and its data: a table of ten megabytes, the same each time.

    sales.py LOG        answers sales.export over JSON lines, and logs what it was asked
    sales.py --print    prints the table
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

REGIONS = ("north", "south", "east", "west", "online")
SIZE = 10_000_000  # bytes, at least


def rows() -> Iterator[str]:
    """Lines of the table without their ends. Amounts in cents; every seventh is a refund; one that no float can hold."""
    yield "order,day,region,amount"
    yield "0,2026-01-01,north,100000000000000000.01"
    state = 20260101
    for order in range(1, 1 << 30):
        state = (state * 1103515245 + 12345) % (1 << 31)
        amount = state % 100_000
        sign = "-" if order % 7 == 0 else ""
        yield f"{order},2026-{order % 12 + 1:02}-{order % 28 + 1:02},{REGIONS[state % 5]},{sign}{amount // 100}.{amount % 100:02}"


def table() -> str:
    """All of it."""
    lines, size = [], 0
    for line in rows():
        lines.append(line)
        size += len(line) + 1
        if size >= SIZE:
            return "\n".join(lines) + "\n"
    raise AssertionError("rows do not end")


def main() -> None:
    if sys.argv[1] == "--print":
        sys.stdout.write(table())
        return
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for line in sys.stdin:
        asked = json.loads(line)
        seen = {key: asked[key] for key in ("idempotency_key", "capability", "run")}
        os.write(log, json.dumps(seen).encode() + b"\n")
        print(json.dumps({"id": asked["id"], "result": table()}), flush=True)


if __name__ == "__main__":
    main()
