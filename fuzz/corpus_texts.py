"""Seeds that are texts: JSON, schemas, audit segments, policies."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator


def json_seeds() -> Iterator[tuple[str, bytes]]:
    """The style, then operations as fuzz_json.cc reads them."""
    yield "null", b"\0\0"
    yield "text", b"\0\3\5a\"\\\n\xff"
    yield "array", b"\1\2\7\x87\3\1x\0"
    yield "object", b"\1\1\1a\3\1b\1\1c\2\0\0"
    yield "double", b"\0\4" + struct.pack(">d", 0.1)
    yield "not_a_number", b"\0\4" + struct.pack(">d", float("nan"))
    yield "smallest_integer", b"\0\5" + struct.pack(">q", -(2**63))
    yield "largest_integer", b"\0\6" + struct.pack(">Q", 2**64 - 1)
    yield "deep", b"\0" + b"\2" * 70
    yield "controls", b"\0\3\x21" + bytes(range(33))


def json_reader_seeds() -> Iterator[tuple[str, bytes]]:
    """JSON texts, and what is nearly one."""
    yield "all_kinds", b'{"a": [null, true, false, -1.5e3, "x\\n"], "": {}, "b": []}'
    yield "escapes", b'"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud834\\udd1e\\u0000"'
    yield "numbers", b"[0, -0, 1.50, 1E5, 1e400, 1e-400, 9007199254740993, 18446744073709551616]"
    yield "long_number", b"[" + b"7" * 400 + b', "1e5", -0.' + b"3" * 400 + b"]"
    yield "key_twice", b'{"a":1,"\\u0061":2}'
    yield "half_a_pair", b'["\\ud800", "\\udc00"]'
    yield "not_utf8", b'"\xed\xa0\x80"'
    yield "deep", b"[" * 65 + b"]" * 65
    yield "deep_enough", b'{"a":[' * 32 + b"]}" * 32
    yield "bare_nul", b"[1,\0]"
    yield "trailing", b"1 2"
    yield "comment", b"/* c */ 1"
    yield "leading_zero", b"[01]"
    yield "byte_order_mark", b"\xef\xbb\xbf1"
    yield "control_in_string", b'"a\x1fb"'


def schema_seeds() -> Iterator[tuple[str, bytes]]:
    """A schema, a line VALUE, a value."""

    def pair(schema: object, value: object) -> bytes:
        return json.dumps(schema).encode() + b"\nVALUE\n" + json.dumps(value).encode()

    amount = {"type": "number", "minimum": 0, "exclusiveMaximum": 1e3, "multipleOf": 0.01}
    payment = {"type": "object", "properties": {"amount": amount}, "required": ["amount"], "additionalProperties": False}
    yield "object", pair(payment, {"amount": 1.25})
    yield "object_wrong", pair(payment, {"amonut": "x"})
    yield "text", pair({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"}, "\u00e9")
    yield "list", pair({"prefixItems": [True], "items": {"type": "integer"}, "uniqueItems": True, "minItems": 1}, [1, 1.0])
    yield "contains", pair({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [1, 1, 2])
    yield "names", pair({"patternProperties": {"^a": False}, "propertyNames": {"maxLength": 3}}, {"abc": 1, "bcde": 2})
    yield "needed", pair({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"maxProperties": 1}}}, {"a": 1})
    kinds = [{"properties": {"kind": {"const": kind}, kind: {"type": "integer"}}} for kind in ("circle", "square")]
    yield "alternatives", pair({"oneOf": kinds, "anyOf": kinds, "not": {"required": ["x"]}}, {"kind": "square", "square": "2"})
    yield "condition", pair({"if": {"type": "string"}, "then": {"enum": ["a"]}, "else": {"format": "decimal"}}, "b")
    tree = {"$ref": "#/$defs/t", "$defs": {"t": {"items": {"$ref": "#/$defs/t"}, "type": ["array", "integer"]}}}
    yield "tree", pair(tree, [[1], [[2.5]]])
    yield "anchor", pair({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "null"}}}, None)
    yield "circle", pair({"allOf": [{"$ref": "#"}]}, 1)
    yield "unknown", pair({"unevaluatedItems": False, "typ": 1, "x-a": 2}, 1)
    draft_07 = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "items": {"$ref": "#/definitions/a"}}
    yield "draft_07", pair(draft_07, [1])
    texts = {"description": 'a"""\n\\', "default": "\x1b", "title": "type: x"}
    yield "texts", pair({"properties": {"from": texts, "a-b": {"enum": ['"', 1]}, "": {"properties": {"x": texts}}}}, {})
    yield "exponents", b'{"minimum":1e999999999,"multipleOf":1e-999999999}\nVALUE\n1e1000000000'


