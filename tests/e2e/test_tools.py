"""Capabilities as functions: each call judged and recorded before it takes effect."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from conftest import Casemate
from tools_kit import IMPORT, SOURCES, Tools


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Tools:
    return Tools(casemate, tmp_path)


def test_a_call_is_judged_recorded_made_and_told(kit: Tools) -> None:
    kit.tool("peer.echo")
    outcome = kit.run("print(tools.peer.echo(a=1))").outcome
    assert outcome["stdout"]["text"] == "{'a': 1}\n", outcome["report"]
    (call,) = outcome["calls"]
    assert (call["capability"], call["verdict"], call["status"]) == ("peer.echo", "allow", "ok")
    assert call["id"].startswith(outcome["run_id"]) and "policy_digest" in outcome
    (effect,) = kit.effects
    assert effect == {"capability": "peer.echo", "idempotency_key": call["id"], "run": outcome["run_id"]}
    (verdict,), (result,) = kit.kinds("verdict"), kit.kinds("result")
    assert (verdict["verdict"], verdict["run"], verdict["call"]) == ("allow", outcome["run_id"], call["id"])
    assert result["call"] == call["id"] and result["status"] == "ok" and verdict["seq"] < result["seq"]
    assert '"a"' not in json.dumps(kit.records), "payloads are not stored"


def test_forty_calls_are_forty_records(kit: Tools) -> None:
    kit.tool("peer.echo")
    assert kit.printed("print(sum(tools.peer.echo(n=n)['n'] for n in range(40)))") == "780\n"
    assert (len(kit.effects), len(kit.kinds("verdict")), len(kit.kinds("result"))) == (40, 40, 40)
    kit.printed("print(sum(n * n for n in range(40)))")
    assert len(kit.kinds("verdict")) == 40, "what is computed in the box is no call"


@pytest.mark.parametrize("policy", ['[permissions]\ndeny = ["peer.*"]\nallow = ["*"]\n', 'default = "deny"\n'])
def test_what_is_denied_has_no_effect_and_can_be_caught(kit: Tools, policy: str) -> None:
    kit.tool("peer.echo")
    kit.policy = policy + SOURCES
    program = """
from concurrent.futures import ThreadPoolExecutor
def one(n):
    try: return tools.peer.echo(n=n)
    except ToolDenied as e: return e.code
print(one(0), set(map(one, range(20))), set(ThreadPoolExecutor(4).map(one, range(20))))
"""
    assert kit.printed(program) == "denied {'denied'} {'denied'}\n"
    assert kit.effects == [] and {r["verdict"] for r in kit.kinds("verdict")} == {"deny"}
    assert len(kit.kinds("verdict")) == 41


def test_an_ask_that_nobody_can_answer_is_a_denial(kit: Tools) -> None:
    kit.tool("peer.echo")
    kit.policy = '[permissions]\nask = ["peer.echo"]\n' + SOURCES
    printed = kit.printed("try: tools.peer.echo()\nexcept ToolDenied as e: print(e.message, '|', e.rule)")
    assert "nobody is there" in printed and "peer.echo" in printed
    assert kit.effects == [] and [r["verdict"] for r in kit.kinds("verdict")] == ["ask"]
    assert len(kit.kinds("approval")) == 1


def test_without_tools_nothing_is_granted(casemate: Casemate) -> None:
    program = IMPORT + "import os\nfor n in ('a.b', 'ledger.read'):\n    try: tools[n]()\n    except ToolError as e: print(e.code)\nprint(tools.search(), tools.search('x'), [k for k in os.environ if 'TOOL' in k], dir(tools))"
    outcome = casemate.python(program).outcome
    assert outcome["stdout"]["text"] == "not_granted\nnot_granted\n[] [] [] ['call', 'describe', 'search']\n", outcome["report"]
    assert [call["status"] for call in outcome["calls"]] == ["not_granted"] * 2


def test_an_unknown_name_is_told_what_is_near(kit: Tools) -> None:
    kit.tool("ledger.read")
    printed = kit.printed("for n in ('ledger.raed', 'zzz'):\n    try: tools[n]()\n    except ToolError as e: print(e.code, e)")
    assert "not_granted ledger.raed: not granted; near it are ledger.read" in printed and "zzz" in printed


SCHEMA = """'''{"type": "object", "additionalProperties": false, "required": ["amount"],
 "properties": {"amount": {"type": "number"}, "to": {"type": "string"}, "class": {"type": "string"}}}'''"""


def test_arguments_that_break_the_schema_have_no_effect(kit: Tools) -> None:
    kit.tool("peer.echo", arguments=SCHEMA)
    program = """
