"""The other side of the tools of test_tools.py: JSON lines, as its arguments say. Logs what it is asked, by itself.

    tools_peer.py LOG
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import datetime, timezone
from typing import Any

_LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def say(text: str) -> None:
    os.write(1, text.encode())


def answer(asked: dict[str, Any]) -> None:
    arguments, name = asked["arguments"], asked["capability"]
    told: dict[str, Any] = {"id": asked["id"]}
    if name == "peer.echo":
        told["result"] = arguments
    elif name == "peer.fail":
        told["error"] = arguments.get("says", "no luck")
    elif name == "peer.object_error":
        told["error"] = {"code": 7, "message": "an object says it"}
    elif name == "peer.large":
        told["result"] = "x" * arguments["bytes"]
    elif name == "peer.raw":
        return say(f'{{"id": {asked["id"]}, "result": {arguments["json"]}}}\n')
    elif name == "peer.line":
        return say(arguments["line"].replace("ID", str(asked["id"])) + "\n")
    elif name == "peer.flood":
        while True:
            say("x" * 65536)
    elif name == "peer.silent":
        return None
    elif name == "peer.die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "peer.twice":
        say(json.dumps(told | {"result": 1}) + "\n")
        told["result"] = 2
    elif name == "peer.slow":
        time.sleep(arguments["seconds"])
        told["result"] = "slept"
    elif name == "peer.environment":
        told["result"] = dict(os.environ)
    else:
        told["result"] = {"called": name, "with": arguments}
    say(json.dumps(told) + "\n")


for _line in sys.stdin:
    _asked = json.loads(_line)
    _seen = {key: _asked[key] for key in ("capability", "idempotency_key", "run")}
    _seen["at"] = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    os.write(_LOG, json.dumps(_seen).encode() + b"\n")
    answer(_asked)
