"""Hints for text that is not what it was taken for: JSONDecodeError, UnicodeError."""

from __future__ import annotations

from casemate import _look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from casemate._failure import Failure

_AROUND = 30
# In this order: those that refuse most come first, and latin-1 takes anything, so it is never sure.
_ENCODINGS = (
    "utf-8-sig",
    "shift_jis",
    "gb18030",
    "big5",
    "euc_kr",
    "cp1252",
    "latin-1",
)
_WESTERN = ("cp1252", "latin-1")
_MAGIC = (
    (b"\x1f\x8b", "gzip: open it with gzip.open"),
    (
        b"PK\x03\x04",
        "a ZIP archive (also .xlsx and .docx): open it with zipfile, pandas.read_excel or the like",
    ),
    (b"\x89PNG", "a PNG picture: open it in binary mode"),
    (b"\xff\xd8\xff", "a JPEG picture: open it in binary mode"),
    (b"%PDF", "a PDF document: open it in binary mode"),
    (b"SQLite format 3", "an SQLite database: open it with sqlite3.connect"),
    (b"BZh", "bzip2: open it with bz2.open"),
    (b"\xfd7zXZ", "xz: open it with lzma.open"),
    (b"\xd0\xcf\x11\xe0", "an old Office file (.xls, .doc)"),
    (b"PAR1", "a Parquet file: read it with pandas.read_parquet"),
)


def text(failure: Failure) -> Iterator[str]:
    """JSONDecodeError, UnicodeDecodeError and UnicodeEncodeError."""
    if failure.derives(UnicodeDecodeError):
        yield from _decode(failure)
    elif failure.derives(UnicodeEncodeError):
        yield from _encode(failure)
    elif _look.type_name(failure.error) == "JSONDecodeError":
        yield from _json(failure)


def _json(failure: Failure) -> Iterator[str]:
    found = _look.instance_dict(failure.error)
    document, at = found.get("doc"), found.get("pos")
    if type(document) is not str or type(at) is not int or not 0 <= at <= len(document):
        return
    if not document.strip():
        yield "the text is empty" if not document else "the text is blank"
        return
    line = document.count("\n", 0, at) + 1
    start = document.rfind("\n", 0, at) + 1
    end = document.find("\n", at)
    end = len(document) if end < 0 else end
    left = max(start, at - _AROUND)
    before = _look.one_line(document[left:at], 200)
    after = _look.one_line(document[at : min(end, at + _AROUND)], 200)
    lead = f"line {line} column {at - start + 1}: "
    # Two hints that belong together: the text, and a caret below the character.
    yield lead + before + after
    yield " " * (len(lead) + len(before)) + "^"
    yield from _json_reason(document, at)


def _json_reason(document: str, at: int) -> Iterator[str]:
    here, before = document[at : at + 1], document[:at].rstrip()
    if document.startswith("\ufeff"):
        yield "the text begins with a byte order mark: read it with encoding='utf-8-sig'"
    elif document.lstrip()[:1] == "<":
        yield "the text begins with '<': this is HTML or XML, not JSON"
    elif document.lstrip().startswith("```"):
        yield "the text is fenced in Markdown: take the lines between the ``` lines"
    elif here == "'":
        yield "JSON has double quotes only; ast.literal_eval reads a Python literal"
    elif (here in ("}", "]") and before.endswith(",")) or document[at:].replace(
        " ", ""
    ).startswith((",}", ",]")):
        yield "JSON has no comma before a closing bracket"
    elif document.startswith(("NaN", "None", "True", "False"), at):
        yield "JSON writes null, true and false; ast.literal_eval reads a Python literal"
    elif here == "/" or here == "#":
        yield "JSON has no comments"
    elif (
        "\n" in document.strip()
        and before
        and "\n" in document[len(before) : at]
        and here in ("{", "[")
    ):
        yield (
            "the text holds one JSON document per line: [json.loads(line) for line in text.splitlines() if"
            " line.strip()]"
        )
    elif at >= len(document.rstrip()):
        yield "the text ends too early: it was cut, or a bracket or quote is not closed"


def _decode(failure: Failure) -> Iterator[str]:
    data, start, encoding = (
        failure.own("object"),
        failure.own("start"),
        failure.own("encoding"),
    )
    if type(data) is not bytes or type(start) is not int or not data:
        return
    left = max(0, start - 8)
    around = " ".join(
        f"[{byte:02x}]" if at == start else f"{byte:02x}"
        for at, byte in enumerate(data[left : start + 8], left)
    )
    yield f"bytes {left} to {min(len(data), start + 8) - 1}: {around}"
    kind = next((told for magic, told in _MAGIC if data.startswith(magic)), "")
    if kind:
        yield f"the data is {kind}"
        return
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "the data begins with a byte order mark of UTF-16: use encoding='utf-16'"
        return
    if b"\0" in data[:200]:
        yield "the data holds zero bytes: it is binary, or UTF-16 without a mark (encoding='utf-16-le')"
        return
    fits = [name for name in _ENCODINGS if name != encoding and _decodes(data, name)]
    if fits:
        best = _likeliest(data, fits)
        sample = data[max(0, start - 12) : start + 12].decode(best, "replace")
        yield f"the data decodes with encoding={best!r}: ...{_look.one_line(sample, 60)}..."
        others = [name for name in fits if name != best]
        if others:
            yield f"it also decodes, perhaps to other characters, as {', '.join(others)}"


def _decodes(data: bytes, name: str) -> bool:
    try:
        data[: 1 << 20].decode(name)
    except (UnicodeError, LookupError):
        return False
    return True


def _likeliest(data: bytes, fits: list[str]) -> str:
    """Single high bytes among ASCII letters are a Western single-byte text; pairs are East Asian."""
    high = [at for at, byte in enumerate(data[: 1 << 16]) if byte >= 0x80]
    alone = sum(
        1
        for at in high
        if (at == 0 or data[at - 1] < 0x80)
        and (at + 1 >= len(data) or data[at + 1] < 0x80)
    )
    western = [name for name in fits if name in _WESTERN]
    if western and alone * 2 >= len(high):
        return western[0]
    for name in fits:
        text = data[: 1 << 16].decode(name, "ignore")
        # Chinese taken for Shift JIS is full of half-width kana; real Japanese has the full ones.
        if name != "shift_jis" or any("\u3041" <= c <= "\u30fa" for c in text):
            return name
    return fits[0]


def _encode(failure: Failure) -> Iterator[str]:
    data, start = failure.own("object"), failure.own("start")
    if type(data) is not str or type(start) is not int or not 0 <= start < len(data):
        return
    code = ord(data[start])
    around = _look.one_line(data[max(0, start - 15) : start + 15], 80)
    yield f"the character is U+{code:04X}, at index {start}: ...{around}..."
    if 0xD800 <= code <= 0xDFFF:
        yield (
            "it is half of a surrogate pair and no character; errors='surrogateescape' keeps bytes of file"
            " names, errors='replace' drops it"
        )
    else:
        yield "use encoding='utf-8'"
