"""The peer: two capabilities over JSON lines, and its own log of what it was asked, which casemate does not write."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import data  # noqa: E402


def answer(capability: str, arguments: dict[str, Any]) -> Any:
    tenant = arguments["tenant"]
    return data.ledger(tenant) if capability == "ledger.read" else data.settled(tenant)


def main() -> None:
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for line in sys.stdin:
        asked = json.loads(line)
        seen = {key: asked[key] for key in ("idempotency_key", "capability", "run")}
        seen["at"] = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        os.write(log, json.dumps(seen).encode() + b"\n")
        try:
            told = {"id": asked["id"], "result": answer(asked["capability"], asked["arguments"])}
        except LookupError as error:
            told = {"id": asked["id"], "error": str(error)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
