"""docs/http.md and src/http_server say the same: every code of a refusal, and the numbers of limits.h."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text()
SOURCES = [path for path in (ROOT / "src" / "http_server").glob("*.cc") if not path.name.endswith("_test.cc")]
CODE = re.compile(r'(?:Refusal k\w+\{|Problem\{)\s*(\d{3}),\s*"(\w+)"')


def limit(name: str) -> int:
    """The value of a constant of limits.h."""
    text = (ROOT / "src" / "http_server" / "limits.h").read_text()
    found = re.search(rf"\b{name} = (?:std::\w+\{{(\d+)\}} << (\d+)|([\d']+));", text)
    assert found, name
    return int(found[1]) << int(found[2]) if found[1] else int(found[3].replace("'", ""))


def test_each_code_is_on_the_page() -> None:
    codes = {match for path in SOURCES for match in CODE.findall(path.read_text())}
    assert len(codes) > 40
    assert not [code for _, code in sorted(codes) if f"`{code}`" not in PAGE]
    assert not [status for status, _ in sorted(codes) if status not in PAGE]


def test_the_limits_are_those_of_the_code() -> None:
    rows = {
        "request line": f"{limit('kRequestLineMax')} bytes",
        "head": f"{limit('kHeadMax') >> 10} KiB",
        "fields": f"{limit('kHeadFieldsMax')}",
        "segments of a path; items of a query": f"{limit('kPathSegmentsMax')}; {limit('kQueryItemsMax')}",
        "a chunk's line": f"{limit('kChunkLineMax')} bytes",
        "framing of a chunked body": f"as many bytes as the body, and {limit('kChunkOverheadMax') >> 10} KiB",
        "connections": f"`connections_max`, 512 (at most {limit('kConnectionsMost')})",
        "time for a client to take note of the end": f"`linger_time`, 1 s, and {limit('kLingerBytesMax') >> 10} KiB",
    }
    for name, value in rows.items():
        assert f"| {name} | {value} |" in PAGE, name
    options = (ROOT / "src" / "http_server" / "options.h").read_text()
    for name, value in re.findall(r"milliseconds (\w+)\{([\d']+)\}", options):
        assert f"`{name}`, {int(value.replace(chr(39), '')) // 1000} s" in PAGE, name
    assert "connections_max = 512;" in options and "least_rate = 16384;" in options and "mib(256)" in options