for bad in ({}, {"amount": "1"}, {"amount": 1, "x": 2}, {"amount": None}):
    try: tools.peer.echo(**bad)
    except ToolError as e: print(e.code, e.effect, "amount" in e.message or "x" in e.message)
print(tools.peer.echo(amount=1, class_="c"))
"""
    assert kit.printed(program) == "invalid False True\n" * 4 + "{'amount': 1, 'class': 'c'}\n"
    assert len(kit.effects) == 1 and len(kit.kinds("verdict")) == 1


def test_an_argument_that_is_no_python_name_has_a_spelling(kit: Tools) -> None:
    schema = '{"type": "object", "additionalProperties": false, "properties": {"content-type": {}, "from": {}, "from_": {}}}'
    kit.tool("peer.echo", arguments=f"'''{schema}'''")
    program = """
print(tools.search()[0]["signature"])
print(tools.peer.echo(content_type=1), tools.peer.echo(**{"content-type": 2}), tools.peer.echo(**{"from": 3}))
"""
    signature, printed = kit.printed(program).splitlines()
    assert "content_type" in signature
    assert printed == "{'content-type': 1} {'content-type': 2} {'from': 3}"


def test_numbers_cross_exactly(kit: Tools) -> None:
    result = """'''{"type": "object", "properties": {"d": {"type": ["number", "string"], "format": "decimal"}}}'''"""
    kit.tool("peer.raw", result=result)
    program = """
from decimal import Decimal as D
def get(text): return tools.peer.raw(json='{"d": %s}' % text)["d"]
print(get("100.00000000000000001"), get("0.1") == D("0.1"), get('"0.1"') + get("0.2"))
print(tools.peer.raw(json='{"n": 18446744073709551616, "m": -0.5}'))
for bad in ("NaN", "Infinity", '"1,00"', '"x"'):
    try: print(get(bad))
    except ToolError as e: print(e.code, e.effect)
"""
    printed = kit.printed(program).splitlines()
    assert printed[0] == "100.00000000000000001 True 0.3"
    assert printed[1] == "{'n': 18446744073709551616, 'm': -0.5}"
    assert all(line.endswith("None") for line in printed[2:]) and len(printed) == 6


def test_large_results_and_many_calls(kit: Tools) -> None:
    kit.tool("peer.large")
    kit.tool("peer.echo", durable="false")
    program = """
print(len(tools.peer.large(bytes=10_000_000)))
print(sum(tools.peer.echo(n=n)["n"] for n in range(10000)))
try: tools.peer.large(bytes=20_000_000)
except ToolError as e: print(e.code, e.effect)
print(tools.peer.echo(n=1))
"""
    printed = kit.printed(program, "--wall", "60s", "--cpu-time", "60s", "--memory", "1GiB", timeout=120)
    assert printed == "10000000\n49995000\nunknown None\n{'n': 1}\n"


FAULTS = {
    "peer.fail": ("{}", "failed None no luck"),
    "peer.object_error": ("{}", "failed None an object says it"),
    "peer.die": ("{}", "unknown None"),
    "peer.flood": ("{}", "unknown None"),
    "peer.line": ("{'line': 'garbage'}", "unknown None"),
    "peer.line ": ("{'line': '{\"id\": 999, \"result\": 1}'}", "unknown None"),
    "peer.line  ": ("{'line': '{\"id\": ID, \"result\": 1, \"error\": 2}'}", "unknown None"),
    "peer.raw": ("{'json': '[1,'}", "unknown None"),
    "peer.raw ": ("{'json': '[NaN]'}", "unknown None"),
    "peer.raw  ": ("{'json': '[' * 200 + ']' * 200}", "unknown None"),
    "peer.silent": ("{}", "unknown None"),
    "peer.slow": ("{'seconds': 5}", "unknown None"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_peer_that_does_wrong_costs_that_call_alone(kit: Tools, what: str) -> None:
    arguments, says = FAULTS[what]
    kit.tool(what.strip(), time_max='"1s"')
    kit.tool("peer.echo")
    program = f"""
