"""casemate reconcile: what the audit log says, held against what others saw. `casemate tap` is one of those others."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Casemate, Ended, wait_for, weigh
from tools_kit import Tools

EXAMPLE = ROOT / "examples/ledgers"
KILLS = 6
PYTHON = "/usr/bin/python3"
# Where the calls go: nine of them, of which one is not allowed, and one product.
NINE = """
from pathlib import Path
import casemate
for n in range(8): tools.peer.echo(n=n)
try: tools.peer.fail()
except ToolError: pass
try: tools.peer.denied()
except ToolDenied: pass
Path("p.txt").write_text("product")
casemate.artifact("p.txt")
"""


class Told:
    """What reconcile says."""

    def __init__(self, ended: Ended) -> None:
        self.exit_code = ended.exit_code
        self.document: dict[str, Any] = json.loads(ended.stdout)
        assert self.document["complete"] == (ended.exit_code == 0), ended
        self.questions = {one["name"]: one for one in self.document["questions"]}

    def of(self, name: str) -> tuple[int, int]:
        return self.questions[name]["good"], self.questions[name]["whole"]

    def offenders(self, name: str) -> dict[str, int]:
        found: dict[str, int] = self.questions[name]["offenders"]
        return found

    def first(self, name: str, kind: str) -> list[str]:
        return [one["id"] for one in self.questions[name]["first"] if one["kind"] == kind]


class Kit(Tools):
    """Runs whose boxes, outcomes and effects are kept in files of the test's own."""

    observer = "peer.log"

    def __init__(self, casemate: Casemate, folder: Path) -> None:
        super().__init__(casemate, folder)
        self.policy = '[permissions]\ndeny = ["peer.denied"]\nallow = ["*"]\n[labels.sources]\n'
        for name in ("peer.echo", "peer.fail", "peer.denied", "peer.slow"):
            self.tool(name)

    def file(self, name: str) -> Path:
        return self.folder / name

    def go(self, program: str = NINE, *options: str) -> dict[str, Any]:
        ended = self.run(program, "--records", str(self.file("boxes.jsonl")), "--out", str(self.file("out")), *options)
        with self.file("outcomes.jsonl").open("ab") as out:
            out.write(ended.stdout)
        return ended.outcome

    def tell(self, *options: str) -> Told:
        return Told(self.reconcile("--json", *options))

    def reconcile(self, *options: str) -> Ended:
        named = ["--audit", str(self.file("audit"))]
        for option, name in (("--effects", self.observer), ("--records", "boxes.jsonl"), ("--outcomes", "outcomes.jsonl")):
            if self.file(name).exists():
                named += [option, str(self.file(name))]
        return self.casemate.call("reconcile", *named, *options)

    def change(self, name: str, line: int, old: str, new: str) -> None:
        lines = self.file(name).read_text().splitlines(keepends=True)
        assert old in lines[line]
        lines[line] = lines[line].replace(old, new)
        self.file(name).write_text("".join(lines))


@pytest.fixture
def casemate_test(casemate: Casemate) -> Casemate:
    """The build with hooks."""
    binary = casemate.binary.with_name("casemate-test")
    if not binary.exists():
        pytest.skip("needs casemate-test beside casemate")
    return Casemate(binary, casemate.runtime, casemate.folder)


@pytest.fixture
def kit(casemate: Casemate, tmp_path: Path) -> Kit:
    return Kit(casemate, tmp_path)


def test_what_happened_is_complete(kit: Kit) -> None:
    kit.go()
    told = kit.tell("--tolerance", "0s")
    assert told.exit_code == 0, told.document
    assert told.of("runs") == told.of("ends") == told.of("layers") == (1, 1)
    assert told.of("verdicts") == (10, 10) and told.of("effects") == told.of("calls") == (9, 9)
    assert told.of("artifacts") == (1, 1)
    text = kit.reconcile()
    assert text.exit_code == 0 and b"9 of 9 observed effects had a prior verdict; 100 %\n" in text.stdout
    assert text.stdout.endswith(b"\ncomplete\n")


