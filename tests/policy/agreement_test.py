"""casemate and the second opinion of oracle.py agree on random policies and runs.

CASEMATE_POLICY_CASES: how many calls (10,000); CASEMATE_SEED: the first seed (1).
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

from cases import as_json, call, policy as make_policy
from conftest import Policy
from oracle import Oracle

CALLS_OF_A_RUN = 5
BATCH = 2000


def cases(first: int, count: int) -> list[tuple[int, str, list[str], list[dict[str, Any]]]]:
    """(seed, policy, labels, calls)."""
    made = []
    for seed in range(first, first + count):
        pick = random.Random(seed)
        labels = pick.sample(["untrusted", "private", "odd"], pick.choice([0, 0, 1]))
        made.append((seed, make_policy(pick), labels, [call(pick) for _ in range(CALLS_OF_A_RUN)]))
    return made


def test_agrees_on_random_policies(policy: Policy) -> None:
    wanted = int(os.environ.get("CASEMATE_POLICY_CASES", "10000"))
    first = int(os.environ.get("CASEMATE_SEED", "1"))
    seen = {"allow": 0, "ask": 0, "deny": 0}
    unknown = 0
    for begin in range(first, first + wanted // CALLS_OF_A_RUN, BATCH):
        batch = cases(begin, min(BATCH, first + wanted // CALLS_OF_A_RUN - begin))
        lines = [as_json({"policy": text, "labels": labels, "calls": calls}) for _, text, labels, calls in batch]
        done = policy("explain", "--batch", text="\n".join(lines) + "\n")
        assert done.returncode == 0, (done.stderr, [line for line in done.stdout.splitlines() if "error" in line][:3])
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(batch)
        for (seed, text, labels, calls), answer in zip(batch, answers, strict=True):
            assert "verdicts" in answer, (seed, answer, text)
            oracle = Oracle(text, labels)
            for number, (one, verdict) in enumerate(zip(calls, answer["verdicts"], strict=True)):
                expected = oracle.judge(one)
                assert verdict["verdict"] == expected, (seed, number, one, verdict, text)
                assert set(verdict["labels"]) == oracle.labels, (seed, number, one, verdict, text)
                seen[expected] += 1
                unknown += verdict["grounds"][0]["unknown"]
    print(f"seeds from {first}: {seen}, {unknown} by an unknown")
    # A generator whose calls all end the same way would show nothing.
    assert min(seen.values()) > sum(seen.values()) // 20, seen
    assert unknown > 0