try: print(tools["{what.strip()}"](**{arguments}))
except ToolError as e: print(e.code, e.effect, e.message)
print(tools.peer.echo(n=1))
"""
    if what == "peer.slow":
        program = program.replace("print(tools.peer.echo", "import time; time.sleep(5)\nprint(tools.peer.echo")
    first, last = kit.printed(program).splitlines()
    assert first.startswith(says) and last == "{'n': 1}", (first, last)
    assert len(kit.kinds("verdict")) == len(kit.kinds("result")) == 2


def test_sixty_four_at_once(kit: Tools) -> None:
    kit.tool("peer.echo")
    program = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
print(sum(ThreadPoolExecutor(64).map(lambda n: tools.peer.echo(n=n)["n"], range(640))))
async def main(): return await asyncio.gather(*(tools.peer.echo.aio(n=n) for n in range(200)))
print(sum(r["n"] for r in asyncio.run(main())))
"""
    assert kit.printed(program) == "204480\n19900\n"
    assert len(kit.effects) == 840 and len({e["idempotency_key"] for e in kit.effects}) == 840


def test_labels_grow_and_turn_an_allowed_call_into_one_that_asks(kit: Tools) -> None:
    kit.tool("web.fetch", labels='["untrusted"]')
    kit.tool("mail.send")
    kit.policy = """
[permissions]
allow = ["web.fetch", "mail.send"]
[labels.sources]
[labels.sinks]
"mail.send" = "external"
[[flow]]
when = "untrusted in run and sink == external"
verdict = "ask"
reason = "the program has read untrusted content"
"""
    program = """
import threading
tools.mail.send(to="a")
def read():
    try: tools.web.fetch(url="u")
    except ToolError: pass
t = threading.Thread(target=read); t.start(); t.join()
try: print(tools.mail.send(to="b"))
except ToolDenied as e: print(e.reason)
"""
    outcome = kit.run(program, "--allow-below-floor").outcome
    assert outcome["stdout"]["text"] == "the program has read untrusted content (untrusted by web.fetch)\n", outcome["report"]
    assert outcome["labels"] == ["untrusted"]
    assert [e["capability"] for e in kit.effects] == ["mail.send", "web.fetch"]
    asked = kit.kinds("verdict")[-1]
    assert asked["verdict"] == "ask" and asked["labels"] == ["untrusted"]


def test_a_capability_that_reads_untrusted_content_makes_the_request_hostile(kit: Tools) -> None:
    kit.tool("web.fetch", labels='["untrusted"]')
    outcome = kit.run("print(1)").outcome
    assert (outcome["status"], outcome["reason"]["code"]) == ("refused", "isolation_unavailable"), outcome["report"]
    assert "web.fetch" in outcome["reason"]["message"] and "hostile" in outcome["reason"]["message"]
    labelled = kit.casemate.python("print(1)", "--label", "untrusted").outcome
    assert labelled["reason"]["code"] == "isolation_unavailable" and "label" in labelled["reason"]["message"]


def test_a_log_that_cannot_be_written_means_that_nothing_is_called(kit: Tools) -> None:
    kit.tool("peer.echo")
    (kit.folder / "audit").write_text("no directory")
    ended = kit.run("tools.peer.echo()")
    assert ended.outcome["reason"]["code"] == "audit_unavailable" and kit.effects == []


def test_two_at_once_write_each_their_own_log(kit: Tools) -> None:
    kit.tool("peer.slow")
    options = ["run", "--json", "--trust", "trusted", *kit.write(), "-c", IMPORT + "print(tools.peer.slow(seconds=1))"]
    both = [kit.casemate.start(*options) for _ in range(2)]
    outcomes = [json.loads(one.communicate(timeout=60)[0]) for one in both]
    assert [o["stdout"]["text"] for o in outcomes] == ["slept\n"] * 2, outcomes
    assert sorted(os.listdir(kit.folder / "audit/writers")) == ["run-0", "run-1"]
    verified = kit.casemate.call("audit", "verify", "--audit", kit.folder / "audit")
    assert verified.exit_code == 0, verified


