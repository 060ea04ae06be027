#!/usr/bin/python3
"""Cold `casemate run` against bare Python: cold_run.py [--casemate PATH] [--samples N] [--json]

Both arms run print(1) with the same interpreter and the same flags (-I -B), in turns and in one go on
one machine, so that what disturbs the machine disturbs both. Every sample's output and exit code are
asserted. Times are wall-clock, from just before the program is started until its exit was collected.
A cold run has no daemon and no warm pool: it makes its box, proves it gone, and ends.

The last line says `bar: ...`; the exit code is 0 when the ratio of the medians meets --bar.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"
PROGRAM = "print(1)"
EXPECTED = b"1\n"
SAMPLES_MIN = 40
WARM_UP = 3
SAMPLE_MAX_S = 60


@dataclass
class Arm:
    """One of the two things compared, and its samples in milliseconds."""

    name: str
    isolation: str
    command: list[str]
    stdin: bytes
    samples_ms: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The sample below which `share` of all samples lie, in milliseconds (nearest rank)."""
        ordered = sorted(self.samples_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run_once(arm: Arm) -> float:
    """Runs the arm's command once and returns its milliseconds; another output or exit is an error."""
    with tempfile.TemporaryFile() as given:
        given.write(arm.stdin)
        given.seek(0)
        read_end, write_end = os.pipe()
        actions = [
            (os.POSIX_SPAWN_DUP2, given.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, write_end, 1),
        ]
        signal.alarm(SAMPLE_MAX_S)  # ends this program; a spawned child has no alarm of its own
        begun = time.perf_counter()
        pid = os.posix_spawn(arm.command[0], arm.command, os.environ, file_actions=actions)
        os.close(write_end)
        with open(read_end, "rb") as out:
            output = out.read()
        _, status = os.waitpid(pid, 0)
        spent_ms = (time.perf_counter() - begun) * 1000
        signal.alarm(0)
    if output != EXPECTED or os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{arm.name}: exit {os.waitstatus_to_exitcode(status)}, output {output!r}: not a valid sample")
    return spent_ms


def measure(arms: Sequence[Arm], samples: int) -> None:
    """Fills the arms' samples, turn by turn; which arm begins changes with each turn."""
    for _ in range(WARM_UP):
        for arm in arms:
            run_once(arm)
    for turn in range(samples):
        for arm in arms if turn % 2 == 0 else list(reversed(arms)):
            arm.samples_ms.append(run_once(arm))


def report(casemate: Arm, bare: Arm, bar: float) -> dict[str, object]:
    """What was measured, as one JSON-able mapping."""
    arms = {
        arm.name: {
            "isolation": arm.isolation,
            "command": arm.command,
            "samples": len(arm.samples_ms),
            "p50_ms": round(arm.quantile(0.5), 2),
            "p95_ms": round(arm.quantile(0.95), 2),
        }
        for arm in (casemate, bare)
    }
    ratio = casemate.quantile(0.5) / bare.quantile(0.5)
    return {
        "measure": "cold casemate run against bare Python, print(1)",
        "host": {"kernel": platform.release(), "cpus": os.cpu_count(), "load_1min": round(os.getloadavg()[0], 2)},
        "arms": arms,
        "ratio_p50": round(ratio, 3),
        "ratio_p95": round(casemate.quantile(0.95) / bare.quantile(0.95), 3),
        "bar": bar,
        "pass": ratio <= bar,
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="cold casemate run against bare Python")
    parser.add_argument("--casemate", type=Path, default=ROOT / "build/release/bin/casemate")
    parser.add_argument("--samples", type=int, default=100, help=f"turns, at least {SAMPLES_MIN}")
    parser.add_argument("--bar", type=float, default=1.5, help="ratio of the medians that passes")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON and nothing else")
    given = parser.parse_args()
    if given.samples < SAMPLES_MIN:
        parser.error(f"--samples must be at least {SAMPLES_MIN}")
    return given


def main() -> int:
    """Measures and prints."""
    given = arguments()
    casemate = Arm(
        "casemate", "jail", [str(given.casemate), "run", "--trust", "trusted", "--quiet", "-"], PROGRAM.encode()
    )
    bare = Arm("python", "none", [PYTHON, "-I", "-B", "-X", "faulthandler", "-c", PROGRAM], b"")
    measure([casemate, bare], given.samples)
    result = report(casemate, bare, given.bar)
    if given.json:
        print(json.dumps(result))
    else:
        for arm in (casemate, bare):
            print(
                f"{arm.name:9} isolation {arm.isolation:5} p50 {arm.quantile(0.5):7.1f} ms"
                f"  p95 {arm.quantile(0.95):7.1f} ms  n={len(arm.samples_ms)}"
            )
        print(f"bar: {result['ratio_p50']}x at p50, {result['ratio_p95']}x at p95")
    return 0 if result["pass"] else 1


if __name__ == "__main__":
    sys.exit(main())
