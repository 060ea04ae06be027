"""Whether this machine stood still meanwhile: a host that stops QEMU for a while stops no clock in here.

The session listens to a heartbeat and notes each gap in a file, which everybody can read. A test that failed
while the machine stood still says nothing, since its time limits were over at once: it is run again.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

PAUSES = Path("/run/casemate-pauses")  # a line for each: when it was over (CLOCK_MONOTONIC) and how long it took
# How often a test is run at most whose machine was paused each time.
TRIES = 5

_BEAT_SECONDS = 0.5
# More than a busy machine keeps the heartbeat waiting, which has a priority of its own.
_PAUSE_SECONDS = 3.0


def _listen() -> None:
    os.sched_setscheduler(threading.get_native_id(), os.SCHED_RR, os.sched_param(1))
    with PAUSES.open("w", buffering=1) as notes:
        last = time.monotonic()
        while True:
            time.sleep(_BEAT_SECONDS)
            now = time.monotonic()
            if now - last > _PAUSE_SECONDS:
                notes.write(f"{now:.1f} {now - last:.1f}\n")
            last = now


def start_to_listen() -> None:
    """Begins the heartbeat, in a thread that ends with this process. For root."""
    threading.Thread(target=_listen, daemon=True).start()


def pauses(since: float = 0.0) -> list[float]:
    """How long the machine stood still, in seconds, each time that it did after this time (time.monotonic())."""
    time.sleep(2 * _BEAT_SECONDS)  # one that has just ended is noted with the next beat
    try:
        lines = PAUSES.read_text().splitlines()
    except FileNotFoundError:
        return []
    return [float(line.split()[1]) for line in lines if float(line.split()[0]) > since]
