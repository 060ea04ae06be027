"""The examples: what they find is right, what they call is recorded, and they count what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import SLOW, Casemate

# tests/skips.txt does not allow it: what CI runs on has both.
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node, and the tokenizer by tools/tokenizer")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
WRONG_AS_TEXT = ["acme-03", "acme-05", "acme-06"]  # settled as 1E+3, 11 and -15.0


def example(casemate: Casemate, name: str, folder: Path, *options: str, timeout: float = 300) -> tuple[list[str], dict[str, Any]]:
    """What an example prints, and its object; it has to end well."""
    command = ["/usr/bin/python3", "-B", str(EXAMPLES / name / "compare.py"), "--json", "--folder", str(folder), *options]
    env = os.environ | casemate.environment | {"CASEMATE_BIN": str(casemate.binary)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout * SLOW, env=env, cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return lines, json.loads(lines[-1])


def module(folder: str, name: str) -> Any:
    """A module of an example, as the example itself has it."""
    sys.path[:0] = [str(EXAMPLES / folder), str(EXAMPLES / "agents")]
    try:
        return __import__(name)
    finally:
        del sys.path[:2]


def exact_mismatches(ledgers: dict[str, Any], settled: dict[str, Any]) -> list[str]:
    """A second opinion, which shares nothing with the example: integers of the smallest unit that any amount has."""

    def units(text: str) -> int:
        shifted = Decimal(text).scaleb(30)
        assert shifted == int(shifted)
        return int(shifted)

    wrong = []
    for tenant, entries in ledgers.items():
        seen: set[str] = set()
        total, currencies = 0, set()
        for one in entries:
            if one["state"] == "posted" and one["id"] not in seen:
                seen.add(one["id"])
                total += units(one["amount"])
                currencies.add(one["currency"])
        if total != units(settled[tenant]["amount"]) or currencies != {settled[tenant]["currency"]}:
            wrong.append(tenant)
    return wrong


@pytest.fixture(scope="module")
def ledgers(casemate: Casemate, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("examples") / "ledgers"
    return (folder, *example(casemate, "ledgers", folder))


def logged(folder: Path) -> list[dict[str, Any]]:
    """What the peers of an arm wrote down themselves."""
    return [json.loads(line) for line in (folder / "peers.log").read_text().splitlines() if line.startswith("{")]


def judged(folder: Path) -> list[dict[str, Any]]:
    """The verdicts in an arm's audit log."""
    lines = [line for one in (folder / "audit/writers").glob("*/*.jsonl") for line in one.read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["kind"] == "verdict"]


def test_the_program_finds_what_an_independent_check_finds(ledgers: tuple[Path, list[str], dict[str, Any]]) -> None:
    data = module("ledgers", "data")
    exact = exact_mismatches(data.LEDGERS, data.SETTLED)
    assert len(data.LEDGERS) == 14 and len(exact) == 3
    assert ledgers[2]["code"]["mismatches"] == exact == data.MISMATCHES


def test_agents_that_compare_text_make_the_mistake_of_it(ledgers: tuple[Path, list[str], dict[str, Any]]) -> None:
    found = ledgers[2]
    for arm in ("tools", "batched"):
        assert set(found[arm]["mismatches"]) == {*found["code"]["mismatches"], *WRONG_AS_TEXT}


def test_turns_and_the_form_of_the_object(ledgers: tuple[Path, list[str], dict[str, Any]]) -> None:
    found = ledgers[2]
    assert list(found) == ["tools", "batched", "code"]
    assert [found[arm]["turns"] for arm in found] == [29, 2, 2]
    assert set(found["code"]) == {"turns", "tokens", "mismatches", "run_id"}
    assert set(found["tools"]) == set(found["batched"]) == {"turns", "tokens", "mismatches"}


def test_tokens_are_fewer_by_the_bar(ledgers: tuple[Path, list[str], dict[str, Any]]) -> None:
    found = ledgers[2]
    for arm in ("tools", "batched"):
        assert found["code"]["tokens"] < 0.05 * found[arm]["tokens"], found


@pytest.mark.parametrize("arm", ["tools", "batched", "code"])
def test_every_arm_has_28_verdicts_and_28_effects_of_the_same_calls(
    ledgers: tuple[Path, list[str], dict[str, Any]], arm: str
) -> None:
    folder, _, found = ledgers
    verdicts, effects = judged(folder / arm), logged(folder / arm)
    assert len(verdicts) == len(effects) == 28 and {one["verdict"] for one in verdicts} == {"allow"}
    assert {one["idempotency_key"] for one in verdicts} == {one["idempotency_key"] for one in effects}
    runs = {one["run"] for one in effects}
    assert len(runs) == {"tools": 28, "batched": 1, "code": 1}[arm]
    assert arm != "code" or runs == {found["code"]["run_id"]}


