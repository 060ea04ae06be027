"""The question about the ledgers, and how somebody answers it who reads all rows in a conversation."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from arms import Task

HERE = Path(__file__).resolve().parent
COUNT = 14


def names(count: int = COUNT) -> list[str]:
    return [f"acme-{n:02}" for n in range(1, count + 1)]


def tools_of(folder: Path) -> list[dict[str, Any]]:
    """The capabilities of a tools file, as an API is told of tools."""
    listed = tomllib.loads((folder / "tools.toml").read_text())["tools"]
    return [
        {"name": one["name"], "description": one["description"], "input_schema": json.loads(one["arguments"])}
        for one in listed
    ]


def mismatches_as_text(tenants: list[str], results: list[str]) -> list[str]:
    """What comes out when sums are right and are then compared as they are written, as readers of text do.

    `results` are of ledger.read and settlement.read, tenant by tenant. Written differently is not different: 1E+3 is
    1000.00, 11 is 11.00, -15.0 is -15.00. Each of these is told as a mismatch here.
    """
    found = []
    for tenant, read, settlement in zip(tenants, results[::2], results[1::2], strict=True):
        entries, settled = json.loads(read), json.loads(settlement)
        posted = {one["id"]: one for one in entries if one["state"] == "posted"}
        booked = sum((Decimal(one["amount"]) for one in posted.values()), Decimal(0))
        if (str(booked), {one["currency"] for one in posted.values()}) != (settled["amount"], {settled["currency"]}):
            found.append(tenant)
    return found


def sentence(tenants: list[str]) -> str:
    return f"These do not add up: {', '.join(tenants)}." if tenants else "All add up."


def printed_mismatches(printed: str) -> list[str]:
    return [line.partition(":")[0] for line in printed.splitlines()]


def ledgers_task(count: int = COUNT) -> Task:
    """Of `count` tenants, two calls each; of fourteen it is settle.py as it stands."""
    tenants = names(count)
    return Task(
        user=f"Which of the tenants acme-01 to {tenants[-1]} have a ledger that does not add up to what was settled?",
        tools=tools_of(HERE),
        calls=[
            {"name": name, "input": {"tenant": tenant}} for tenant in tenants for name in ("ledger.read", "settlement.read")
        ],
        answer=lambda results: sentence(mismatches_as_text(tenants, results)),
        program=(HERE / "settle.py").read_text().replace("range(1, 15)", f"range(1, {count + 1})"),
        reads=lambda printed: sentence(printed_mismatches(printed)),
    )