def test_mistakes_in_the_files_are_told_together_and_nothing_runs(kit: Tools) -> None:
    kit.tool("peer.echo", tier="7", effects='["spendx"]', typo="1")
    kit.tool("bad name!", time_max='"never"')
    ended = kit.casemate.call("run", "--trust", "trusted", *kit.write(), "-c", "print(1)")
    lines = ended.stderr.splitlines()
    assert ended.exit_code == 2 and ended.stdout == b"" and len(lines) == 5, ended
    assert all("tools.toml:" in line for line in lines), lines
    kit.entries, kit.policy = [], 'default = "maybe"\n[permissions]\nalow = []\n'
    ended = kit.casemate.call("run", "--trust", "trusted", *kit.write(), "-c", "print(1)")
    assert ended.exit_code == 2 and len(ended.stderr.splitlines()) == 2 and "policy.toml:1:" in ended.stderr, ended


def test_a_program_outside_of_a_box_has_to_be_accepted_by_name(kit: Tools) -> None:
    kit.tool("peer.echo")
    options = [option for option in kit.write() if option not in ("--weaken", "unboxed-connector")]
    ended = kit.casemate.call("run", "--trust", "trusted", *options, "-c", "print(1)")
    assert ended.exit_code == 2 and "--weaken unboxed-connector" in ended.stderr, ended


def test_a_connector_has_nothing_of_our_environment_but_what_it_needs(kit: Tools) -> None:
    kit.tool("peer.environment")
    printed = kit.printed("print(sorted(tools.peer.environment()))", env={"SECRET": "s"})
    assert "SECRET" not in printed and "PATH" in printed and "CASEMATE_AUDIT" not in printed


def test_a_box_that_ends_with_calls_under_way_is_over_at_once(kit: Tools) -> None:
    kit.tool("peer.slow", time_max='"2s"')
    program = """
import threading, time, os
for _ in range(4): threading.Thread(target=lambda: tools.peer.slow(seconds=1), daemon=True).start()
time.sleep(0.3); os._exit(3)
"""
    ended = kit.run(program)
    assert ended.outcome["exit_code"] == 3, ended.outcome["report"]
    assert len(kit.kinds("verdict")) == len(kit.kinds("result")) == 4, "what was begun is recorded all the same"


def test_discovery(kit: Tools) -> None:
    kit.tool("ledger.read", description='"Reads the ledger of a tenant."', arguments=SCHEMA)
    kit.tool("git.delete-repo")
    kit.tool("mail.send", description='"Sends a message."')
    program = """
print([t["name"] for t in tools.search("tenant ledger")], dir(tools), dir(tools.git))
print(tools.search("ledger")[0]["signature"])
print("Reads the ledger" in tools.describe("ledger.read"), tools.git.delete_repo())
"""
    first, signature, last = kit.printed(program).splitlines()
    assert first.startswith("['ledger.read'] ['call', 'describe', 'git', 'ledger', 'mail', 'search'] ['aio', 'delete_repo']")
    assert "amount" in signature and last.startswith("True {'called': 'git.delete-repo'")
    assert kit.kinds("verdict")[-1]["capability"] == "git.delete-repo" and len(kit.kinds("verdict")) == 1


def test_every_tool_that_is_listed_can_be_called(kit: Tools) -> None:
    for name in ("a.one", "a.two-b", "b.class", "plain", "search"):
        kit.tool(name)
    program = """
for found in tools.search(limit=100):
    path = found["signature"].partition("(")[0]
    print(found["name"], eval(path)()["called"], tools[found["name"]]()["called"])
try: tools.no_such_tool()
except ToolError as e: print(e.code)
"""
    *lines, last = kit.printed(program).splitlines()
    assert len(lines) == 5 and all(len(set(line.split())) == 1 for line in lines) and last == "not_granted", lines