def test_the_program_prints_three_lines(casemate: Casemate, tmp_path: Path) -> None:
    grants = EXAMPLES / "ledgers"
    options = ["--tools", grants / "tools.toml", "--policy", grants / "policy.toml", "--audit", tmp_path / "audit"]
    outcome = casemate.run(*options, "--weaken", "unboxed-connector", grants / "settle.py").outcome
    lines = outcome["stdout"]["text"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["acme-07", "acme-10", "acme-13"], outcome["report"]


def test_the_text_of_the_tokenizer_is_what_it_is_named() -> None:
    lock = json.loads((EXAMPLES / "agents/package-lock.json").read_text())["packages"]
    wanted = json.loads((EXAMPLES / "agents/package.json").read_text())["dependencies"]["gpt-tokenizer"]
    assert lock["node_modules/gpt-tokenizer"]["version"] == wanted
    assert lock["node_modules/gpt-tokenizer"]["integrity"].startswith("sha512-")
    tokenizer = module("agents", "tokenizer")
    one = tokenizer.Tokenizer()
    try:
        # Known ids of o200k_base: "hello world" is 24912 2375; what looks like a control token is text.
        assert (one.count("hello world"), one.count("")) == (2, 0)
        assert one.count("<|endoftext|>") > 1 and one.count("\n") == 1
    finally:
        one.close()


def test_a_conversation_costs_what_is_said_of_it() -> None:
    """By hand: a tokenizer that counts characters, three turns."""
    transcript = module("agents", "transcript")

    class Letters:
        count = staticmethod(len)

    said = transcript.Conversation("s" * 10, [], "u" * 6)  # with the word "user" 20 come in
    call = {"id": "1", "name": "f", "input": {}}
    for _ in range(2):
        said.says(calls=[call])  # "assistant", "1 f {}": 15
        said.gets([call], ["r" * 14])  # "user", "1\n" and the result: 20
    said.says("x" * 11)  # with "assistant" 20
    cost = said.cost(Letters(), transcript.Price("t", 1e6, 1e6, 1e6, 1e6))
    assert (cost.turns, cost.entered, cost.written, cost.bytes) == (3, 20 + 35 + 35 + 20, 50, 110)
    assert cost.read == 20 + 55 + 90 and cost.usd == cost.read + cost.written
    assert cost.usd_cached == cost.usd, "what is not new is read from the cache, and each is read once a turn"
    cached = said.cost(Letters(), transcript.Price("t", 1e6, 0, 2e6, 0))
    assert cached.usd_cached == 2 * 90, "each text is written to the cache once; the last answer is read by nobody"


def test_one_call_is_where_code_loses(casemate: Casemate, tmp_path: Path) -> None:
    lines, found = example(casemate, "single_call", tmp_path / "out")
    assert found["tools"]["answer"] == found["code"]["answer"] == "1E+3."
    assert found["code"]["tokens"] > found["tools"]["tokens"] and "more tokens" in lines[-2]


def test_ten_megabytes_go_through_a_box_and_not_through_a_context(casemate: Casemate, tmp_path: Path) -> None:
    lines, found = example(casemate, "big_csv", tmp_path / "out")
    assert found["code"]["tokens"] <= 0.013 * found["tools"]["tokens"], found
    cents: dict[str, int] = {}
    rows = module("big_csv", "sales").table().splitlines()[1:]
    assert len(rows) > 300_000
    for row in rows:
        _, _, region, amount = row.split(",")
        cents[region] = cents.get(region, 0) + int(amount.replace(".", ""))
    exact = [f"{region}: {Decimal(total).scaleb(-2)}" for region, total in sorted(cents.items())]
    begins = lines.index(exact[0])
    assert lines[begins : begins + 5] == exact
    assert len(logged(tmp_path / "out/code")) == 1 and not logged(tmp_path / "out/file")


def test_the_curve_is_of_runs_and_shows_where_code_loses(casemate: Casemate, tmp_path: Path) -> None:
    command = ["/usr/bin/python3", "-B", str(EXAMPLES / "ledgers/curve.py"), "--most", "10", "--out", str(tmp_path / "plot")]
    env = os.environ | casemate.environment | {"CASEMATE_BIN": str(casemate.binary)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300 * SLOW, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    short, long = done.stdout.split("long results")
    numbers = [[int(word.replace(",", "")) for word in line.split()] for line in short.splitlines()[2:] if line]
    loses = [calls for calls, serial, _, code, _, _ in numbers if code > serial]
    assert loses == [1, 2, 4, 6, 7] and numbers[-1][0] == 10, short
    assert len(long.splitlines()) == 2 + 5
    assert (tmp_path / "plot/code-mode-tokens.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "plot/code-mode-tokens.svg").read_text()


@pytest.mark.parametrize("folder", ["ledgers", "big_csv"])
def test_policies_deny_what_they_do_not_name(folder: str) -> None:
    policy = tomllib.loads((EXAMPLES / folder / "policy.toml").read_text())
    assert policy["default"] == "deny" and "*" not in "".join(policy["permissions"]["allow"])


def test_bad_options_are_one_line(casemate: Casemate, tmp_path: Path) -> None:
    command = ["/usr/bin/python3", "-B", str(EXAMPLES / "ledgers/compare.py"), "--price", "3/15"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOW, cwd=tmp_path)
    assert done.returncode == 2 and "IN/OUT/CACHE_WRITE/CACHE_READ" in done.stderr.splitlines()[-1], done
