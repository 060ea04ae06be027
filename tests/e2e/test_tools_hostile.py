"""Guests that do not keep to the protocol of calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Casemate
from tools_kit import FRAMES, HOSTILE, Tools


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    return Tools(casemate, tmp_path)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_guest_that_breaks_the_protocol_disturbs_nobody(kit: Tools, what: str) -> None:
    kit.tool("peer.echo", durable="false")
    ended = kit.run(FRAMES + "print('on', flush=True)\n" + HOSTILE[what], "--wall", "3s")
    outcome = ended.outcome
    assert outcome["stdout"]["text"] == "on\n" and outcome["teardown"]["verdict"] == "destroyed", outcome["report"]
    assert outcome["status"] in ("ok", "limit", "error"), outcome["report"]
    assert len(kit.kinds("verdict")) == len(kit.kinds("result")) == len(kit.effects)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', '{"a": "\\ud800"}', "[1]", '{"a": NaN}', '{"a": 1e999999999999}', "{" * 10, '{"a": ' * 100 + "1" + "}" * 100, "\\xff"],
)  # fmt: skip
def test_arguments_that_are_no_json_are_refused(kit: Tools, text: str) -> None:
    kit.tool("peer.echo", arguments="'''{\"type\": \"object\"}'''")
    program = FRAMES + f"os.write(3, call(1, text={text!r}.encode('latin-1')))\nimport time; time.sleep(0.5)\nprint(os.read(3, 9999))"
    outcome = kit.run(program).outcome
    assert "invalid" in outcome["stdout"]["text"] or outcome["status"] == "ok", outcome["report"]
    if "e999" not in text:
        assert kit.effects == [] and outcome["calls"][0]["status"] == "invalid", outcome["calls"]