def test_calls_leave_no_memory_behind(kit: Tools) -> None:
    kit.tool("peer.echo", durable="false")
    program = """
def held():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
t = "x" * 500_000
for _ in range(20): tools.peer.echo(t=t)
before = held()
for _ in range(300): tools.peer.echo(t=t)
print(held() - before < 20_000)
"""
    process = kit.casemate.start("run", "--json", "--trust", "trusted", *kit.write(), "--cpu-time", "60s", "--wall", "60s", "-c", IMPORT + program)
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            most = max(most, next((int(x.split()[1]) for x in status.splitlines() if x.startswith("VmRSS")), 0))
        except OSError:
            break
        time.sleep(0.05)
    outcome = json.loads(process.communicate()[0])
    assert outcome["stdout"]["text"] == "True\n", outcome["report"]
    assert kit.casemate.sanitized or 0 < most < 120_000, most


def test_a_call_takes_no_fresh_memory_from_the_kernel(kit: Tools) -> None:
    """A buffer that is mapped and unmapped for each answer costs more than the call: it shows as page faults."""
    kit.tool("peer.echo", durable="false")
    program = """
import resource
def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for n in range(calls): tools.peer.echo(n=n)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(200)
print(faults(400))
"""
    assert int(kit.printed(program)) < 200


def test_a_long_call_meets_the_wall_clock(kit: Tools) -> None:
    kit.tool("peer.silent", time_max='"10s"')
    ended = kit.run("tools.peer.silent()", "--wall", "1s")
    assert ended.outcome["limit"]["name"] == "wall" and ended.seconds < 20


def test_the_example(casemate: Casemate, tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples/ledgers"
    options = ["--tools", example / "tools.toml", "--policy", example / "policy.toml", "--audit", tmp_path / "audit"]
    ended = casemate.run(*options, "--weaken", "unboxed-connector", example / "settle.py")
    lines = ended.outcome["stdout"]["text"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["acme-07", "acme-10", "acme-13"], ended.outcome["report"]
    assert len(ended.outcome["calls"]) == 28 and os.listdir(tmp_path / "audit/writers") == ["run-0"]


def test_the_tree_of_tools_is_files_that_cannot_be_changed(kit: Tools) -> None:
    kit.tool("ledger.read", description='"Reads the ledger of a tenant."')
    program = """
import os, subprocess
print(subprocess.run("cd /tools && find . -type f | sort; cat ledger/read.pyi", shell=True, capture_output=True, text=True).stdout)
for act in (lambda: open('/tools/ledger/read.pyi', 'w'), lambda: open('/tools/x', 'w'), lambda: os.unlink('/tools/ledger/read.pyi'),
            lambda: os.chmod('/tools/ledger', 0o777), lambda: os.rename('/tools', '/t')):
    try: act()
    except OSError as error: print(error.errno in (1, 13, 16, 18, 30))
    else: print("changed")
"""
    printed = kit.printed(program)
    assert "./ledger/read.pyi" in printed and "Reads the ledger of a tenant." in printed and "def read(" in printed
    assert printed.splitlines()[-5:] == ["True"] * 5


def test_the_tree_is_that_of_the_run_and_there_is_none_without_tools(kit: Tools, casemate: Casemate) -> None:
    look = "import os\nprint(sorted(os.listdir('/tools')) if os.path.exists('/tools') else None)"
    kit.tool("one.first")
    before = kit.printed(look)
    kit.tool("two.second")
    assert "two" in kit.printed(look) and "two" not in before
    assert casemate.python(look).outcome["stdout"]["text"] == "None\n"


def test_thousands_of_capabilities_cost_a_program_nothing_until_it_looks(kit: Tools) -> None:
    few = kit.run("print(1)").outcome["usage"]["minor_faults"]
    for number in range(5000):
        kit.tool(f"space{number % 50}.call{number}", description=f'"Does the thing number {number}."')
    outcome = kit.run("print(1)").outcome
    assert outcome["stdout"]["text"] == "1\n" and outcome["usage"]["minor_faults"] < few * 1.1 + 50
    program = "import os\nprint(sum(len(f) for _, _, f in os.walk('/tools')), open('/tools/space7/call4007.pyi').read().count('4007'))"
    assert kit.printed(program).split()[0] == "5000"