def pattern_seeds() -> Iterator[tuple[str, bytes]]:
    """A pattern, a line end, a text."""
    yield "letters", b"^(a|b)*$\nabab"
    yield "escapes", rb"^\d\D\w\W\s\S\b\B\t\cA\x41\u0042\u{43}\uD834\uDD1E\0\/" + b"\n1a"
    yield "classes", rb"[^]x[]|[a-z\d-.[\]^\s]|[^\S\b]" + b"\nq"
    yield "properties", rb"\p{L}\P{Letter}[\p{Script=Greek}\p{LC}]" + "\nαé".encode()
    yield "groups", b"(?<year>[0-9]{4})-(?:x{2,3}?|y+)\n2026-xx"
    yield "looking", b"(?=a)(?<!b)\\1\\k<a>(?i)\na"
    yield "large", b"((a{100}){100}){100}\na"
    yield "any", ".é\né\u2028".encode()


def audit_seeds() -> Iterator[tuple[str, bytes]]:
    """Segments of an audit log, as docs/audit.md has them, and what is nearly one."""

    def chain(*bodies: tuple[str, str], first: int = 1, before: str = "0" * 64) -> list[bytes]:
        lines = []
        for number, (kind, body) in enumerate(bodies, start=first):
            text = f'{{"seq":{number},"prev":"{before}","at":"2026-07-30T12:00:00.{number:06}Z","kind":"{kind}"'
            text += "," + body if body else ""
            before = hashlib.sha256(text.encode()).hexdigest()
            lines.append(f'{text},"digest":"{before}"}}\n'.encode())
        return lines

    header = ("segment", '"format":1,"writer":"main","instance":"00112233445566778899aabbccddeeff","segment":1')
    verdict = ("verdict", '"run":"r1","call":"c1","capability":"ledger.read","verdict":"allow","labels":[]')
    closed = ("log", '"step":"closed"')
    good = chain(header, verdict, ("result", '"run":"r1","status":"\\u00e9"'), ("unknown_kind", ""), closed)
    yield "whole", b"".join(good)
    yield "torn", b"".join(good)[:-20]
    yield "no_line_end", b"".join(good)[:-1]
    yield "missing", good[0] + good[2]
    yield "twice", good[0] + good[1] + good[1]
    yield "reordered", good[0] + good[2] + good[1]
    yield "flipped", good[0] + good[1].replace(b"allow", b"alloW")
    yield "other_chain", good[0] + b"".join(chain(verdict, first=2))
    yield "no_header", b"".join(chain(verdict))
    yield "other_writer", b"".join(chain((header[0], header[1].replace("main", "man")), verdict))
    yield "two_headers", b"".join(chain(header, header))
    yield "member_twice", b"".join(chain(header, ("verdict", '"run":"r1","run":"r2"')))
    yield "no_json", b"".join(chain(header, ("verdict", '"run":r1')))
    yield "number_too_large", good[0].replace(b'"seq":1', b'"seq":18446744073709551616')
    yield "empty_lines", b"\n\n"


