#!/usr/bin/python3
"""Writes the seeds of the fuzz targets into corpus/: make_corpus.py

Seeds are named by what they hold. Files that fuzzing found are put beside them by hand and are left
alone here.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

from corpus_http import http_request_seeds
from corpus_texts import (
    audit_seeds,
    condition_seeds,
    json_reader_seeds,
    json_seeds,
    pattern_seeds,
    policy_seeds,
    schema_seeds,
)

FRAME_MAX = 1 << 20


def frame(kind: int, payload: bytes, *, size: int | None = None, reserved: int = 0) -> bytes:
    """One frame as src/frame/frame.h lays it out; size and reserved may lie."""
    return struct.pack("<IHH", len(payload) if size is None else size, kind, reserved) + payload


def field(tag: int, data: bytes, *, size: int | None = None, reserved: int = 0) -> bytes:
    """One field of a payload; size and reserved may lie."""
    return struct.pack("<HHI", tag, reserved, len(data) if size is None else size) + data


def number(value: int) -> bytes:
    """An integer field's bytes."""
    return struct.pack("<Q", value)


EXCEPTION = b"".join(
    [
        field(32, b"KeyError"),
        field(33, b"'amount'"),
        field(35, b"/vol/work/program.py"),
        field(36, number(4)),
        field(37, b'total += Decimal(row["amount"])'),
        field(38, number(2)),
        field(39, b"/vol/work/program.py"),
        field(40, number(4)),
        field(41, b"<module>"),
        field(42, b"main()"),
        field(43, b"row keys present: ['tenant', 'value']"),
        field(44, b"Traceback (most recent call last):\n"),
        field(45, number(1)),
    ]
)
ARTIFACT = field(2, b"out/a.png") + field(3, b"a.png") + field(9, b"a chart") + field(8, b"image/png")
ARTIFACT += field(10, b"declared")
GUEST = frame(16, field(6, b"\1") + field(7, number(0))) + frame(17, field(8, b"text/plain") + field(9, b"42"))
GUEST += frame(18, ARTIFACT) + frame(19, EXCEPTION)


def frame_seeds() -> Iterator[tuple[str, bytes]]:
    """One byte n, n bytes of chunk sizes, then the stream."""
    yield "empty", b""
    yield "no_stream", b"\2\1\1"
    yield "one_at_a_time", b"\1\0" + GUEST
    yield "uneven_chunks", b"\3\0\6\21" + GUEST
    yield "whole", b"\0" + GUEST
    yield "empty_payloads", b"\1\3" + frame(1, b"") * 5
    yield "cut_in_header", b"\0" + GUEST + frame(1, b"abc")[:5]
    yield "cut_in_payload", b"\0" + GUEST + frame(1, b"abc")[:-1]
    yield "reserved_bit", b"\0" + frame(1, b"", reserved=0x8000)
    yield "oversized", b"\0" + frame(1, b"", size=FRAME_MAX + 1)
    yield "largest_size_unfinished", b"\0" + frame(1, b"abc", size=FRAME_MAX)
    yield "size_all_ones", b"\0" + frame(1, b"", size=0xFFFFFFFF)
    yield "break_after_a_frame", b"\1\1" + frame(1, b"x") + frame(1, b"", reserved=1) + frame(2, b"y")
    yield "field_reserved", b"\0" + frame(1, field(1, b"x", reserved=1))
    yield "field_too_long", b"\0" + frame(1, field(1, b"x", size=2))
    yield "field_size_all_ones", b"\0" + frame(1, field(1, b"x", size=0xFFFFFFFF))
    yield "field_header_cut", b"\0" + frame(1, field(1, b"x") + b"\1\0\0")
    yield "many_fields", b"\0" + frame(1, field(1, b"") * 200)


