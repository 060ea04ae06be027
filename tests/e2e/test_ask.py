"""Calls that policy asks a person about: who answers, what an answer is worth, and what is not one."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from ask_kit import CATCH, POLICY, SCHEMA, Asking, Terminal, ask_program
from conftest import Casemate
from tools_kit import Tools


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    made = Tools(casemate, tmp_path)
    made.policy = POLICY
    made.tool("peer.echo", arguments=SCHEMA)
    made.tool("peer.object")
    made.tool("peer.slow")
    return made


def the_call(outcome: dict[str, Any]) -> dict[str, Any]:
    (call,) = [call for call in outcome["calls"] if call["capability"] == "peer.echo"]
    found: dict[str, Any] = call
    return found


def effects(kit: Tools) -> int:
    return sum(effect["capability"] == "peer.echo" for effect in kit.effects)


def test_what_is_allowed_is_made_once(kit: Tools) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    assert (ask["capability"], json.loads(ask["arguments"]), ask["rule"]) == ("peer.echo", {"to": "a"}, "permissions.ask: peer.echo")
    assert effects(kit) == 0
    assert run.approvals("allow", ask["id"]).exit_code == 0
    outcome = run.ended()
    assert outcome["stdout"]["text"] == "{'to': 'a'}\n", outcome["report"]
    call = the_call(outcome)
    assert (call["id"], call["verdict"], call["status"]) == (ask["id"], "ask", "ok")
    assert (call["asked"]["answer"], call["asked"]["by"], call["asked"]["edited"]) == ("allow", "approvals", False)
    assert effects(kit) == 1
    (verdict,), (approval,), (result,) = kit.kinds("verdict"), kit.kinds("approval"), kit.kinds("result")
    assert (approval["asked"], approval["verdict"], approval["by"]) == (verdict["seq"], "allow", "approvals")
    assert verdict["seq"] < approval["seq"] < result["seq"] and "arguments_sha256" not in approval


def test_an_answer_is_for_one_call(kit: Tools) -> None:
    run = Asking(kit, CATCH + CATCH)
    (first,) = run.asks()
    run.approvals("allow", first["id"])
    assert run.casemate.call("approvals", "show", first["id"]).exit_code == 1
    (second,) = run.asks()
    assert second["id"] != first["id"]
    run.approvals("deny", second["id"])
    assert [line[:6] for line in run.ended()["stdout"]["text"].splitlines()] == ["{'to':", "denied"]
    assert effects(kit) == 1


def test_what_is_denied_is_caught_with_its_reason(kit: Tools) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    assert run.approvals("deny", ask["id"], "--reason", "not before Monday").exit_code == 0
    outcome = run.ended()
    assert "a person refused it: not before Monday" in outcome["stdout"]["text"], outcome["report"]
    assert the_call(outcome)["status"] == "denied" and effects(kit) == 0
    (approval,) = kit.kinds("approval")
    assert (approval["verdict"], approval["reason"]) == ("deny", "not before Monday")


def test_edited_arguments_are_what_is_made(kit: Tools) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    assert run.approvals("allow", ask["id"], "--arguments", '{"to": "b"}').exit_code == 0
    outcome = run.ended()
    assert outcome["stdout"]["text"] == "{'to': 'b'}\n", outcome["report"]
    assert the_call(outcome)["asked"]["edited"] is True
    (verdict,), (approval,) = kit.kinds("verdict"), kit.kinds("approval")
    assert len(approval["arguments_sha256"]) == 64 and approval["arguments_sha256"] != verdict["arguments_sha256"]


@pytest.mark.parametrize("text", ['{"to": 7}', "{}", '{"to": "b", "to": "c"}', "nonsense", "[]"])
def test_arguments_that_the_schema_refuses_are_no_answer(kit: Tools, text: str) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    refused = run.approvals("allow", ask["id"], "--arguments", text)
    assert refused.exit_code == 2 and refused.stderr.startswith("casemate approvals: its arguments") or "to" in refused.stderr
    assert run.asks() and effects(kit) == 0
    run.approvals("deny", ask["id"])
    run.ended()


def test_what_policy_denies_stays_denied_whoever_allows_it(kit: Tools) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    assert run.approvals("allow", ask["id"], "--arguments", '{"to": "nobody"}').exit_code == 0
    outcome = run.ended()
    assert "policy does not" in outcome["stdout"]["text"], outcome["report"]
    assert effects(kit) == 0
    (approval,) = kit.kinds("approval")
    assert approval["verdict"] == "deny" and "policy denies" in approval["reason"]


def test_a_second_answer_is_refused(kit: Tools) -> None:
    run = Asking(kit, CATCH + "tools.peer.slow(seconds=1)")
    (ask,) = run.asks()
    assert run.approvals("deny", ask["id"]).exit_code == 0
    again = run.approvals("allow", ask["id"])
    assert again.exit_code == 1 and "it was denied already (approvals)" in again.stderr, again
    assert "denied" in run.ended()["stdout"]["text"] and effects(kit) == 0


def test_nobody_answers_in_time(kit: Tools) -> None:
    run = Asking(kit, CATCH + "tools.peer.slow(seconds=1)", "--ask-timeout", "1s")
    (ask,) = run.asks()
    outcome = run.ended()
    assert "nobody answered in time" in outcome["stdout"]["text"], outcome["report"]
    asked = the_call(outcome)["asked"]
    assert asked["answer"] == "expired" and 900 <= asked["waited_ms"] < 5000 and effects(kit) == 0
    assert run.approvals("allow", ask["id"]).exit_code == 1
    (approval,) = kit.kinds("approval")
    assert (approval["verdict"], approval["by"]) == ("deny", "nobody")


def test_a_late_answer_is_refused(kit: Tools) -> None:
    run = Asking(kit, CATCH + "tools.peer.slow(seconds=3)", "--ask-timeout", "1s")
    (ask,) = run.asks()
    while run.listed():
        pass
    late = run.approvals("allow", ask["id"])
    assert late.exit_code == 1 and "nobody answered in time" in late.stderr, late
    run.ended()
    assert effects(kit) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_cancelled_while_it_waits(kit: Tools, number: signal.Signals) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    run.process.send_signal(number)
    outcome = run.ended(20)
    assert outcome["status"] == "cancelled" and the_call(outcome)["asked"]["answer"] == "over"
    (approval,) = kit.kinds("approval")
    assert (approval["verdict"], approval["reason"]) == ("deny", "the run is over")
    assert run.approvals("allow", ask["id"]).exit_code == 1 and effects(kit) == 0


def test_threads_ask_together(kit: Tools) -> None:
    run = Asking(kit, ask_program(8))
    asks = run.asks(8)
    assert sorted(json.loads(ask["arguments"])["to"] for ask in asks) == [str(n) for n in range(8)]
    for ask in reversed(asks):
        assert run.approvals("allow", ask["id"]).exit_code == 0
    assert run.ended()["stdout"]["text"] == str([str(n) for n in range(8)]) + "\n"


def test_the_source_of_each_label_is_shown(kit: Tools) -> None:
    run = Asking(kit, "tools.peer.object()\n" + CATCH, "--label", "private")
    (ask,) = run.asks()
    labels = {label["label"]: label["source"] for label in ask["labels"]}
    assert labels == {"private": "the harness", "untrusted": "peer.object"}, labels
    shown = run.approvals("show", ask["id"]).stdout.decode()
    assert "untrusted (from peer.object)" in shown and '"to": "a"' in shown, shown
    run.approvals("deny", ask["id"])
    run.ended()


@pytest.mark.parametrize("how", [["--ask", "deny"], []])
def test_unattended_it_is_a_denial(kit: Tools, how: list[str]) -> None:
    printed = kit.printed(CATCH + "print('on')", "--allow-below-floor", *how)
    assert "nobody is there to be asked" in printed and printed.endswith("on\n") and effects(kit) == 0


def test_who_is_asked_has_to_be_there(kit: Tools) -> None:
    ended = kit.casemate.call("run", "--trust", "trusted", "--allow-below-floor", "--ask", "terminal", *kit.write(), "-c", "1")
    assert ended.exit_code == 2 and "--ask terminal needs one" in ended.stderr, ended
    ended = kit.casemate.call("run", "--ask", "wait", "--ask-timeout", "0s", *kit.write(), "-c", "1")
    assert ended.exit_code == 2 and "--ask-timeout takes 1s to 7d" in ended.stderr, ended


def test_a_peer_that_is_none_answers_nothing(kit: Tools) -> None:
    run = Asking(kit, CATCH)
    (ask,) = run.asks()
    place = Path("/run/casemate" if os.geteuid() == 0 else f"{kit.casemate.runtime}/casemate")
    path = place / f"{run.process.pid}.sock"
    assert path.stat().st_mode & 0o777 == 0o600 and place.stat().st_mode & 0o777 == 0o700
    silent = socket.socket(socket.AF_UNIX)  # says nothing and stays
    silent.connect(str(path))
    for words in (b"\xff\n", b"{}\n", b'{"do":"allow"}\n', b"x" * (5 << 20)):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(20)
        peer.connect(str(path))
        try:
            peer.sendall(words)
            assert b"error" in peer.recv(65536) or len(words) > 100
        except OSError:
            assert len(words) > 100
        peer.close()
    assert run.asks() and effects(kit) == 0
    silent.close()
    run.approvals("deny", ask["id"])
    run.ended()
    assert not path.exists()


def test_a_terminal_is_asked(kit: Tools) -> None:
    person = Terminal(kit, "tools.peer.object()\nprint(tools.peer.echo(to='\\x1b[2Jhi\\u202e'))\n" + CATCH * 2)
    shown = person.until("dit the arguments?")
    assert "1 call has to be approved" in shown and "untrusted (from peer.object)" in shown
    assert "permissions.ask: peer.echo" in shown and "\x1b[2J" not in shown and "\u202e" not in shown
    person.type("a")
    person.until("1 call has")
    person.until("dit the arguments?")
    person.type("maybe")
    person.until("dit the arguments?")
    person.type("d too early")
    assert "a person refused it: too early" in person.until("too early\r\n", 10) + person.until("dit the arguments?")
    person.type("e")
    person.until("one line of JSON:")
    person.type('{"to": 7}')
    person.until("should be a string")
    person.until("dit the arguments?")
    person.type('e {"to": "edited"}')
    person.until("{'to': 'edited'}")
    assert person.end() == 0, person.shown
    assert effects(kit) == 2 and {approval["by"] for approval in kit.kinds("approval")} == {"terminal"}


def test_what_was_typed_before_the_question_is_no_answer(kit: Tools) -> None:
    person = Terminal(kit, "print('on', flush=True)\ntools.peer.slow(seconds=2)\n" + CATCH)
    person.until("on")
    person.type("a")
    person.until("dit the arguments?")
    time.sleep(1)
    assert effects(kit) == 0
    person.type("d")
    person.until("a person refused it")
    assert person.end() == 0


def test_a_terminal_shows_all_before_it_asks(kit: Tools) -> None:
    person = Terminal(kit, ask_program(3))
    shown = person.until("dit the arguments?")
    assert "3 calls have to be approved" in shown and all(f'"to": "{n}"' in shown for n in range(3)), shown
    person.type("a\na\na")
    person.until("['0', '1', '2']")
    assert person.end() == 0


def test_a_terminal_sees_that_another_has_answered(kit: Tools) -> None:
    person = Terminal(kit, CATCH)
    shown = person.until("dit the arguments?")
    call = shown.split("  id        ")[1].split("\r\n")[0]
    assert kit.casemate.call("approvals", "allow", call).exit_code == 0
    person.until("{'to': 'a'}")
    assert person.end() == 0


def test_control_c_at_the_question_ends_the_run(kit: Tools) -> None:
    person = Terminal(kit, CATCH)
    person.until("dit the arguments?")
    os.killpg(person.process.pid, signal.SIGINT)
    assert person.end() == 6 and effects(kit) == 0


def test_nobody_is_asked_without_tools(casemate: Casemate) -> None:
    for how in ("wait", "nonsense"):
        ended = casemate.call("run", "--trust", "trusted", "--ask", how, "-c", "1")
        assert ended.exit_code == 2 and "--tools, which is not given" in ended.stderr, ended
