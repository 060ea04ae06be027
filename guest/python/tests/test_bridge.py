"""casemate._bridge, interrupted at every point at which CPython runs a signal's handler."""

from __future__ import annotations

import dis
import functools
import socket
import sys
import threading
import time
import unittest
from types import CodeType, FrameType
from typing import Any, Callable, Optional

from test_tools import reply

from casemate import _bridge, _wire
from casemate._bridge import Bridge, Pending

# After these CPython 3.11 looks whether a signal is to be handled; after the last when it jumped.
_POINTS = ("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD")


class Late(Exception):
    """What the handler raises."""


@functools.cache
def _names_of(code: CodeType) -> dict[int, str]:
    return {one.offset: one.opname for one in dis.get_instructions(code)}


class Interrupt:
    """Raises Late in this thread, in the bridge's code, at the n-th point at which a handler may run."""

    def __init__(self, at: int) -> None:
        self._left = at
        self._before: dict[int, int] = {}  # frame: where in its code it was

    @property
    def done(self) -> bool:
        return self._left < 0

    def __call__(self, frame: FrameType, event: str, _: object) -> Optional[Callable[..., Any]]:
        if frame.f_code.co_filename != _bridge.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            self._before.pop(id(frame), None)
        if event != "opcode":
            return self
        names = _names_of(frame.f_code)
        before, now = self._before.get(id(frame), -1), frame.f_lasti
        self._before[id(frame)] = now
        name = names.get(before, "")
        if name.startswith(_POINTS) and not (name.startswith("POP_JUMP") and now > before) and not self.done:
            self._left -= 1
            if self.done:
                raise Late
        return self

    def run(self, what: Callable[[], object]) -> None:
        sys.settrace(self)
        try:
            what()
        finally:
            sys.settrace(None)


@unittest.skipUnless(sys.version_info[:2] == (3, 11), "needs CPython 3.11: the points of other versions differ")
class Interrupted(unittest.TestCase):
    def setUp(self) -> None:
        ours, self.peer = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(self.peer.close)
        self.ours = ours
        self.bridge = Bridge(_wire.Channel(ours.fileno()), ours.fileno())

    def answer(self, number: int) -> None:
        self.peer.sendall(reply(number, _wire.REPLY_VALUE, b"%d" % number, []))

    def called(self, pending: Pending) -> bytes:
        self.bridge.call("a.b", b"{}", pending)
        return b"".join(pending.pieces.values())

    def in_a_thread(self, what: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=what, daemon=True)
        thread.start()
        return thread

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.0001)

    def every_point(self, one: Callable[[Interrupt], None]) -> int:
        """Calls one() for each; returns how many there were."""
        for at in range(10000):
            interrupt = Interrupt(at)
            with self.subTest(point=at):
                one(interrupt)
                self.assertEqual(self.bridge._lost, "")
                self.assertFalse(self.bridge._reader.locked())
                self.assertFalse(self.bridge._sending)
            if not interrupt.done:
                return at
        self.fail("it has no end")

    def test_a_call_alone(self) -> None:
        def one(interrupt: Interrupt) -> None:
            # Two answers at once, the first of a call that nobody made.
            self.answer(1 << 40)
            self.answer(self.bridge._next)
            try:
                interrupt.run(lambda: self.called(Pending()))
            except Late:
                pass
            number = self.bridge._next
            self.answer(number)
            self.assertEqual(self.called(Pending()), b"%d" % number)
            self.assertEqual(self.bridge._under_way, {})

        self.assertGreater(self.every_point(one), 40)

    def test_one_that_reads_for_another(self) -> None:
        def one(interrupt: Interrupt) -> None:
            # Whoever is asked to read for all is interrupted: the others' answers come all the same.
            first, second, third = Pending(), Pending(), Pending()
            late = []

            def interrupted() -> None:
                try:
                    interrupt.run(lambda: self.called(second))
                except Late:
                    late.append(True)

            threads = [self.in_a_thread(lambda: self.called(first))]
            self.until(lambda: self.bridge._reader.locked())
            threads += [self.in_a_thread(interrupted), self.in_a_thread(lambda: self.called(third))]
            self.until(lambda: third.number in self.bridge._under_way)
            self.until(lambda: bool(late) or second.number in self.bridge._under_way)
            last = threads.pop()
            self.answer(first.number)
            self.answer(second.number)
            for thread in threads:
                thread.join(10)
            self.answer(third.number)
            last.join(10)
            self.assertTrue(first.whole and third.whole and (second.whole or late))

        self.assertGreater(self.every_point(one), 20)

    def test_the_end_of_the_run_is_told_to_all(self) -> None:
        def one(interrupt: Interrupt) -> None:
            bridge = self.bridge
            waiting = [Pending() for _ in range(3)]
            for pending in waiting:
                bridge.begin("a.b", b"{}", pending)
            try:
                interrupt.run(lambda: bridge._lose("it is over"))
            except Late:
                pass
            bridge._lose("it is over")
            self.assertEqual([pending.lost for pending in waiting], ["it is over"] * 3)
            self.assertEqual(bridge._under_way, {})
            bridge._lost = ""

        self.assertGreater(self.every_point(one), 3)

    def test_a_handler_that_calls_while_its_thread_waits_is_told(self) -> None:
        from casemate import ToolError

        with self.assertRaisesRegex(ToolError, "handler"):
            self.bridge._reading_thread = threading.get_ident()
            self.called(Pending())


if __name__ == "__main__":
    unittest.main()
