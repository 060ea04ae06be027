"""casemate.tools in the real runner, against an engine that answers."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from typing import Any, Optional

from engine import Ended, RunnerTest, frame

from casemate import _wire

Answer = Callable[[str, Any], "bytes | tuple[int, bytes] | tuple[int, bytes, list[str]] | None"]


def reply(number: int, status: int, text: bytes, typed: list[str], piece: int = 1 << 19) -> bytes:
    """The frames of an answer, in pieces of so many bytes."""
    out, head = b"", _wire.field(_wire.TAG_STATUS, bytes((status,)))
    head += b"".join(_wire.text_field(_wire.TAG_TYPED, entry) for entry in typed)
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)] or [b""]
    for index, part in enumerate(pieces):
        payload = _wire.number_field(_wire.TAG_NUMBER, number) + head + _wire.field(_wire.TAG_BYTES, part)
        if index + 1 < len(pieces):
            payload += _wire.field(_wire.TAG_MORE, b"")
        out += frame(_wire.REPLY_DATA if index else _wire.REPLY, payload)
        head = b""
    return out


class Peer:
    """Answers calls by a function of name and arguments, each at once or, `hold` of them together, the last first."""

    def __init__(self, answer: Answer, hold: int = 1, piece: int = 1 << 19) -> None:
        self.answer, self.hold, self.piece = answer, hold, piece
        self.calls: list[tuple[str, Any]] = []
        self._held: list[bytes] = []
        self._partial: tuple[int, str, bytes] = (0, "", b"")

    def __call__(self, frames: list[tuple[int, list[tuple[int, bytes]]]]) -> bytes:
        for kind, fields in frames:
            if kind not in (_wire.CALL, _wire.CALL_DATA):
                continue
            told = dict(fields)
            number = int.from_bytes(told[_wire.TAG_NUMBER], "little")
            if kind == _wire.CALL:
                self._partial = (number, told[_wire.TAG_NAME].decode(), b"")
            assert self._partial[0] == number, "pieces of two calls are mixed"
            self._partial = (number, self._partial[1], self._partial[2] + told[_wire.TAG_BYTES])
            if _wire.TAG_MORE not in told:
                self._call(*self._partial)
        if len(self._held) < self.hold:
            return b""
        out = b"".join(reversed(self._held))
        self._held.clear()
        return out

    def _call(self, number: int, name: str, text: bytes) -> None:
        arguments = json.loads(text, parse_float=str)
        self.calls.append((name, arguments))
        said = self.answer(name, arguments)
        if said is None:
            return
        status, data, typed = 0, said, []
        if isinstance(said, tuple):
            status, data, typed = (*said, [])[:3]
        assert isinstance(data, bytes)
        self._held.append(reply(number, status, data, typed, self.piece))


def echo(_name: str, arguments: Any) -> bytes:
    return json.dumps(arguments).encode()


class ToolsTest(RunnerTest):
    def with_peer(self, source: str, answer: Answer = echo, **options: Any) -> tuple[Ended, Peer]:
        hold, piece = options.pop("hold", 1), options.pop("piece", 1 << 19)
        peer = Peer(answer, hold, piece)
        ended = self.run_ok("from casemate import tools, ToolDenied, ToolError\n" + source, answer=peer, **options)
        return ended, peer

    def printed(self, source: str, answer: Answer = echo, **options: Any) -> str:
        return self.with_peer(source, answer, **options)[0].stdout.decode()


class Calls(ToolsTest):
    def test_a_call_is_a_function_and_its_result_a_plain_value(self) -> None:
        ended, peer = self.with_peer("print(tools.ledger.read(tenant='a', n=[1, {'b': None}], ok=True))")
        self.assertEqual(ended.stdout, b"{'tenant': 'a', 'n': [1, {'b': None}], 'ok': True}\n")
        self.assertEqual(peer.calls, [("ledger.read", {"tenant": "a", "n": [1, {"b": None}], "ok": True})])

    def test_names_that_python_does_not_take(self) -> None:
        source = "tools['git.delete-repo!'](a=1); tools.call('x', {'class': 1, 'a b': 2}); tools.mail.send(from_='me', class_=1, to_=2)"
        _, peer = self.with_peer(source)
        self.assertEqual(
            peer.calls,
            [("git.delete-repo!", {"a": 1}), ("x", {"class": 1, "a b": 2}), ("mail.send", {"from": "me", "class": 1, "to_": 2})],
        )

    def test_arguments_that_cannot_be_sent_are_errors_without_a_call(self) -> None:
        source = """
