"""`casemate policy` as people and programs use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Policy

FILE = """\
default = "ask"
[permissions]
ask   = ["payment.send(amount > 100 EUR)"]
allow = ["docs.*", "mail.send(to ~ '*@example.com')"]
[labels.sources]
"web.*" = ["untrusted"]
[labels.sinks]
"mail.send" = "external"
[effects]
"mail.send" = ["message"]
"payment.send" = ["spend"]
[[flow]]
when    = "untrusted in run and sink == external"
verdict = "ask"
reason  = "the program has read untrusted content"
[[test]]
call   = "mail.send(to='a@example.com')"
labels = []
expect = "allow"
"""
WRONG = 'default = "alow"\n[permissions]\nask = ["a b", "c(d >> 1)"]\n[[test]]\ncall = "x"\n'


@pytest.fixture(name="file")
def write_file(tmp_path: Path) -> str:
    """A policy without a mistake."""
    path = tmp_path / "policy.toml"
    path.write_text(FILE)
    return str(path)


def test_check_accepts_a_policy(policy: Policy, file: str) -> None:
    done = policy("check", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{file}: 3 permissions, 1 flow rules, 0 budgets, 1 tests: no mistake\n"
    answer = json.loads(policy("check", "--json", file).stdout)
    assert answer == {"ok": True, "tests": 1, "mistakes": [], "warnings": []}
    assert policy("check", "-", text=FILE).returncode == 0


def test_check_says_all_mistakes_with_their_places(policy: Policy) -> None:
    done = policy("check", "-", text=WRONG)
    assert done.returncode == 1
    places = [line.split(": ")[0] for line in done.stdout.splitlines()]
    assert places == ["-:1:11", "-:3:9", "-:3:21", "-:4:1", "-:5:10"]
    answer = json.loads(policy("check", "--json", "-", text=WRONG).stdout)
    assert [(one["line"], one["column"]) for one in answer["mistakes"]] == [(1, 11), (3, 9), (3, 21), (4, 1), (5, 10)]
    assert answer["ok"] is False


def test_check_rejects_a_file_whose_test_fails(policy: Policy) -> None:
    done = policy("check", "-", text=FILE.replace('expect = "allow"', 'expect = "deny"'))
    assert done.returncode == 1
    assert done.stdout.startswith("-:19:10: this test expects deny and the verdict is allow by permissions.allow: mail")


def test_explain_says_which_rule_decides(policy: Policy, file: str) -> None:
    call = "mail.send(to='a@example.com')"
    done = policy("explain", file, call)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "allow"
    tainted = json.loads(policy("explain", file, call, "--label", "untrusted", "--json").stdout)
    assert tainted["verdict"] == "ask"
    first, second = tainted["grounds"]
    assert (first["kind"], first["line"]) == ("flow", 13)
    assert first["reason"] == "the program has read untrusted content (untrusted by the harness)"
    assert (second["kind"], second["decision"]) == ("permission", "allow")
    assert (tainted["tier"], tainted["effects"]) == (1, ["message"])


def test_explain_takes_json_arguments_origins_and_sinks(policy: Policy, file: str) -> None:
    asked = json.loads(policy("explain", file, 'payment.send({"amount": 100.01, "currency": "EUR"})', "--json").stdout)
    assert asked["grounds"][0]["rule"] == "permissions.ask: payment.send(amount > 100 EUR)"
    unknown = json.loads(policy("explain", file, "payment.send(amount=1, currency='USD')", "--json").stdout)
    assert (unknown["verdict"], unknown["grounds"][0]["unknown"]) == ("ask", True)
    assert policy("explain", file, "docs.drop()", "--effect", "irreversible").stdout.startswith("deny\n")
    assert policy("explain", file, "docs.drop()", "--annotation", "destructive").stdout.startswith("deny\n")
    model = policy("explain", file, "docs.drop()", "--annotation", "destructive", "--from", "model")
    assert model.stdout.startswith("allow\n")
    assert policy("explain", file, "stdout", "--label", "private").stdout.startswith("allow\n")


def test_explain_refuses_what_it_cannot_read(policy: Policy, file: str) -> None:
    assert policy("explain", file).returncode == 2
    assert policy("explain", file, "mail.send(").returncode == 2
    assert "column 11" in policy("explain", file, "mail.send(").stderr
    assert policy("explain", file, "a()", "--label", "A").returncode == 2
    assert policy("explain", file, "a()", "--from", "me").returncode == 2
    assert policy("explain", "--batch", file).returncode == 2
    assert policy("explain", "/nowhere/at-all", "a()").returncode == 2
    wrong = policy("explain", "-", "a()", text=WRONG)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert len(wrong.stderr.splitlines()) == 5


def test_batch_answers_line_by_line(policy: Policy) -> None:
    calls = [{"name": "web.get", "arguments": {}}, {"sink": "stdout"}]
    lines = [
        json.dumps({"policy": "[permissions]\nallow = ['web.*']", "calls": calls}),
        json.dumps({"policy": "x = 1", "calls": []}),
        "no json",
        json.dumps({"policy": "", "calls": [{"name": "a"}]}),
        json.dumps({"policy": "", "calls": [], "odd": 1}),
    ]
    done = policy("explain", "--batch", text="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2, "a line was no case"
    assert [one["verdict"] for one in answers[0]["verdicts"]] == ["allow", "allow"]
    assert answers[0]["verdicts"][0]["labels"] == ["untrusted"]
    assert answers[1]["mistakes"][0]["line"] == 1
    assert ["error" in answer for answer in answers] == [False, False, True, True, True]


def test_tiers_shows_and_proposes(policy: Policy, file: str, tmp_path: Path) -> None:
    catalogue = tmp_path / "tools.json"
    catalogue.write_text(json.dumps([{"name": "sms.send"}, {"name": "git.push", "effects": ["external"]}]))
    done = policy("tiers", file, "--catalogue", str(catalogue), "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["capabilities"]}
    assert {name: row["tier"] for name, row in rows.items()} == {
        "git.push": 1, "mail.send": 1, "payment.send": 1, "sms.send": 2,
    }
    assert (rows["mail.send"]["named"], rows["mail.send"]["named_line"], rows["git.push"]["named"]) == (True, 4, False)
    assert rows["sms.send"]["proposal"].startswith('"sms.send" = ["message"] in [effects]')
    text = policy("tiers", file, "--catalogue", str(catalogue)).stdout
    assert "no rule names it: code in a box may not call it" in text
    catalogue.write_text('[{"name": "a", "odd": 1}]')
    assert policy("tiers", file, "--catalogue", str(catalogue)).returncode == 2


def test_hostile_files_end_in_a_line(policy: Policy, tmp_path: Path) -> None:
    path = tmp_path / "hostile.toml"
    deep = [b"[" * 200_000, b"a." * 100_000, b"x" * 10_000_000, b'a = """' + b"\n" * 5000]
    for content in [b"\0" * 1000, b"\xff\xfe", *deep]:
        path.write_bytes(content)
        done = policy("check", str(path))
        assert done.returncode == 1, content[:10]
        assert len(done.stdout.splitlines()) == 1
    assert policy("check", str(tmp_path)).returncode == 2


def test_the_documented_policy_is_one(policy: Policy) -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
    blocks = page.split("```toml\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        done = policy("check", "-", text=block.split("```")[0])
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert "warning" not in done.stdout


def test_help_and_usage(policy: Policy) -> None:
    assert policy("--help").returncode == 0
    for command in ("check", "explain", "tiers"):
        done = policy(command, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout and "Exit codes:" in done.stdout
    assert policy().returncode == 2
    assert policy("chekc").returncode == 2
    assert policy("check").returncode == 2
