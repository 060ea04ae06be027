"""casemate audit: a log that the program writes is read here by the document alone, and one that is written here by
the document alone is read by the program. Damage is named, and the exit codes are what they should be."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Casemate, Ended, wait_for

NO_DIGEST = "0" * 64
LINE = re.compile(
    rb'(\{"seq":(\d+),"prev":"([0-9a-f]{64})","at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)","kind":"([a-z0-9_]+)"(?:,.*)?)'
    rb',"digest":"([0-9a-f]{64})"\}'
)


def chain(*records: tuple[str, dict[str, Any]], first: int = 1, before: str = NO_DIGEST) -> bytes:
    """Lines as docs/audit.md has them, made without any code of casemate's."""
    lines = []
    for number, (kind, members) in enumerate(records, start=first):
        body = json.dumps(members, separators=(",", ":"), ensure_ascii=False)[1:-1]
        text = f'{{"seq":{number},"prev":"{before}","at":"2026-07-30T12:00:00.{number:06}Z","kind":"{kind}"'
        text += f",{body}" if body else ""
        before = hashlib.sha256(text.encode()).hexdigest()
        lines.append(f'{text},"digest":"{before}"}}\n')
    return "".join(lines).encode()


def header(writer: str, instance: str, segment: int = 1) -> tuple[str, dict[str, Any]]:
    """What a segment begins with."""
    return "segment", {"format": 1, "writer": writer, "instance": instance, "segment": segment}


def verdict(run: str, call: str, answer: str = "allow", capability: str = "ledger.read") -> tuple[str, dict[str, Any]]:
    """A verdict with what a record has at the least."""
    return "verdict", {"run": run, "call": call, "capability": capability, "verdict": answer, "arguments_sha256": "a" * 64,
                       "labels": [], "effects": []}  # fmt: skip