import math
cycle = []; cycle.append(cycle)
deep = []
for _ in range(100000): deep = [deep]
for bad in (math.nan, math.inf, {1, 2}, cycle, object(), print, deep, {(1, 2): 3}):
    try: tools.x.y(v=bad)
    except ToolError as e: print(e.code, e.effect, bool(e.message))
try: tools.x.y(1)
except TypeError as e: print(e)
"""
        ended, peer = self.with_peer(source)
        self.assertEqual(ended.stdout.decode(), "invalid False True\n" * 8 + "x.y() takes named arguments only: x.y(name=value)\n")
        self.assertEqual(peer.calls, [])

    def test_a_denial_and_an_error_are_two_things_and_both_can_be_caught(self) -> None:
        def answer(name: str, _arguments: Any) -> tuple[int, bytes]:
            if name == "a.denied":
                told = {"capability": name, "message": "no", "rule": "deny a.*", "reason": "because"}
                return 2, json.dumps(told).encode()
            told = {"capability": name, "code": "failed", "message": "broke", "effect": None, "data": [1]}
            return 1, json.dumps(told).encode()

        source = """
import pickle
for name in ("a.denied", "a.failed"):
    try: tools[name]()
    except ToolError as e:
        print(type(e).__name__, e, e.code, e.effect, getattr(e, "rule", None), getattr(e, "reason", None), e.data)
        same = pickle.loads(pickle.dumps(e)); print(str(same) == str(e), vars(same) == vars(e))
"""
        self.assertEqual(
            self.printed(source, answer),
            "ToolDenied a.denied: no denied False deny a.* because None\nTrue True\n"
            "ToolError a.failed: broke failed None None None [1]\nTrue True\n",
        )

    def test_one_that_is_not_caught_ends_the_program_with_its_line(self) -> None:
        def denied(name: str, _arguments: Any) -> tuple[int, bytes]:
            return 2, json.dumps({"capability": name, "message": "not allowed", "rule": "r", "reason": ""}).encode()

        peer = Peer(denied)
        ended = self.engine.run("from casemate import tools\ntools.a.b()", answer=peer)
        self.assertEqual(ended.status, 1)
        self.assertEqual((ended.report.type.rpartition(".")[2], ended.report.line), ("ToolDenied", 2))
        self.assertEqual([f["line"] for f in ended.report.frames], [2])

    def test_ten_thousand_calls(self) -> None:
        self.assertEqual(self.printed("print(sum(tools.a.b(n=n)['n'] for n in range(10000)))"), "49995000\n")

    def test_large_arguments_and_results_go_in_pieces(self) -> None:
        source = "t = 'é' * 5_000_000; print(tools.a.b(t=t)['t'] == t); print(tools.a.b(t=t)['t'] == t)"
        self.assertEqual(self.printed(source), "True\nTrue\n")
        self.assertEqual(self.printed("print(tools.a.b(t='x' * 99))", piece=1), repr({"t": "x" * 99}) + "\n")

    def test_text_of_every_kind_arrives(self) -> None:
        text = "\u0000\u2028😀\u202e\"\\\r\n"
        self.assertEqual(self.printed(f"t = {text!r}; print(tools.a.b(t=t) == {{'t': t}})"), "True\n")

    def test_a_closed_socket_is_an_error(self) -> None:
        source = "import os; os.close(3)\ntry: tools.a.b()\nexcept ToolError as e: print(e.code)"
        self.assertEqual(self.printed(source), "lost\n")

    def test_a_forked_child_cannot_call_and_does_not_disturb(self) -> None:
        source = """
import os
if os.fork() == 0:
    try: tools.a.b()
    except ToolError as e: print(e.code, flush=True)
    os._exit(0)
os.wait()
print(tools.a.b(n=1))
"""
        self.assertEqual(self.printed(source), "process\n{'n': 1}\n")

    def test_discovery_asks_the_other_side(self) -> None:
        def answer(name: str, arguments: Any) -> bytes:
            if name == "casemate.search":
                return json.dumps([{"name": "a.b", "signature": "a.b(n)", "summary": arguments["query"]}]).encode()
            if name == "casemate.names":
                return json.dumps(["b", "c"] if arguments["prefix"] == "a." else ["a"]).encode()
            return b'"about it"'

        source = """