def policy_seeds() -> Iterator[tuple[str, bytes]]:
    """Policy files, well formed and not."""
    lists = b"[permissions]\ndeny = ['github.delete_*', '@destructive']\nask = [\"mail.send(to !~ '*@example.com')\"]\n"
    lists += b"allow = ['docs.*', \"mail.send(to ~ '*@example.com')\"]\n"
    labels = b"[labels]\nothers = ['odd']\n[labels.sources]\n'web.*' = ['untrusted']\n[labels.sinks]\nstdout = 'seen'\n"
    flow = b"[[flow]]\nwhen = 'untrusted in run and sink == external'\nverdict = 'ask'\nreason = 'x'\n"
    tiers = b"[effects]\n'mail.*' = 'message'\n[tiers]\n'a' = 1\n'mail.send' = { tier = 2, override = 'so' }\n"
    budgets = b"[[budgets.calls]]\nof = '*'\nmax = 1\nbeyond = 'deny'\n[[budgets.sum]]\nof = 'payment.send'\n"
    budgets += b"argument = 'amount'\nmax = ['12.50 EUR', '1 USD']\nbeyond = 'ask'\n[[budgets.distinct]]\nof = '@message'\n"
    budgets += b"argument = 'to'\nmax = 1\nbeyond = 'ask'\nreason = 'x'\n"
    test = b"[[test]]\ncall = \"a(x='b', y=[1, {z=null}])\"\nlabels = ['odd']\nbefore = ['b()']\nexpect = 'deny'\n"
    whole = b"default = 'ask'\n" + lists + labels + tiers + flow + budgets
    yield "whole", whole + test
    yield "failing_test", lists + test.replace(b"'deny'", b"'allow'")
    yield "empty", b""
    yield "unknown_keys", b"defualt = 'ask'\n[permisions]\n[labels]\nx = 1\n"
    yield "wrong_types", b"default = 1\npermissions = []\nlabels = 1.5\nflow = {}\nbudgets = 1979-05-27\ntest = [1]\n"
    yield "escapes", b'"\\u001b" = 1\n[permissions]\nask = ["a(x == \'\\u0000\')", """\nb(\n  c >> 1)"""]\n'
    yield "deep_lists", b"a = " + b"[" * 300 + b"]" * 300
    yield "deep_keys", b".".join([b"a"] * 300) + b" = 1\n"
    yield "deep_condition", b"[permissions]\nallow = ['a(" + b"(" * 60 + b"x > 1" + b")" * 60 + b")']\n"
    yield "letter_outside_a_string", b"def\xc3\xb2lt = 1\n"
    yield "odd_header", b"[*@example.com]\n"
    yield "nul", b"default = 'ask\0'\n"
    yield "not_utf8", b"default = '\xff'\n"
    yield "not_toml", b"default = ask\n"
    yield "key_twice", b"default = 'ask'\ndefault = 'deny'\n"
    yield "byte_order_mark", b"\xef\xbb\xbf" + whole


def condition_seeds() -> Iterator[tuple[str, bytes]]:
    """What stands in the strings of a policy file."""
    yield "numbers", b"amount > 100 EUR or amount <= -1.5e3 and amount != 0 EUR from o.c"
    yield "strings", b"a == 'it''s' and \"odd key\".b != \"x\" or a in ['x', ''] or a not in [1, 2.0]"
    yield "globs", b"to !~ '*@b' and not to ~ 'a\\\\\\*?'"
    yield "lists", b"any l[*].a == 2 or all l[*][*] ~ 'x*' or present(o.a)"
    yield "words", b"a == true or a == false or a == null"
    yield "pattern", b"mail.*@message(to !~ '*@example.com')"
    yield "flow", b"untrusted in run and (sink == external or effect != spend) and odd not in run"
    yield "call", b"mail.send(to='a@b', amount=12.50, l=[1, 'x', {y=null}])"
    yield "call_cut_short", b"mail.send(a_name_that_is_longer_than_a_small_string=06.50)"
    yield "json_call", b'mail.send({"to": "a@b", "n": 1e400})'
    yield "deep", b"(" * 40 + b"a == 1" + b")" * 40
    yield "nots", b"not " * 40 + b"a == 1"
    yield "huge_number", b"a > 1e999999999"
    yield "open_string", b"a == 'x"
    yield "steps", b"a" + b".a" * 20 + b" == 1"