def utf8_seeds() -> Iterator[tuple[str, bytes]]:
    """One byte n, n bytes of piece sizes, then the bytes."""
    texts = {
        "plain": b"a line\nanother\tone\n",
        "two_to_four_bytes": "é €\U0001d11e".encode(),
        "overlong": b"\xc0\x80 \xe0\x80\x80 \xf0\x80\x80\x80",
        "surrogates": b"\xed\xa0\x80\xed\xb0\x80",
        "above_the_last": b"\xf4\x90\x80\x80 \xf5\x80\x80\x80 \xff\xfe",
        "lone_continuations": b"\x80\xbf a \x80",
        "cut_characters": b"\xe2\x82 \xf0\x9d\x84",
        "progress_line": b"10 %\r20 %\r100 %\n\r\r\n",
        "colours": b"\x1b[31mred\x1b[0m \x1b[999;999H",
        "window_title": b"\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
        "unfinished_escape": b"a \x1b[12",
        "long_escape": b"\x1b]" + b"x" * 1100 + b"\x07",
        "c1_controls": "a\u009b31m\u0085".encode(),
        "bidi": "\u202eabc\u2066\u2069".encode(),
        "tags": "\U000e0041\U000e007f".encode(),
        "separators": "a\u2028b\u2029c".encode(),
        "controls": bytes(range(32)) + b"\x7f",
    }
    for name, text in texts.items():
        yield name, b"\2\0\4" + text


def manifest_seeds() -> Iterator[tuple[str, bytes]]:
    """An image's manifest, and its about text."""
    digest = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    root = b"d 0755 0 - /\n"
    yield "root_alone", root
    yield "small", root + b"d 0755 0 - /bin\nl 0777 0 env /bin/e\nf 0755 0 " + digest + b" /bin/env\n"
    yield "escaped", root + b"f 0644 0 " + digest + b" /a\\x20b\\x5c\n"
    yield "unsorted", root + b"d 0755 0 - /b\nd 0755 0 - /a\n"
    yield "no_parent", root + b"f 0644 0 " + digest + b" /a/b\n"
    yield "dots", root + b"f 0644 0 " + digest + b" /../a\n"
    yield "no_line_end", root[:-1]
    yield "wide_mode", b"d 7777 0 - /\n"
    about = b"casemate-image 1\nname python\ndigest sha256:" + digest + b"\nrecipe sha256:" + digest
    about += b"\ncreated 1700000000\nfiles 3\ndirectories 2\nlinks 1\nbytes 4096\npython 3.11.2\n"
    yield "about_bare", about
    about += b"package bash 5.2 amd64\npackage coreutils 9.1-1 amd64\nmodule json\nmodule os\n"
    yield "about_full", about + b"omitted /etc/x bash\n"
    yield "about_no_rise", about + b"module os\n"


def oci_seeds() -> Iterator[tuple[str, bytes]]:
    """The documents of an OCI archive."""

    def blob(kind: str, **more: object) -> dict[str, object]:
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + "a" * 64, "size": 7, **more}

    def document(**fields: object) -> bytes:
        return json.dumps({"schemaVersion": 2, **fields}).encode()

    manifest = blob("manifest.v1+json", platform={"os": "linux", "architecture": "amd64"})
    layers = [blob("layer.v1.tar"), blob("layer.v1.tar+gzip"), blob("layer.v1.tar+zstd")]
    yield "layout", b'{"imageLayoutVersion": "1.0.0"}'
    yield "index", document(manifests=[manifest, blob("index.v1+json"), blob("other")])
    yield "manifest", document(config=blob("config.v1+json"), layers=layers)
    yield "manifest_bad_layer", document(config=blob("config.v1+json"), layers=[blob("layer.v1.tar+xz")])
    diff_ids = {"type": "layers", "diff_ids": ["sha256:" + "b" * 64]}
    yield "config", document(os="linux", architecture="amd64", rootfs=diff_ids)
    yield "size_beyond", document(manifests=[blob("manifest.v1+json", size=2**64)])
    yield "digest_path", document(manifests=[blob("manifest.v1+json", digest="sha256:../../x")])


