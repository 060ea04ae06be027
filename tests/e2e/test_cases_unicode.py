"""Rows of reference kind `unicode`: bytes are not text, and pass through every interface without harm."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import Casemate


def written(casemate: Casemate, tmp_path: Path, data: bytes, stream: str = "stdout") -> dict[str, Any]:
    """The stream of a program that writes these bytes and then `still here`."""
    code = (
        f"import sys\nsys.{stream}.buffer.write({data!r})\nsys.{stream}.flush()\nprint('still here', file=sys.{stream})"
    )
    outcome = casemate.python(code, "--out", str(tmp_path)).outcome
    assert outcome["status"] == "ok", outcome["report"]
    found: dict[str, Any] = outcome[stream]
    whole = data + b"still here\n"
    assert found["bytes"] == len(whole) and not found["truncated"]
    assert found["text"] == whole.decode("utf-8", "replace")
    assert found["lossy"] == ("\ufffd" in found["text"] and "\ufffd".encode() not in data)
    if found["lossy"]:
        (artifact,) = outcome["artifacts"]
        assert artifact["id"] == found["artifact"]
        assert Path(artifact["uri"]).read_bytes() == whole
        assert artifact["sha256"] == hashlib.sha256(whole).hexdigest()
        assert "not all of it is UTF-8 text" in outcome["report"]
    return found


CODE_PAGES = {
    "gbk": "你好\n".encode("gbk"),
    "shift-jis": "こんにちは\n".encode("shift-jis"),
    "latin-1": "naïve café\n".encode("latin-1"),
    "utf-16": "\ufeffnaïve\n".encode("utf-16"),
    "utf-32": "naïve\n".encode("utf-32"),
    "ebcdic": "naive\n".encode("cp500"),
    "every byte": bytes(range(256)),
    "only bytes beyond ascii": bytes(range(128, 256)),
}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("page", CODE_PAGES)
def test_B033_another_code_page_loses_nothing(casemate: Casemate, tmp_path: Path, page: str, stream: str) -> None:
    found = written(casemate, tmp_path, CODE_PAGES[page], stream)
    assert found["text"].endswith("still here\n")
    assert found["lossy"] or page == "ebcdic"


def test_B033_nul_bytes_are_text(casemate: Casemate, tmp_path: Path) -> None:
    found = written(casemate, tmp_path, b"a\0b\0\n")
    assert found["text"] == "a\0b\0\nstill here\n" and not found["lossy"]


INVALID = {
    "high surrogate": b"\xed\xa0\xbd",
    "low surrogate": b"\xed\xb8\x80",
    "both, as CESU-8": b"\xed\xa0\xbd\xed\xb8\x80",
    "overlong slash": b"\xc0\xaf",
    "overlong nul": b"\xc0\x80",
    "overlong in three": b"\xe0\x80\xaf",
    "overlong in four": b"\xf0\x80\x80\xaf",
    "above the last": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "lone continuation": b"\x80",
    "many continuations": b"\x80" * 40,
    "cut after one": b"\xf0",
    "cut after two": b"\xf0\x9f",
    "cut after three": b"\xf0\x9f\x98",
    "cut, then text": b"\xe2\x82a",
    "no byte of any": b"\xff\xfe",
}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("form", INVALID)
def test_B034_every_invalid_form_is_marked_as_pythons_decoder_does(
    casemate: Casemate, tmp_path: Path, form: str, stream: str
) -> None:
    assert written(casemate, tmp_path, b"a" + INVALID[form] + b"\n", stream)["lossy"]


@pytest.mark.parametrize("form", ["cut after one", "cut after three", "high surrogate"])
def test_B034_at_the_very_end_too(casemate: Casemate, form: str) -> None:
    outcome = casemate.python(f"import os\nprint('tail')\nos.write(1, {INVALID[form]!r})").outcome
    assert outcome["stdout"]["text"] == "tail\n" + INVALID[form].decode("utf-8", "replace")
    assert outcome["stdout"]["lossy"]


def test_B034_a_printed_surrogate_is_shown_and_hurts_nobody(casemate: Casemate) -> None:
    outcome = casemate.python(
        "print('a\\ud83d\\ude00b \\udcff'); import sys; print('\\ud83d', file=sys.stderr)"
    ).outcome
    assert outcome["status"] == "ok"
    assert outcome["stdout"]["text"].startswith("a\\ud83d\\ude00b ")
    assert outcome["stderr"]["text"] == "\\ud83d\n"


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('\\ud83d tail')",
        "class E\\u00e9(Exception): pass\nraise E\\u00e9('\\udcff \\ud800 tail')".replace("\\u00e9", "é"),
        "raise SystemExit('\\ud83d tail')",
        "{'\\ud83d tail': '\\udc00'}['x']",
        "import os\nopen(b'\\xff tail')",
        "import warnings\nwarnings.warn('\\ud83d tail')",
        "'\\ud83d tail'",
    ],
)
def test_B034_in_errors_warnings_and_results_too(casemate: Casemate, code: str) -> None:
    outcome = casemate.python(code).outcome
    assert "tail" in str(outcome.get("exception")) + str(outcome.get("result")) + outcome["stderr"]["text"]
    outcome["report"].encode()


NAMES = {
    "emoji": "\U0001f923.txt".encode(),
    "umlaut": "übung—表.csv".encode(),
    "decomposed": b"u\xcc\x88bung.csv",
    "spaces": b" a  b .txt",
    "newline": b"new\nline.txt",
    "quote": b"quote\".'`$(id).txt",
    "dots": b"..hidden",
    "help": b"--help",
    "star": b"*?[x].txt",
    "backslash": b"a\\nb.txt",
    "escape": b"\x1b[31mred.txt",
    "right to left": "a\u202etxt.exe".encode(),
    "long": "é".encode() * 98 + b".txt",
    "latin-1": b"\xc3.txt",
    "no byte of any": b"\xff\xfe",
    "surrogate": b"\xed\xa0\xbd.txt",
}


def shown_name(raw: bytes) -> str:
    """A name as text: as it is, but what is not printable or not UTF-8 as an escape."""
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@pytest.mark.parametrize("name", NAMES)
def test_B035_B036_a_name_comes_back_byte_for_byte_or_escaped(casemate: Casemate, tmp_path: Path, name: str) -> None:
    raw = NAMES[name]
    source = os.fsencode(tmp_path) + b"/" + raw
    data = os.urandom(3000)
    with open(source, "wb") as file:
        file.write(data)
    code = (
        "import casemate, os\nnames = [n for n in os.listdir(b'.') if n not in (b'out', b'good.txt')]\n"
        "print(ascii(names))\nopen('good.txt', 'w').write('fine')\n"
        "for n in [*names, 'good.txt']: casemate.artifact(n)"
    )
    ended = casemate.python(code, "--file", os.fsdecode(source), "--out", str(tmp_path / "out"))
    outcome = ended.outcome
    assert outcome["status"] == "ok", outcome["report"]
    assert outcome["stdout"]["text"] == ascii([raw]) + "\n"
    odd, good = outcome["artifacts"]
    assert good["name"] == "good.txt" and good["state"] == "stored"
    assert odd["name"] == shown_name(raw) and odd["state"] == "stored"
    assert odd["sha256"] == hashlib.sha256(data).hexdigest()
    stored = Path(odd["uri"])
    assert stored.read_bytes() == data and stored.parent == tmp_path / "out"
    assert not stored.name.startswith("-") and "\n" not in stored.name and "\x1b" not in stored.name


@pytest.mark.parametrize("name", ["latin-1", "newline", "help", "escape", "emoji"])
def test_B035_a_path_that_the_request_names(casemate: Casemate, tmp_path: Path, name: str) -> None:
    raw = NAMES[name]
    code = f"open({raw!r}, 'w').write('test')"
    outcome = casemate.python(code, f"--artifact={os.fsdecode(raw)}", "--out", str(tmp_path)).outcome
    (artifact,) = outcome["artifacts"]
    assert artifact["state"] == "stored", outcome["report"]
    assert artifact["name"] == shown_name(raw)
    assert Path(artifact["uri"]).read_text() == "test"


def test_B037_no_character_is_torn_at_any_boundary(casemate: Casemate) -> None:
    code = (
        "import os, time\nfor pad in range(4090, 4097):\n"
        "    os.write(1, b'a' * pad + '\\u2500\\u2713\\U0001F600'.encode() + b'\\n')\n"
        "b = '\\u00f8'.encode(); os.write(1, b[:1]); time.sleep(0.3); os.write(1, b[1:] + b'\\n'); b = None"
    )
    outcome = casemate.python(code).outcome
    assert "\ufffd" not in outcome["stdout"]["text"] and not outcome["stdout"]["lossy"]
    assert outcome["stdout"]["text"].endswith("ø\n")
    assert outcome["stdout"]["text"].count("─✓😀\n") == 7
    shown = casemate.call("run", "--trust", "trusted", "-c", code)
    assert shown.stdout.decode() == outcome["stdout"]["text"]


@pytest.mark.parametrize("pad", range(5))
def test_B037_nor_where_the_middle_is_dropped(casemate: Casemate, pad: int) -> None:
    outcome = casemate.python(f"print('a' * {pad} + '\\U0001F600' * 3000)", "--output", "1KiB").outcome
    assert outcome["stdout"]["truncated"]
    assert "\ufffd" not in outcome["stdout"]["text"] and not outcome["stdout"]["lossy"]


def test_B039_characters_are_shown_and_not_their_numbers(casemate: Casemate) -> None:
    code = "# a\n{'greeting': '\\u4f60\\u597d', 'emoji': '\\U0001F600'}"
    ended = casemate.python(code)
    plain = ended.outcome["result"]["text/plain"]
    assert plain == "{'greeting': '你好', 'emoji': '😀'}"
    assert "你好" in ended.outcome["report"]
    assert "你好" in ended.stdout.decode(), "not even in the document itself"
    shown = casemate.call("run", "--trust", "trusted", "-c", code)
    assert plain in shown.stdout.decode()


ZONES = "date +%Z; python3 -c 'import datetime as d; print(d.datetime.now().astimezone().tzname())'; date +%z"


@pytest.mark.parametrize(
    ("zone", "said"), [(None, ["UTC", "UTC", "+0000"]), ("Asia/Kolkata", ["IST", "IST", "+0530"]), ("EST5EDT", None)]
)
def test_B040_every_source_says_the_same_zone(casemate: Casemate, zone: str | None, said: list[str] | None) -> None:
    options = ["--env", f"TZ={zone}"] if zone else []
    shell = casemate.bash(ZONES, *options).outcome["stdout"]["text"].split()
    own = casemate.python("import time\nprint(time.strftime('%Z %z'))", *options).outcome["stdout"]["text"].split()
    assert shell[0] == shell[1] == own[0] and shell[2] == own[1]
    assert said is None or shell == said


def test_B040_the_zones_of_the_world_are_there(casemate: Casemate) -> None:
    code = "import zoneinfo, datetime as d\nprint(d.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Paris')).utcoffset())"
    assert casemate.python(code).outcome["stdout"]["text"] == "2:00:00\n"
