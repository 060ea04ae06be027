"""What a run feels of a neighbour that does its worst inside its own box, rung by rung.

    /usr/bin/python3 bench/neighbours/neighbours.py [--casemate FILE] [--rungs A,B] [--classes A,B] [--rounds N]
                                                    [--samples N] [--json]

A box of a rung is given one class of load, of those that stress-ng has, for as long as the measure lasts; beside it
print(1) runs in hot slots of the jail (`casemate bench --measures hot_print`). Windows with the load and windows
without it take turns. For each class the table has, with against without: the median and the 99th percentile of a run's
time, the page faults of a run, and the context switches per second of the whole machine. A box has one processor and
its limits; the machine's other processors are the neighbour's.

The outcome of each load is looked at: one that did not run for its time, or found no box, is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUNGS = ("jail", "gvisor", "microvm")
# Each runs until its box is ended, and stays within what its own limits give it.
CLASSES = {
    "cpu": "while True: sum(i * i for i in range(10000))",
    "vm": (
        "import mmap\nwhile True:\n    m = mmap.mmap(-1, 128 << 20)\n"
        "    for at in range(0, len(m), 4096): m[at] = 1\n    m.close()"
    ),
    "fork": "import os\nwhile True:\n    if os.fork() == 0: os._exit(0)\n    os.wait()",
    "switch": (
        "import os\na, b = os.pipe(), os.pipe()\nif os.fork() == 0:\n    while True: os.read(a[0], 1), os.write(b[1], b'x')\n"
        "while True: os.write(a[1], b'x'), os.read(b[0], 1)"
    ),
    "hdd": (
        "import os\nwhile True:\n    f = os.open('/work/f', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)\n"
        "    for _ in range(64): os.write(f, b'x' * (1 << 20))\n    os.close(f); os.unlink('/work/f')"
    ),
    "sock": (
        "import os, socket\na, b = socket.socketpair()\nif os.fork() == 0:\n    while True: a.recv(65536)\n"
        "while True: b.sendall(b'x' * 65536)"
    ),
    "timer": "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)\nwhile True: signal.pause()",
    "dir": "import os\nwhile True:\n    for i in range(500): os.mkdir(f'/work/{i}')\n    for i in range(500): os.rmdir(f'/work/{i}')",
}  # fmt: skip


def switches() -> int:
    """Of the whole machine since it started."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("ctxt "):
            return int(line.split()[1])
    raise RuntimeError("/proc/stat has no count of context switches")


def neighbour(casemate: str, samples: int) -> dict[str, float]:
    """One window of print(1): p50 and p99 in ms, faults, and the machine's switches per second meanwhile."""
    before, begun = switches(), time.monotonic()
    command = [casemate, "bench", "--json", "--measures", "hot_print", "--peers", "python3", "--samples", str(samples)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    row = json.loads(done.stdout)["rows"][0]
    return {
        "p50": row["ours"]["p50"],
        "p99": row["ours"]["p99"],
        "faults": row["ours_faults"],
        "switches": (switches() - before) / (time.monotonic() - begun),
    }


class Load:
    """A box that one class of load runs in, from `with` to its end."""

    def __init__(self, casemate: str, rung: str, name: str) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._out = Path(self._directory.name) / "outcome"
        with self._out.open("w") as out:
            self._process = subprocess.Popen(
                [casemate, "run", "--json", "--trust", "trusted", "--isolation", rung, "--wall", "10m",
                 "--cpu-time", "10m", "--memory", "512MiB", "-c", "print('on', flush=True)\n" + CLASSES[name]],
                stdout=out, stderr=subprocess.PIPE, cwd=self._directory.name,
            )  # fmt: skip
        self._what = f"{name} on {rung}"
        # Its box is made by then; the slowest, an emulated machine, boots for some seconds.
        time.sleep(8 if rung == "microvm" else 2)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        outcome = json.loads(self._out.read_text() or "{}")
        self._directory.cleanup()
        if outcome.get("status") != "cancelled" or outcome["stdout"]["text"] != "on\n":
            raise RuntimeError(f"{self._what}: the load did not last: {outcome.get('report', 'no outcome')}")


def measure(casemate: str, rung: str, name: str, rounds: int, samples: int) -> dict[str, Any]:
    without: list[dict[str, float]] = []
    beside: list[dict[str, float]] = []
    for _ in range(rounds):
        without.append(neighbour(casemate, samples))
        load = Load(casemate, rung, name)
        try:
            beside.append(neighbour(casemate, samples))
        finally:
            load.end()

    def both(key: str) -> dict[str, float]:
        quiet, loud = (statistics.median(one[key] for one in ones) for ones in (without, beside))
        return {"without": round(quiet, 3), "beside": round(loud, 3)}

    return {"rung": rung, "class": name, **{key: both(key) for key in ("p50", "p99", "faults", "switches")}}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--casemate", default=str(ROOT / "build/release/bin/casemate"))
    parser.add_argument("--rungs", default=",".join(RUNGS))
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100, help="runs in each window")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rungs, classes = options.rungs.split(","), options.classes.split(",")
    if unknown := [one for one in rungs if one not in RUNGS] + [one for one in classes if one not in CLASSES]:
        parser.error(f"unknown: {', '.join(unknown)}; rungs: {', '.join(RUNGS)}; classes: {', '.join(CLASSES)}")
    casemate = os.path.abspath(options.casemate)
    rows = []
    for rung in rungs:
        for name in classes:
            row = measure(casemate, rung, name, options.rounds, options.samples)
            rows.append(row)
            if not options.json:
                told = [f"{row[key]['without']:>9} {row[key]['beside']:>9}" for key in ("p50", "p99", "faults", "switches")]
                if len(rows) == 1:
                    print("                  p50 ms: without, beside   p99 ms    faults of a run    switches/s")
                print(f"{rung:8} {name:8}", "  ".join(told), flush=True)
    if options.json:
        print(json.dumps({"rows": rows}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"neighbours: {error}")