@pytest.mark.parametrize("by", ["the peer", "a tap"])
def test_fourteen_ledgers_are_28_verdicts_28_effects_and_one_run(casemate: Casemate, tmp_path: Path, by: str) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "ledgers")
    tools, effects = tmp_path / "ledgers/tools.toml", tmp_path / "effects.jsonl"
    real = '["/usr/bin/python3", "-I", "books.py", "/dev/stderr"]'
    seen = [PYTHON, "-I", "books.py", str(effects)]
    if by == "a tap":
        seen = [str(casemate.binary), "tap", "--to", str(effects), "--", PYTHON, "-I", "books.py", "/dev/null"]
    assert real in tools.read_text()
    tools.write_text(tools.read_text().replace(real, json.dumps(seen)))
    ended = casemate.run("--tools", tools, "--policy", EXAMPLE / "policy.toml", "--weaken", "unboxed-connector",
                         "--audit", tmp_path / "audit", "--records", tmp_path / "boxes", EXAMPLE / "settle.py")  # fmt: skip
    assert [line[:7] for line in ended.outcome["stdout"]["text"].splitlines()] == ["acme-07", "acme-10", "acme-13"]
    told = Told(casemate.call("reconcile", "--audit", tmp_path / "audit", "--effects", effects, "--records",
                              tmp_path / "boxes", "--tolerance", "0s", "--json"))  # fmt: skip
    assert told.exit_code == 0, told.document
    assert told.of("verdicts") == told.of("effects") == told.of("calls") == (28, 28) and told.of("runs") == (1, 1)


def test_a_build_that_goes_past_the_verdict_is_found(casemate_test: Casemate, tmp_path: Path) -> None:
    kit = Kit(casemate_test, tmp_path)
    run = kit.go("for n in range(9): tools.peer.echo(n=n)", "--test-unrecorded", "3")["run_id"]
    told = kit.tell()
    assert told.exit_code == 1
    assert told.of("effects") == (6, 9) and told.of("calls") == (6, 9)
    assert told.first("effects", "unknown_effect") == [f"{run}-{n}-unrecorded" for n in (3, 6, 9)]
    assert told.first("calls", "not_observed") == [f"{run}-{n}" for n in (3, 6, 9)]


def test_absence_is_failure(kit: Kit) -> None:
    run = kit.go()["run_id"]
    for name, question, kind in (("peer.log", "calls", "not_observed"), ("boxes.jsonl", "runs", "no_box"),
                                 ("outcomes.jsonl", "artifacts", "no_outcome")):  # fmt: skip
        kit.file(name).rename(kit.file("aside"))
        told = kit.tell()
        assert told.exit_code == 1 and kind in told.offenders(question), (name, told.document)
        kit.file("aside").rename(kit.file(name))
    assert kit.tell("--run", run).exit_code == 0
    assert kit.tell("--run", "run_of_nobody").exit_code == 1
    assert kit.tell("--since", "2100-01-01").exit_code == 1


def test_what_was_seen_and_never_judged_is_named(kit: Kit) -> None:
    run = kit.go()["run_id"]
    log = kit.file("peer.log")
    lines = log.read_bytes().splitlines(keepends=True)
    bad = {
        "observed_twice": lines[0],
        "unknown_effect": lines[0].replace(f"{run}-1".encode(), b"x-1"),
        "not_allowed": lines[0].replace(f"{run}-1".encode(), f"{run}-10".encode()).replace(b"echo", b"denied"),
        "other_run": lines[0].replace(f'"run": "{run}"'.encode(), b'"run": "run_2"'),
        "other_capability": lines[0].replace(b"peer.echo", b"peer.fail"),
        "unreadable": b'{"at": "2026"}\n',
    }
    for kind, line in bad.items():
        log.write_bytes(b"".join(lines) + line)
        told = kit.tell()
        assert told.exit_code == 1 and told.offenders("effects") == {kind: 1}, (kind, told.document)
        assert told.of("effects") == (9, 10) and told.of("calls") == (9, 9)
    early = json.loads(lines[0]) | {"at": "2020-01-01T00:00:00Z"}
    log.write_bytes(b"".join([json.dumps(early).encode() + b"\n", *lines[1:]]))
    assert kit.tell().first("effects", "before_its_verdict") == [f"{run}-1"]


def test_files_that_nobody_vouches_for(kit: Kit) -> None:
    kit.go()
    good = kit.file("peer.log").read_bytes()
    rubbish = [b"\xff\xfe\n", b"x" * 3_000_000 + b"\n", b'{"a":' * 50_000 + b"\n", b"null\n", b"{}\n", b'{"at":1,"at":2}\n', b"\0\n"]
    kit.file("peer.log").write_bytes(b"".join(rubbish) + good + good[:20])
    told = kit.tell()
    assert told.offenders("effects") == {"unreadable": 8} and told.of("calls") == (9, 9)
    assert kit.reconcile("--effects", "/dev/zero").exit_code == 2
    assert kit.reconcile("--effects", str(kit.file("nowhere"))).exit_code == 4
    kit.file("peer.log").write_bytes(good)
    for name, question in (("boxes.jsonl", "layers"), ("outcomes.jsonl", "artifacts")):
        kept = kit.file(name).read_bytes()
        kit.file(name).write_bytes(kept + b"".join(rubbish[:2]))
        told = kit.tell()
        assert told.exit_code == 1 and told.offenders(question) == {"unreadable": 2}, told.document
        kit.file(name).write_bytes(kept)