print(tools.search("q", limit=1)); print(dir(tools)); print(dir(tools.a)); print(tools.describe("a.b"))
print(tools.a.b.__doc__, repr(tools.a.b), tools.a.b.__name__); help(tools.a.b)
import copy; copy.copy(tools.a); hasattr(tools, "__wrapped__")
"""
        printed = self.printed(source, answer)
        self.assertIn("[{'name': 'a.b', 'signature': 'a.b(n)', 'summary': 'q'}]\n", printed)
        self.assertIn("['a', 'call', 'describe', 'search']\n['aio', 'b', 'c']\nabout it\n", printed)
        self.assertIn("about it <capability a.b> a.b", printed)


class Numbers(ToolsTest):
    def test_they_cross_by_their_text(self) -> None:
        source = """
from decimal import Decimal as D
from fractions import Fraction
big = 10 ** 4000 + 1
print(tools.a.b(n=big)["n"] == big)
tools.a.b(d=D("100.00000000000000001"), e=D("0.1"), f=[D("1E+400"), D("-0.00")], g=0.1, h=1e308, i=2**64, t="0.1")
for bad in (D("NaN"), D("Infinity"), D("sNaN"), Fraction(1, 3)):
    try: tools.a.b(d=bad)
    except ToolError as e: print(e.code)
"""
        ended, peer = self.with_peer(source)
        self.assertEqual(ended.stdout.decode(), "True\n" + "invalid\n" * 4)
        sent = {"d": "100.00000000000000001", "e": "0.1", "f": ["1E+400", "-0.00"], "g": "0.1", "h": "1e+308", "i": 2**64, "t": "0.1"}
        self.assertEqual(peer.calls[1][1], sent)

    def result(self, text: str, typed: Optional[list[str]] = None) -> str:
        source = """