def tar(*entries: tuple[str, bytes, str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A layer of (name, type, target, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, kind, target, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, len(content)
            archive.addfile(info, io.BytesIO(content))
    text = out.getvalue().rstrip(b"\0")  # without most of the padding
    return text + bytes(-len(text) % 512 + 1024)


def layer_seeds() -> Iterator[tuple[str, bytes]]:
    """Layers, a line LAYER between them."""
    between = b"\nLAYER\n"
    file, folder, link, hard = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
    base = tar(("usr/", folder, "", b""), ("usr/a", file, "", b"abc"), ("bin", link, "usr", b""))
    yield "base", base
    yield "gzip", gzip.compress(base, mtime=0)
    zstd = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(base))  # one raw block
    yield "zstd", zstd + struct.pack("<I", len(base) << 3 | 1)[:3] + base
    yield "gzip_twice", gzip.compress(gzip.compress(base, mtime=0), mtime=0)
    yield "whiteouts", base + between + tar(("usr/.wh.a", file, "", b""), ("usr/.wh..wh..opq", file, "", b""))
    yield "through_link", base + between + tar(("bin/b", file, "", b"x"), ("h", hard, "bin/b", b""))
    yield "replaced", base + between + tar(("usr", file, "", b"x"), ("bin/", folder, "", b""))
    yield "links_out", tar(("l", link, "../../..", b""), ("l/etc/x", file, "", b"x"), ("m", link, "/", b""))
    yield "loop", tar(("a", link, "b", b""), ("b", link, "a", b""), ("a/x", file, "", b""))
    yield "absolute", tar(("/etc/passwd", file, "", b"x"))
    yield "dots", tar(("../../x", file, "", b"x"))
    yield "hard_link_out", tar(("h", hard, "../../etc/passwd", b""))
    yield "twice", tar(("a", file, "", b"x"), ("a", file, "", b"y"))
    yield "devices", tar(("d", tarfile.CHRTYPE, "", b""), ("p", tarfile.FIFOTYPE, "", b""))
    yield "long_names", tar(("n" * 120 + "/" + "m" * 120, file, "", b"x"), form=tarfile.GNU_FORMAT)
    yield "pax_names", tar(("\u00e9/" * 60, folder, "", b""), ("l", link, "\u4e2d" * 50, b""))
    yield "work_link", tar(("work", link, "/vol/work", b""), ("usr/local/bin/python3", file, "", b"x"))
    yield "work_full", tar(("work/x", file, "", b""))
    yield "cut_short", base[:1200]


def guest_report_seeds() -> Iterator[tuple[str, bytes]]:
    """Frames of a runner, one after another."""
    begin = field(32, b"E") + field(33, b"m")
    yield "whole", GUEST
    yield "order_of_no_stream", frame(16, field(6, b"\3") + field(7, number(0)))
    yield "order_far_ahead", frame(16, field(6, b"\2") + field(7, number(2**64 - 1)))
    yield "result_odd", frame(17, field(8, b"text/plain"))
    yield "result_twice", frame(17, (field(8, b"text/plain") + field(9, b"a")) * 2)
    yield "artifact_alone", frame(18, field(2, b"a"))
    yield "artifact_no_path", frame(18, field(3, b"a"))
    yield "artifact_nul", frame(18, field(2, b"a\0b"))
    yield "artifact_up", frame(18, field(2, b"../../etc/passwd") + field(3, b"../x\n\x1b[2J"))
    yield "artifacts_many", frame(18, field(2, b"a")) * 300
    yield "exception_twice", frame(19, begin) * 2
    yield "exception_no_type", frame(19, field(33, b"m"))
    yield "exception_bad_text", frame(19, field(32, b"\xff\r\n\x1b[31m") + field(33, b"\xed\xa0\x80" * 5600))
    yield "exception_hints", frame(19, begin + field(43, b"h") * 40)
    yield "exception_deep", frame(19, begin + (field(39, b"f.py") + field(40, number(1))) * 200)
    yield "exception_exit_code", frame(19, begin + field(45, number(256)))
    yield "unknown_type", frame(99, b"")
    yield "engine_type", frame(1, field(1, b"print(1)"))


def guest_control_seeds() -> Iterator[tuple[str, bytes]]:
    """One byte n, n bytes of chunk sizes, then a runner's or an engine's frames on their way through a launcher."""
    engine = frame(6, field(2, b"out/a.png")) + frame(1, field(1, b"print(1)")) + frame(4, b"")
    yield "of_a_runner", b"\0" + GUEST + frame(20, field(45, number(0)))
    yield "of_an_engine", b"\2\0\7" + engine
    yield "forged_end", b"\1\3" + GUEST + frame(21, field(46, number(0))) + GUEST
    yield "parked", b"\1\0" + frame(22, b"") * 20
    yield "paths", b"\0" + b"".join(
        frame(18, field(2, path)) for path in (b"../a", b"/tmp/b", b"/etc/c", b"d\0e", b"./f//g", b"/vol/", b"")
    )
    yield "many_paths", b"\0" + frame(6, b"".join(field(2, b"%d" % i) for i in range(600)))
    yield "long_path", b"\0" + frame(18, field(2, b"a" * 4096)) + frame(18, field(2, b"a" * 4097))
    yield "collect_half_a_field", b"\0" + frame(6, b"\2\0\0\0")
    yield "oversized", b"\1\1" + GUEST + frame(18, b"", size=FRAME_MAX + 1) + GUEST
    yield "reserved", b"\0" + frame(20, b"", reserved=1)


def guest_messages_seeds() -> Iterator[tuple[str, bytes]]:
    """What process 1 of a microvm says to its launcher."""

    def message(kind: int, payload: bytes, *, length: int | None = None) -> bytes:
        return struct.pack("<II", kind, len(payload) if length is None else length) + payload

    def kind_of(mode: int, links: int, size: int) -> bytes:
        return message(22, struct.pack("<IIQ", mode, links, size))

    def data(at: int, piece: bytes) -> bytes:
        return message(23, number(at) + piece)

    ended = message(20, struct.pack("<II7Q16s", 3 << 8, 0, 0, 4096, 0, 3, 0, 1 << 20, 100, b""))
    wants = message(1, frame(18, field(2, b"out/a")) + frame(18, field(2, b"out/a/b")) + frame(18, field(2, b"c")))
    end, failed = message(24, struct.pack("<I", 0)), message(24, struct.pack("<I", 2))
    begin = message(16, b"") + message(18, b"out") + message(19, b"err") + wants
    yield "whole", begin + ended + kind_of(0o100644, 1, 6) + data(0, b"abc") + data(3, b"def") + end + failed + end
    yield "no_products", message(18, b"out") + ended
    yield "links", begin + ended + kind_of(0o120777, 1, 3) + end + kind_of(0o100644, 1, 1) + data(0, b"x") + end + end
    yield "kinds", begin + ended + kind_of(0o010644, 1, 0) + end + kind_of(0o040755, 2, 0) + end + kind_of(0o140755, 1, 0) + end
    yield "second_names", begin + ended + kind_of(0o100644, 2, 1) + data(0, b"x") + end
    yield "sparse", begin + ended + kind_of(0o100644, 1, 1 << 30) + data((1 << 30) - 1, b"x") + end
    yield "sizes_of_none", begin + ended + kind_of(0o100644, 1, (1 << 64) - 1) + data((1 << 64) - 2, b"x") + end
    yield "outside", begin + ended + kind_of(0o100644, 1, 4) + data(3, b"xyz") + end
    yield "two_kinds", begin + ended + kind_of(0o100644, 1, 4) + kind_of(0o100644, 1, 4)
    yield "two_ends", begin + ended + ended
    yield "done_to_nothing", message(17, struct.pack("<I", 0))
    yield "failed", message(21, b"mount the image: No such device")
    yield "forged_end", message(1, frame(21, field(46, number(0)))) + ended
    yield "frame_in_pieces", b"".join(message(1, GUEST[at : at + 5]) for at in range(0, len(GUEST), 5)) + ended
    yield "oversized", message(18, b"", length=65537)
    yield "cut", begin + ended[:-1]


def imports_seeds() -> Iterator[tuple[str, bytes]]:
    """Programs, well formed and not."""
    yield "list", b"import os, numpy as np; import pandas as pd\n"
    yield "from", b"from numpy.random import (\n    default_rng,\n)\n"
    yield "relative", b"from .numpy import x\nfrom . import pandas\n"
    yield "continued", b"from \\\r\n  pandas \\\n import DataFrame\r\n"
    yield "indented", b"try:\n\timport numpy\nexcept ImportError: import pandas\n"
    yield "comment", b"# import numpy 'it\nx = 1  # \"; import pandas\n"
    yield "strings", b"x = 'import numpy\\'; import numpy'\ny = rb\"\\\"; import pandas\"\n"
    yield "triple", b"'''\nimport numpy \"\"\"\n''' ; import pandas\n"
    yield "f_string", b"print(f\"{x['import']:>{w}} {{\", f'{a!r}')\nimport scipy\n"
    yield "open_triple", b'import numpy\n""" \nimport pandas\n'
    yield "open_bracket", b"import numpy\nx = ((\nimport pandas\n"
    yield "open_string", b"x = 'a\nimport numpy\n"
    yield "close_brackets", b")]}import numpy\n)import pandas\n"
    yield "backslash_at_end", b"import numpy\nx = 'a\\"
    yield "byte_order_mark", b"\xef\xbb\xbfimport numpy\n"
    yield "not_text", b"\0\xff\xfe import numpy\0\r\nimport\xc3\xa9 numpy"


def calls_seeds() -> Iterator[tuple[str, bytes]]:
    """Calls of capabilities, whole, in pieces, and not as they should be."""

    def call(value: int, text: bytes = b"{}", *, kind: int = 32, more: bool = False, name: bytes = b"ledger.read") -> bytes:
        payload = field(7, number(value)) + (field(3, name) if kind == 32 else b"") + field(1, text)
        return frame(kind, payload + (field(64, b"") if more else b""))

    yield "whole", call(1) + call(2, b'{"a": 1}')
    yield "pieces", call(1, b'{"a"', more=True) + call(1, b": 1}", kind=33) + call(2)
    yield "mixed", call(1, more=True) + call(2)
    yield "other_piece", call(1, more=True) + call(2, kind=33)
    yield "number_twice", call(2) + call(2)
    yield "number_zero", call(0)
    yield "too_large", call(1, b"x" * 3000, more=True) + call(1, b"x" * 3000, kind=33) + call(2)
    yield "no_name", call(1, name=b"") + call(2)
    yield "name_not_utf8", call(1, name=b"\xff")
    yield "no_fields", frame(32, b"")
    yield "fields_reversed", frame(32, field(1, b"{}") + field(3, b"a") + field(7, number(1)))
    yield "among_others", frame(16, field(6, b"\1") + field(7, number(0))) + call(1)


SEEDS = {
    "calls": calls_seeds,
    "audit": audit_seeds,
    "condition": condition_seeds,
    "frame": frame_seeds,
    "guest_control": guest_control_seeds,
    "guest_messages": guest_messages_seeds,
    "guest_report": guest_report_seeds,
    "http_request": http_request_seeds,
    "imports": imports_seeds,
    "json": json_seeds,
    "json_reader": json_reader_seeds,
    "layer": layer_seeds,
    "manifest": manifest_seeds,
    "oci": oci_seeds,
    "pattern": pattern_seeds,
    "policy": policy_seeds,
    "schema": schema_seeds,
    "utf8": utf8_seeds,
}


def main() -> None:
    """Writes every seed."""
    for target, seeds in SEEDS.items():
        folder = Path(__file__).parent / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