def segments(log: Path) -> list[Path]:
    """The segments of a chain, in order."""
    return sorted(log.glob("*.jsonl"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An audit directory with two writers, written here. One of them is still open, as after a crash."""
    audit = tmp_path / "audit"
    main, other = "0" * 31 + "1", "0" * 31 + "2"
    for folder in ("manifest", "writers/main", "writers/other"):
        (audit / folder).mkdir(parents=True)
    (audit / "manifest/00000001.jsonl").write_bytes(
        chain(header("manifest", "0" * 32), ("writer", {"writer": "main", "instance": main}),
              ("writer", {"writer": "other", "instance": other})))  # fmt: skip
    calls = [verdict("run_1", "1"), verdict("run_1", "2", "deny"), verdict("run_2", "3", capability="mail.send")]
    first = chain(header("main", main), *calls)
    (audit / "writers/main/00000001.jsonl").write_bytes(first)
    last = json.loads(first.splitlines()[-1])["digest"]
    (audit / "writers/main/00000002.jsonl").write_bytes(
        chain(header("main", main, 2), ("later_kind", {"run": "run_1", "text": "é\u001b[31m"}), ("log", {"step": "closed"}),
              first=5, before=last))  # fmt: skip
    (audit / "writers/other/00000001.jsonl").write_bytes(chain(header("other", other), verdict("run_1", "9", "ask")))
    return audit


@pytest.fixture
def audit(casemate: Casemate, log: Path) -> Any:
    """Calls `casemate audit COMMAND` on that directory."""

    def call(command: str, *args: str | os.PathLike[str]) -> Ended:
        return casemate.call("audit", command, "--audit", log, *args)

    return call


def records(ended: Ended) -> list[dict[str, Any]]:
    """The lines of an export."""
    assert ended.exit_code == 0, ended
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_log_that_the_document_describes_is_whole(audit: Any) -> None:
    ended = audit("verify")
    assert ended.exit_code == 0, ended
    assert b"main: 7 records" in ended.stdout and b"no fault" in ended.stdout
    assert b"note: other: not closed" in ended.stdout
    report = json.loads(audit("verify", "--json").stdout)
    assert report["ok"] is True and [chain["name"] for chain in report["chains"]] == ["manifest", "main", "other"]
    assert [chain["records"] for chain in report["chains"]] == [3, 7, 2]


def test_a_log_that_the_program_writes_is_what_the_document_says(casemate: Casemate, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    subprocess.run([casemate.binary.parent / "audit_records", audit, "8", "0.3", "pair"], check=True, timeout=60, capture_output=True)
    number, before, calls = 0, NO_DIGEST, set()
    for path in segments(audit / "writers/bench"):
        for line in path.read_bytes().splitlines(keepends=True):
            match = LINE.fullmatch(line[:-1])
            assert match and line.endswith(b"\n"), line
            number += 1
            assert int(match[2]) == number and match[3].decode() == before
            before = hashlib.sha256(match[1]).hexdigest()
            assert match[6].decode() == before
            members = json.loads(line)
            if members["kind"] == "verdict":
                calls.add((members["run"], members["call"]))
    assert len(calls) * 2 + 3 == number
    assert members["kind"] == "log" and members["step"] == "closed"
    report = casemate.call("audit", "verify", "--audit", audit, "--json").outcome
    assert report["ok"] and report["chains"][1]["head"] == {"seq": number, "digest": before}


def test_heads_that_are_kept_are_found_or_missed(audit: Any, log: Path) -> None:
    heads = [chain["head"]["digest"] for chain in json.loads(audit("verify", "--json").stdout)["chains"]]
    assert audit("verify", *(f"--head={head}" for head in heads)).exit_code == 0
    path = log / "writers/other/00000001.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert audit("verify").exit_code == 0  # nothing else can know it
    ended = audit("verify", *(f"--head={head}" for head in heads))
    assert ended.exit_code == 1
    assert f"fault: head: no record has the digest {heads[2]}".encode() in ended.stdout
    assert audit("verify", "--head", "abc").exit_code == 2


def damage_flip(log: Path) -> str:
    path = log / "writers/main/00000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"deny"', b'"allow"'))
    return "changed: main: record 3 (segment 1, byte "


def damage_remove(log: Path) -> str:
    path = log / "writers/main/00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2] + lines[3])
    return "missing: main: record 2 (segment 1, byte "


def damage_reorder(log: Path) -> str:
    path = log / "writers/main/00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2] + lines[1] + lines[3])
    return "reordered: main: record 2 "


def damage_twice(log: Path) -> str:
    path = log / "writers/main/00000002.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + lines[1] + lines[2])
    return "duplicated: main: record 6 "


def damage_cut(log: Path) -> str:
    path = log / "writers/main/00000001.jsonl"
    os.truncate(path, path.stat().st_size - 10)
    return "truncated: main: record 4 "


def damage_segment(log: Path) -> str:
    (log / "writers/main/00000001.jsonl").unlink()
    return "missing_segment: main: record 1 "


def damage_writer(log: Path) -> str:
    shutil.rmtree(log / "writers/other")
    return "missing_writer: other: record 1"


def damage_manifest(log: Path) -> str:
    shutil.rmtree(log / "manifest")
    return "unlisted_writer: main: record 1"


DAMAGES = [damage_flip, damage_remove, damage_reorder, damage_twice, damage_cut, damage_segment, damage_writer, damage_manifest]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named(audit: Any, log: Path, damage: Any) -> None:
    expected = damage(log)
    ended = audit("verify")
    assert ended.exit_code == 1
    faults = [line for line in ended.stdout.decode().splitlines() if line.startswith("fault: ")]
    assert faults and faults[0].startswith("fault: " + expected), ended
    assert "no fault" not in ended.stdout.decode()
    report = json.loads(audit("verify", "--json").stdout)
    assert report["ok"] is False and report["faults"][0]["kind"] == expected.split(":")[0]


def test_a_run_is_shown_whoever_wrote_it(audit: Any, log: Path) -> None:
    ended = audit("show", "run_1")
    assert ended.exit_code == 0, ended
    lines = ended.stdout.decode().splitlines()
    assert len(lines) == 4 and "\x1b" not in ended.stdout.decode()
    assert lines[0].startswith("2026-07-30T12:00:00.000002Z main 2 verdict run=run_1 call=1 capability=ledger.read verdict=allow")
    assert " arguments_sha256=aaaaaaaaaaaa… " in lines[0]
    assert {line.split()[1] for line in lines} == {"main", "other"}
    shown = json.loads(audit("show", "run_1", "--json").stdout)
    assert shown["run"] == "run_1" and [record["seq"] for record in shown["records"]] == [2, 2, 3, 6]
    assert shown["records"][3]["kind"] == "later_kind" and shown["records"][3]["text"] == "é\x1b[31m"
    none = audit("show", "run_7")
    assert (none.exit_code, none.stdout) == (4, b"") and "no record of run run_7" in none.stderr
    assert (log / "index.db").stat().st_mode & 0o777 == 0o600


def test_the_index_is_held_against_the_segments(audit: Any, log: Path) -> None:
    assert audit("show", "run_1").exit_code == 0
    assert json.loads(audit("verify", "--json").stdout)["chains"][1]["indexed"] == 7
    path = log / "writers/main/00000002.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    ended = audit("verify")
    assert ended.exit_code == 1 and b"fault: index: main: record 7 " in ended.stdout
    assert audit("show", "run_1").exit_code == 4
    (log / "index.db").unlink()
    assert audit("verify").exit_code == 0
    assert audit("show", "run_1").exit_code == 0


def test_exports_are_the_lines_of_the_log(audit: Any, log: Path) -> None:
    exported = audit("export").stdout.splitlines()
    expected = [line for name in ("main", "other") for path in segments(log / "writers" / name) for line in path.read_bytes().splitlines()]
    assert [re.sub(rb'^\{"writer":"[a-z]+",', b"{", line) for line in exported] == expected
    assert [record["call"] for record in records(audit("export", "--run", "run_1", "--capability", "ledger.read"))] == ["1", "9", "2"]
    assert [record["call"] for record in records(audit("export", "--verdict", "deny"))] == ["2"]
    assert [record["seq"] for record in records(audit("export", "--from", "2026-07-30T12:00:00.000005Z"))] == [5, 6, 7]
    assert records(audit("export", "--to", "2026-07-30")) == []
    assert len(records(audit("export", "--from", "2026-07-30T12:00:00Z", "--to", "2026-07-31"))) == 9
    assert audit("export", "--from", "yesterday").exit_code == 2
    assert audit("export", "--verdict", "maybe").exit_code == 2


def test_the_last_records_of_all_writers(audit: Any) -> None:
    lines = audit("tail", "-n", "3").stdout.decode().splitlines()
    assert [line.split()[1:4] for line in lines] == [["main", "5", "segment"], ["main", "6", "later_kind"], ["main", "7", "log"]]
    assert len(audit("tail", "--writer", "other").stdout.splitlines()) == 2
    assert [record["seq"] for record in records(audit("tail", "-n", "1", "--json"))] == [7]
    assert audit("tail", "-n", "0").stdout == b""
    assert audit("tail", "-n", "many").exit_code == 2
    assert audit("tail", "--writer", "nobody").exit_code == 4


def test_following_shows_what_comes(casemate: Casemate, log: Path, tmp_path: Path) -> None:

    def lines() -> list[str]:
        return (tmp_path / "out").read_text().splitlines()

    with (tmp_path / "out").open("wb") as out:
        command: list[str | Path] = [casemate.binary, "audit", "tail", "--audit", log, "-n", "1", "-f"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        assert wait_for(lambda: len(lines()) == 1, 20)
        path = log / "writers/other/00000001.jsonl"
        before = json.loads(path.read_bytes().splitlines()[-1])["digest"]
        more = chain(verdict("run_3", "10"), verdict("run_3", "11"), first=3, before=before)
        with path.open("ab") as file:
            file.write(more[:-30])  # a whole record, and half of one
            file.flush()
            assert wait_for(lambda: len(lines()) == 2, 20)
            file.write(more[-30:])
        assert wait_for(lambda: len(lines()) == 3, 20)
        shutil.copytree(log / "writers/other", log / "writers/third")
        assert wait_for(lambda: len(lines()) == 7, 20)
        assert [line.split()[1] for line in lines()] == ["main", "other", "other", *["third"] * 4]
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT


def test_who_reads_may_stop_early(casemate: Casemate, log: Path) -> None:
    for command in ("export", "tail"):
        process = subprocess.Popen([casemate.binary, "audit", command, "--audit", log], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.wait(timeout=20) == 0 and process.stderr.read() == b""


def test_where_there_is_none(casemate: Casemate, tmp_path: Path) -> None:
    commands: list[list[str]] = [["verify"], ["export"], ["tail"], ["show", "run_1"]]
    for command in commands:
        ended = casemate.call("audit", *command, env={"CASEMATE_AUDIT": str(tmp_path / "none")})
        assert ended.exit_code == 4 and ended.stdout == b"", ended
        assert ended.stderr == f"casemate audit: there is no audit log in {tmp_path}/none\n"
    wrongs: list[list[str]] = [[], ["sing"], ["verify", "--faults"], ["show"]]
    for wrong in wrongs:
        assert casemate.call("audit", *wrong).exit_code == 2


@pytest.mark.parametrize("command", [[], ["tail"], ["show"], ["verify"], ["export"]])
def test_help_has_examples(casemate: Casemate, command: list[str]) -> None:
    ended = casemate.call("audit", *command, "--help")
    assert ended.exit_code == 0 and "casemate audit" in ended.stdout.decode()
    assert not command or "Examples:" in ended.stdout.decode()