def test_a_flood_of_effects_is_joined_in_bounded_memory(kit: Kit) -> None:
    kit.go("tools.peer.echo()")
    with kit.file("peer.log").open("a") as log:
        for n in range(400_000):
            log.write('{"idempotency_key":"k%d","capability":"c","run":"r","at":"2026-01-01T00:00:00Z"}\n' % (n % 300_000))
    process = kit.casemate.start("reconcile", "--json", "--audit", kit.file("audit"), "--effects", kit.file("peer.log"))
    out, _, most = weigh(process, 120)
    questions = {one["name"]: one for one in json.loads(out)["questions"]}
    assert questions["effects"]["offenders"] == {"unknown_effect": 400_000} and questions["effects"]["good"] == 1
    assert kit.casemate.sanitized or most < 120_000_000, most


def test_a_broken_chain_is_joined_with_nothing(kit: Kit) -> None:
    kit.go()
    (segment,) = kit.file("audit/writers").glob("*/*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"verdict":"deny"', b'"verdict":"alow"'))
    told = kit.reconcile()
    assert told.exit_code == 1 and "at fault" in told.stderr and b"changed" in told.stdout


def test_products_are_looked_at_on_the_disk(kit: Kit) -> None:
    product = Path(kit.go()["artifacts"][0]["uri"])
    assert kit.tell().of("artifacts") == (1, 1)
    product.write_text("another")
    assert kit.tell().offenders("artifacts") == {"not_terminal": 1}
    product.unlink()
    assert kit.tell().offenders("artifacts") == {"not_terminal": 1}
    kit.change("outcomes.jsonl", 0, '"state":"stored"', '"state":"pending"')
    assert kit.tell().offenders("artifacts") == {"not_terminal": 1}
    kit.change("outcomes.jsonl", 0, '"state":"pending"', '"state":"failed"')
    assert kit.tell().exit_code == 0


@pytest.mark.parametrize("start", ["hot", "cold", "auto"])
def test_every_run_has_its_three_records(casemate: Casemate, tmp_path: Path, start: str) -> None:
    audit, boxes = tmp_path / "audit", tmp_path / "boxes"
    ended = casemate.call("run", "--trust", "trusted", "--start", start, "--repeat", "4", "--audit", audit,
                          "--records", boxes, "-c", "print(1)", timeout=120)  # fmt: skip
    assert ended.exit_code == 0, ended
    told = Told(casemate.call("reconcile", "--audit", audit, "--records", boxes, "--json"))
    assert told.exit_code == 0 and told.of("runs") == told.of("ends") == (4, 4), told.document
    records = [json.loads(line) for line in (audit / "writers/run-0/00000001.jsonl").read_text().splitlines()]
    steps = [(record["run"], record["step"], record.get("status")) for record in records if record["kind"] == "run"]
    assert [step[1:] for step in steps] == [("allocated", None), ("executed", "ok"), ("torn_down", "destroyed")] * 4
    assert len({run for run, _, _ in steps}) == 4


ENDS = {"error": "raise SystemExit(3)", "limit": "while True: pass"}


@pytest.mark.parametrize("status", [*ENDS, "cancelled"])
def test_however_a_run_ends_it_is_recorded(casemate: Casemate, tmp_path: Path, status: str) -> None:
    options = ["--audit", str(tmp_path / "audit"), "--records", str(tmp_path / "boxes")]
    if status == "cancelled":
        process = casemate.start("run", "--trust", "trusted", *options, "-c", "print('x', flush=True)\nwhile True: pass")
        assert process.stdout is not None and process.stdout.readline() == b"x\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    else:
        assert casemate.python(ENDS[status], *options, "--wall", "1s").outcome["status"] == status
    told = Told(casemate.call("reconcile", *options, "--json"))
    assert told.exit_code == 0, told.document
    assert f'"status":"{status}"' in (tmp_path / "audit/writers/run-0/00000001.jsonl").read_text()


def test_a_box_that_cannot_be_made_is_never_executed(casemate_test: Casemate, tmp_path: Path) -> None:
    options = ["--audit", str(tmp_path / "audit"), "--records", str(tmp_path / "boxes")]
    assert casemate_test.python("print(1)", "--test-fail-stage", "10", *options).outcome["status"] == "unavailable"
    records = [json.loads(line) for line in (tmp_path / "audit/writers/run-0/00000001.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records if record["kind"] == "run"] == ["allocated", "torn_down"]
    assert Told(casemate_test.call("reconcile", *options, "--json")).exit_code == 0


def test_what_cannot_be_recorded_does_not_run(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("no directory")
    outcome = casemate.python("print('never')", "--audit", str(tmp_path / "audit")).outcome
    assert outcome["reason"]["code"] == "audit_unavailable" and outcome["stdout"]["text"] == ""


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_time_each_effect_has_its_verdict(kit: Kit, seed: int) -> None:
    chance = random.Random(seed)
    program = "for n in range(100000): tools.peer.echo(n=n)"
    process = kit.casemate.start("run", "--trust", "trusted", *kit.write(), "--records", str(kit.file("boxes.jsonl")), "-c",
                                 "from casemate import tools\n" + program)  # fmt: skip
    assert wait_for(lambda: len(kit.effects) > 0, 30), process.poll()
    time.sleep(chance.random() * 0.3)
    process.kill()
    process.communicate(timeout=20)
    assert wait_for(lambda: not kit.file("peer.log").read_bytes() or kit.file("peer.log").read_bytes().endswith(b"\n"), 5)
    told = kit.tell("--tolerance", "0s")
    seen, judged = told.of("effects")
    assert seen == judged > 0, (seed, told.document)
    assert told.exit_code == 1 and told.offenders("ends") == {"no_end": 1} and told.offenders("runs") == {"no_box": 1}
    made, claimed = told.of("calls")
    assert made == claimed, (seed, told.document)
    assert set(told.offenders("verdicts")) <= {"no_result"}
    # The next run is as whole as if nothing had been.
    run = kit.go("tools.peer.echo()")["run_id"]
    assert kit.tell("--run", run, "--tolerance", "0s").exit_code == 0


def tap(casemate: Casemate, log: Path, *command: str, **more: Any) -> Ended:
    return casemate.call("tap", "--to", log, "--", *command, **more)


def test_a_tap_passes_what_it_is_given_as_it_is(casemate: Casemate, tmp_path: Path) -> None:
    log = tmp_path / "log"
    flood = os.urandom(6_000_000)
    assert tap(casemate, log, "cat", stdin=flood).stdout == flood
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    assert seen and all("unreadable" in one for one in seen)
    log.unlink()
    request = '{"id":1,"capability":"a.b","run":"r","idempotency_key":"r-1","arguments":{}}'
    half = request + "\n" + request.replace("r-1", "r-2")
    assert tap(casemate, log, "cat", stdin=half).stdout == half.encode()
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["idempotency_key"] for one in seen] == ["r-1", "r-2"] and seen[0]["capability"] == "a.b"


def test_a_tap_ends_as_its_program_does(casemate: Casemate, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert tap(casemate, log, "sh", "-c", "echo out; echo err >&2; exit 7").exit_code == 7
    assert tap(casemate, log, "sh", "-c", "kill -TERM $$").exit_code == 128 + signal.SIGTERM
    assert tap(casemate, log, "true", stdin=b"x" * 1_000_000).exit_code == 0
    nowhere = tap(casemate, log, "/nowhere/at/all")
    assert nowhere.exit_code == 4 and nowhere.stderr.count("\n") == 1
    assert casemate.call("tap", "--", "cat").exit_code == casemate.call("tap", "--to", log).exit_code == 2


def test_what_a_tap_cannot_write_down_is_not_asked(casemate: Casemate, tmp_path: Path) -> None:
    request = '{"id":1,"capability":"a.b","run":"r","idempotency_key":"r-1","arguments":{}}\n'
    ended = tap(casemate, Path("/dev/full"), "cat", stdin=request)
    assert ended.exit_code == 4 and ended.stdout == b"" and "cannot be written down" in ended.stderr


@pytest.mark.parametrize("command", ["reconcile", "tap"])
def test_help_has_examples_and_mistakes_one_line(casemate: Casemate, command: str) -> None:
    shown = casemate.call(command, "--help")
    assert shown.exit_code == 0 and b"Examples:" in shown.stdout
    assert command.encode() in casemate.call("--help").stdout
    for wrong in (["--nope"], ["--since", "yesterday"], ["--tolerance", "much"]):
        ended = casemate.call(command, *wrong)
        assert ended.exit_code == 2 and ended.stderr.count("\n") == 1, ended
