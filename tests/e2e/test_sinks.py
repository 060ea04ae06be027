"""Output, results and products are ways out of a run: policy judges them with the labels of the moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Casemate
from tools_kit import ALLOW, IMPORT, Tools

SECRET = "s3cr3t"
READ = f"secret = tools.vault.read(secret='{SECRET}')['with']['secret']\n"


def rule(sink: str, verdict: str = "deny", when: str = "private in run") -> str:
    return f'[[flow]]\nwhen = "{when} and sink == {sink}"\nverdict = "{verdict}"\nreason = "it has read the vault"\n'


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    kit = Tools(casemate, tmp_path)
    for name in ("vault.read", "peer.fail"):
        kit.tool(name, labels='["private"]')
    return kit


def ended(kit: Tools, program: str, *sinks: str, verdict: str = "deny", options: tuple[str, ...] = ()) -> dict[str, Any]:
    kit.policy = ALLOW + "".join(rule(sink, verdict) for sink in sinks)
    found = kit.run(program, *options)
    assert not sinks or SECRET not in str(found.stdout) + str(found.stderr), "it got out"
    return found.outcome


@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_output_is_withheld_from_the_moment_that_a_label_joins(kit: Tools, verdict: str) -> None:
    program = "import sys, time\nprint('before', flush=True); time.sleep(0.3)\n" + READ
    program += "print(secret)\nprint(secret, file=sys.stderr)\nprint('no secret')"
    outcome = ended(kit, program, "stdout", verdict=verdict)
    assert outcome["status"] == "ok" and outcome["stdout"]["text"] == "before\n" and outcome["stderr"]["text"] == ""
    (withheld,) = outcome["withheld"]
    assert withheld == {
        "sink": "stdout", "verdict": verdict, "rule": withheld["rule"], "reason": "it has read the vault (private by vault.read)", "bytes": 2 * len(SECRET) + 2 + 10,
    }  # fmt: skip
    assert "withheld by policy: stdout (24 bytes): it has read the vault (private by vault.read)" in outcome["report"]
    (record,) = kit.kinds("withheld")
    assert record["run"] == outcome["run_id"] and record["capability"] == "stdout" and record["labels"] == ["private"]


def test_without_a_rule_that_applies_all_of_it_leaves(kit: Tools) -> None:
    outcome = ended(kit, READ + "print(secret)\nsecret")
    assert outcome["stdout"]["text"] == SECRET + "\n" and outcome["result"] and outcome["withheld"] == []
    kit.policy = ALLOW + rule("stdout")
    outcome = kit.run("print('nothing was read')").outcome
    assert outcome["stdout"]["text"] == "nothing was read\n" and outcome["withheld"] == []
    assert kit.kinds("withheld") == []


def test_labels_that_the_program_begins_with_count(kit: Tools) -> None:
    outcome = ended(kit, f"print('{SECRET}'[::1])", "stdout", options=("--label", "private"))
    assert outcome["stdout"]["text"] == "" and outcome["withheld"][0]["bytes"] == len(SECRET) + 1


def test_a_label_joins_by_the_result_of_a_call_that_failed(kit: Tools) -> None:
    program = "try: tools.peer.fail(says='s3cr3t')\nexcept ToolError as error: print(error)"
    outcome = ended(kit, program, "stdout")
    assert outcome["stdout"]["text"] == "" and outcome["labels"] == ["private"]


def test_an_exception_and_names_of_calls_are_output(kit: Tools) -> None:
    outcome = ended(kit, READ + "raise ValueError(secret)", "stdout")
    assert outcome["status"] == "error" and outcome["exit_code"] == 1
    assert outcome["exception"]["type"] == "(withheld)" and outcome["exception"]["message"] == ""
    outcome = ended(kit, READ + "try: tools[secret](a=1)\nexcept ToolError: pass", "stdout")
    assert [call["capability"] for call in outcome["calls"]] == ["vault.read", "(withheld)"]


def test_the_result_is_a_way_out_of_its_own(kit: Tools) -> None:
    outcome = ended(kit, READ + "print('done')\nsecret", "result")
    assert "result" not in outcome and outcome["stdout"]["text"] == "done\n"
    assert [one["sink"] for one in outcome["withheld"]] == ["result"]


def test_a_product_that_is_withheld_is_not_copied(kit: Tools, tmp_path: Path) -> None:
    program = "from casemate import artifact\n" + READ
    program += "open(secret + '.txt', 'w').write(secret)\nartifact(secret + '.txt', secret)\nopen('also.txt', 'w').write(secret)"
    options = ("--out", str(tmp_path / "out"), "--artifact", "also.txt")
    outcome = ended(kit, program, "artifact", "stdout", options=options)
    assert [(one["name"], one["state"], one["description"]) for one in outcome["artifacts"]] == [
        ("(withheld)", "failed", "withheld by policy")
    ] * 2
    assert list((tmp_path / "out").iterdir()) == [] and outcome["status"] == "ok"
    assert {one["sink"]: one["bytes"] for one in outcome["withheld"]} == {"artifact": 2}


def test_the_same_in_hot_slots(kit: Tools, casemate: Casemate, tmp_path: Path) -> None:
    kit.policy = ALLOW + rule("stdout")
    (tmp_path / "program.py").write_text(IMPORT + READ + "print(secret)")
    slots = ("--trust", "trusted", "--json", "--start", "hot", "--repeat", "3")
    found = casemate.call("run", *slots, *kit.write(), tmp_path / "program.py", timeout=120)
    outcomes = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(outcomes) == 3 and SECRET not in str(found.stdout)
    for outcome in outcomes:
        assert outcome["timing"]["start"] == "hot" and outcome["withheld"][0]["sink"] == "stdout"