try: print(repr(tools.a.b()))
except ToolError as e: print(e.code, e.effect, e)
"""
        return self.printed(source, lambda *_: (0, text.encode(), typed or []))

    def test_results_are_exact_or_an_error(self) -> None:
        self.assertEqual(self.result("[0.1, 1, -0.0, 1e308, 18446744073709551616]"), "[0.1, 1, -0.0, 1e+308, 18446744073709551616]\n")
        for text in ("1e400", "[-1e999999]", "NaN", "[Infinity]", "1" + "0" * 400 + ".5"):
            self.assertTrue(self.result(text).startswith("result None"), text)
        digits = "7" * 9000
        printed = self.printed("print(tools.a.b() % 10**20)", lambda *_: digits.encode())
        self.assertEqual(printed, "7" * 20 + "\n")

    def test_what_the_schema_calls_decimal_is_a_decimal(self) -> None:
        text = '{"rows": [{"amount": 0.10, "n": 0.5}, {"amount": "100.00000000000000001"}, {"amount": null}], "total": 3, "e": 1e400}'
        self.assertEqual(
            self.result(text, ["decimal /rows/*/amount", "decimal /total", "decimal /e"]),
            "{'rows': [{'amount': Decimal('0.10'), 'n': 0.5}, {'amount': Decimal('100.00000000000000001')}, {'amount': None}],"
            " 'total': Decimal('3'), 'e': Decimal('1E+400')}\n",
        )
        self.assertEqual(self.result("0.1", ["decimal "]), "Decimal('0.1')\n")
        self.assertEqual(self.result('{"a/b": {"~": 1.5}}', ["decimal /a~1b/~0"]), "{'a/b': {'~': Decimal('1.5')}}\n")
        for text in ('"1,00"', '"NaN"', '"Infinity"', '"x"'):
            self.assertTrue(self.result(text, ["decimal "]).startswith("result None"), text)

    def test_bytes_go_and_come(self) -> None:
        _, peer = self.with_peer("tools.a.b(data=b'\\x00\\xff', more=bytearray(b'a'))")
        self.assertEqual(peer.calls[0][1], {"data": "AP8=", "more": "YQ=="})
        self.assertEqual(self.result('{"d": ["AP8="]}', ["bytes /d/*"]), "{'d': [b'\\x00\\xff']}\n")


class Parallel(ToolsTest):
    def test_threads_get_each_its_own_answer(self) -> None:
        source = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as pool:
    found = list(pool.map(lambda n: tools.a.b(n=n)["n"], range(16 * 20)))
print(found == list(range(16 * 20)))
"""
        self.assertEqual(self.printed(source, hold=16), "True\n")
        self.assertEqual(self.printed(source), "True\n")

    def test_gather_with_any_number_of_failures(self) -> None:
        def answer(_name: str, arguments: Any) -> tuple[int, bytes]:
            if arguments["n"] in arguments["bad"]:
                return 1, b'{"capability": "a.b", "code": "failed", "message": "x"}'
            return 0, str(arguments["n"]).encode()

        source = """
import asyncio
async def all_of(bad):
    return await asyncio.gather(*(tools.a.b.aio(n=n, bad=bad) for n in range(8)), return_exceptions=True)
for bad in ([], [3], [0, 7], list(range(8))):
    print([type(r).__name__ if isinstance(r, Exception) else r for r in asyncio.run(all_of(bad))])
async def first():
    try: await asyncio.gather(*(tools.a.b.aio(n=n, bad=[1, 2]) for n in range(8)))
    except ToolError as e: print(e.code)
asyncio.run(first())
"""
        e = "'ToolError'"
        self.assertEqual(
            self.printed(source, answer, hold=8),
            f"[0, 1, 2, 3, 4, 5, 6, 7]\n[0, 1, 2, {e}, 4, 5, 6, 7]\n[{e}, 1, 2, 3, 4, 5, 6, {e}]\n[{', '.join([e] * 8)}]\nfailed\n",
        )

    def test_asyncio_beside_threads(self) -> None:
        source = """
import asyncio, threading
found = []
def thread():
    for n in range(200): found.append(tools.a.b(n=n)["n"] == n)
async def main():
    threads = [threading.Thread(target=thread) for _ in range(3)]
    for t in threads: t.start()
    for n in range(200):
        a, b = await asyncio.gather(tools.a.b.aio(n=n), tools.a.b.aio(n=-n))
        found.append((a["n"], b["n"]) == (n, -n))
    await asyncio.to_thread(lambda: [t.join() for t in threads])
asyncio.run(main())
print(len(found), all(found))
"""
        self.assertEqual(self.printed(source), "800 True\n")

    def test_a_cancelled_task_leaves_the_others_alone(self) -> None:
        def answer(_name: str, arguments: Any) -> Optional[bytes]:
            return None if arguments["n"] == 0 else b"1"

        source = """
import asyncio
async def main():
    try: await asyncio.wait_for(tools.a.b.aio(n=0), 0.05)
    except asyncio.TimeoutError: print("late")
    print(await tools.a.b.aio(n=1))
asyncio.run(main()); print(tools.a.b(n=2))
"""
        self.assertEqual(self.printed(source, answer), "late\n1\n1\n")

    def test_a_signal_handler_that_raises_interrupts_a_wait_and_loses_nothing(self) -> None:
        def answer(_name: str, arguments: Any) -> Optional[bytes]:
            return None if arguments["n"] == -1 else str(arguments["n"]).encode()

        source = """
import signal, threading
class Late(Exception): pass
armed = False  # Late comes once a time, or it would come where it is not caught.
def late(*_):
    global armed
    if armed:
        armed = False
        raise Late
signal.signal(signal.SIGALRM, late)
others = []
def thread():
    for n in range(3000): others.append(tools.a.b(n=n) == n)
threads = [threading.Thread(target=thread) for _ in range(2)]
for t in threads: t.start()
times = 0
for n in range(300):
    try:
        armed = True
        # Again and again: Python itself looks for signals before it waits, and one may come between the two.
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + n % 7 * 0.0001, 0.02)
        tools.a.b(n=-1)
    except Late: times += 1
signal.setitimer(signal.ITIMER_REAL, 0)
for t in threads: t.join()
print(times, len(others), all(others), tools.a.b(n=5))
"""
        self.assertEqual(self.printed(source, answer), "300 6000 True 5\n")


class Hostile(ToolsTest):
    """An answer that breaks the protocol is our own fault, and still no hang."""

    def test_what_is_no_answer_ends_all_calls(self) -> None:
        for bad in (frame(99, b""), b"\xff" * 64, frame(_wire.REPLY, b"\1"), frame(_wire.START, b"")):
            with self.subTest(bad=bad):
                printed = self.run_ok(
                    "from casemate import tools, ToolError\n"
                    "for _ in range(2):\n    try: tools.a.b()\n    except ToolError as e: print(e.code)",
                    answer=lambda frames, bad=bad: bad if any(kind == _wire.CALL for kind, _ in frames) else b"",
                ).stdout
                self.assertEqual(printed, b"lost\nlost\n")

    def test_an_answer_that_nobody_waits_for_is_dropped(self) -> None:
        class Twice(Peer):
            def _call(self, number: int, name: str, text: bytes) -> None:
                self._held.append(reply(number + 7, 0, b"9", []) + reply(number, 0, b"1", []) + reply(number, 0, b"2", []))

        peer = Twice(echo)
        ended = self.run_ok("from casemate import tools\nprint(tools.a.b(), tools.a.b())", answer=peer)
        self.assertEqual(ended.stdout, b"1 1\n")


if __name__ == "__main__":
    unittest.main()
