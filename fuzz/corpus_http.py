"""Seeds that are requests of HTTP/1, well formed and not."""

from __future__ import annotations

from collections.abc import Iterator

HOST = b"Host: localhost\r\n"


def request(line: bytes, fields: bytes = b"", body: bytes = b"") -> bytes:
    """One request; fields end in CR LF."""
    return line + b"\r\n" + HOST + fields + b"\r\n" + body


def chunked(body: bytes, fields: bytes = b"") -> bytes:
    """A request whose body is framed in chunks by hand."""
    return request(b"POST /v1/runs HTTP/1.1", b"Transfer-Encoding: chunked\r\n" + fields, body)


def sized(value: bytes, body: bytes = b"hello") -> bytes:
    """A request with some Content-Length."""
    return request(b"POST /v1/runs HTTP/1.1", b"Content-Length: " + value + b"\r\n", body)


def http_request_seeds() -> Iterator[tuple[str, bytes]]:
    """One byte for the size of the pieces, then the stream."""
    texts = {
        "get": request(b"GET /healthz HTTP/1.1"),
        "old": b"GET / HTTP/1.0\r\n\r\n",
        "absolute": request(b"GET http://localhost/v1/runs?a=b HTTP/1.1"),
        "encoded": request(b"GET /v1/runs/a%20b%c3%a9?q=%2f+x&&y HTTP/1.1", b"Accept: */*\r\nLast-Event-ID: 7\r\n"),
        "sized": sized(b"5"),
        "chunks": chunked(b"5\r\nhello\r\n1a;name=value;q=\"a b\"\r\n" + b"x" * 26 + b"\r\n0\r\n\r\n"),
        "pipelined": sized(b"5") + chunked(b"1\r\nx\r\n00\r\n\r\n") + b"\r\n" + request(b"HEAD / HTTP/1.1"),
        "continue": request(b"PUT /a HTTP/1.1", b"Expect: 100-continue\r\nContent-Length: 1\r\n", b"x"),
        "keyed": request(b"GET / HTTP/1.1", b"Authorization: Bearer casemate_0123\r\nConnection: keep-alive, close\r\n"),
        "both": chunked(b"0\r\n\r\n", b"Content-Length: 5\r\n"),
        "two_lengths": request(b"POST / HTTP/1.1", b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
        "length_list": sized(b"5, 5"),
        "length_sign": sized(b"+5"),
        "length_blanks": sized(b"\t 5 \t"),
        "length_overflow": sized(b"18446744073709551621"),
        "coding_list": request(b"POST / HTTP/1.1", b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
        "folded": request(b"GET / HTTP/1.1", b"Transfer-Encoding:\r\n chunked\r\n"),
        "blank_before_colon": request(b"POST / HTTP/1.1", b"Content-Length : 5\r\n", b"hello"),
        "bare_lf": b"POST / HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello",
        "bare_cr": request(b"GET / HTTP/1.1", b"X: a\rTransfer-Encoding: chunked\r\n"),
        "nul": request(b"GET / HTTP/1.1", b"X: a\0b\r\n"),
        "not_ascii": request(b"GET / HTTP/1.1", b"X: \xc3\xa9\r\n"),
        "no_host": b"GET / HTTP/1.1\r\n\r\n",
        "two_hosts": request(b"GET / HTTP/1.1", HOST),
        "preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "connect": request(b"CONNECT localhost:80 HTTP/1.1"),
        "dots": request(b"GET /a/%2e%2e/b HTTP/1.1"),
        "overlong": request(b"GET /%c0%af HTTP/1.1"),
        "encoded_slash": request(b"GET /a%2Fb HTTP/1.1"),
        "chunk_prefix": chunked(b"0x5\r\nhello\r\n0\r\n\r\n"),
        "chunk_overflow": chunked(b"ffffffffffffffff\r\n"),
        "chunk_bare_lf": chunked(b"5\nhello\n0\n\n"),
        "chunk_quoted_break": chunked(b'5;a="\r\n"\r\nhello\r\n0\r\n\r\n'),
        "chunk_cut": chunked(b"5\r\nhel"),
        "chunk_no_break": chunked(b"5\r\nhello0\r\n\r\n"),
        "chunk_zeros": chunked(b"0000000000000001\r\nx\r\n0000\r\n\r\n"),
        "trailer": chunked(b"1\r\nx\r\n0\r\nContent-Length: 5\r\n\r\n"),
        "many_fields": request(b"GET / HTTP/1.1", b"X:\r\n" * 100),
        "empty_line_first": b"\r\n" + request(b"GET / HTTP/1.1"),
    }
    for number, (name, text) in enumerate(texts.items()):
        yield name, bytes([number % 7]) + text
