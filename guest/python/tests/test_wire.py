"""The numbers and the form of the protocol."""

from __future__ import annotations

import os
import pathlib
import re
import socket
import unittest

import engine
from casemate import _wire

HEADER = pathlib.Path(__file__).resolve().parents[3] / "src/frame/guest.h"
LIMITS = pathlib.Path(__file__).resolve().parents[3] / "src/base/limits.h"


def enum_of(text: str, name: str) -> dict[str, int]:
    body = re.search(r"enum class %s : std::uint16_t \{(.*?)\n\};" % name, text, re.S)
    assert body is not None, name
    pairs = re.findall(r"^\s*k(\w+) = (\d+),", body.group(1), re.M)
    return {
        re.sub(r"(?<!^)([A-Z])", r"_\1", key).upper(): int(value)
        for key, value in pairs
    }


class Numbers(unittest.TestCase):
    def test_every_type_is_that_of_guest_h(self) -> None:
        theirs = enum_of(HEADER.read_text(), "GuestType")
        self.assertGreaterEqual(len(theirs), 8)
        self.assertEqual({name: getattr(_wire, name, None) for name in theirs}, theirs)

    def test_every_tag_is_that_of_guest_h(self) -> None:
        theirs = enum_of(HEADER.read_text(), "Tag")
        ours = {
            name[4:]: value
            for name, value in vars(_wire).items()
            if name.startswith("TAG_")
        }
        self.assertGreaterEqual(len(theirs), 24)
        self.assertEqual(ours, theirs)

    def test_the_bounds_are_those_of_limits_h(self) -> None:
        text = LIMITS.read_text()

        def bound(name: str) -> int:
            found = re.search(r"\b%s = (.*?);" % name, text)
            assert found is not None, name
            value = re.sub(r"std::size_t\{(\d+)\}", r"\1", found.group(1))
            return int(eval(value, {"mib": lambda n: n << 20}))

        from casemate import _request

        self.assertEqual(_wire.FRAME_PAYLOAD_MAX, bound("kFramePayloadMax"))
        self.assertEqual(_wire.FIELDS_MAX, bound("kFieldsMax"))
        self.assertEqual(_wire.ARTIFACTS_MAX, bound("kArtifactsMax"))
        self.assertEqual(_wire.SUMMARY_MAX, bound("kSummaryMax"))
        self.assertEqual(_wire.REPORT_FRAMES_MAX, bound("kReportFramesMax"))
        self.assertEqual(_wire.REPORT_HINTS_MAX, bound("kReportHintsMax"))
        self.assertEqual(_wire.REPORT_TEXT_MAX, bound("kReportTextMax"))
        self.assertEqual(_request._PROGRAM_MAX, bound("kProgramMax"))
        self.assertEqual(_request._FILES_MAX, bound("kInputFilesMax"))
        self.assertEqual(_request._ARGUMENTS_MAX, bound("kArgumentsMax"))
        self.assertEqual(_request._ENVIRONMENT_MAX, bound("kEnvironmentMax"))
        self.assertEqual(_request._PATH_MAX, bound("kPathMax"))


class Form(unittest.TestCase):
    def test_fields_round_trip(self) -> None:
        payload = (
            _wire.field(1, b"")
            + _wire.text_field(9, "\u00e9\ud83d")
            + _wire.number_field(7, 2**64 - 1)
        )
        self.assertEqual(
            list(_wire.fields(payload)),
            [(1, b""), (9, b"\xc3\xa9\\ud83d"), (7, b"\xff" * 8)],
        )

    def test_malformed_fields_are_refused(self) -> None:
        good = _wire.field(1, b"abc")
        for bad in (
            good[:-1],
            good[:7],
            good + b"\0",
            b"\1\0\1\0" + good[4:],
            _wire.field(1, b"") * 4097,
        ):
            with self.subTest(bad[:20]), self.assertRaises(_wire.ProtocolError):
                list(_wire.fields(bad))
        self.assertEqual(len(list(_wire.fields(_wire.field(1, b"") * 4096))), 4096)

    def frames_of(self, data: bytes) -> list[tuple[int, bytes]]:
        reading, writing = os.pipe()
        try:
            os.write(writing, data)
            os.close(writing)
            return list(_wire.frames(reading))
        finally:
            os.close(reading)

    def test_frames_arrive_whole_whatever_the_reads(self) -> None:
        self.assertEqual(
            self.frames_of(engine.frame(4) + engine.frame(1, b"xyz")),
            [(4, b""), (1, b"xyz")],
        )

    def test_malformed_frames_are_refused(self) -> None:
        good = engine.frame(1, b"xyz")
        for bad in (
            good[:-1],
            good[:5],
            (1 << 20 | 1).to_bytes(4, "little") + good[4:],
            good[:6] + b"\1\0xyz",
        ):
            with self.subTest(bad), self.assertRaises(_wire.ProtocolError):
                self.frames_of(bad)


class ChannelSends(unittest.TestCase):
    def setUp(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.channel = _wire.Channel(self.theirs.fileno())

    def tearDown(self) -> None:
        self.ours.close()
        self.theirs.close()

    def test_it_is_closed_on_exec(self) -> None:
        self.assertFalse(os.get_inheritable(self.theirs.fileno()))

    def test_a_frame_too_large_is_refused_and_the_channel_lives(self) -> None:
        self.assertFalse(self.channel.send(17, b"x" * (_wire.FRAME_PAYLOAD_MAX + 1)))
        self.assertTrue(self.channel.send(17, b"x"))

    def test_orders_end_at_their_bound(self) -> None:
        self.ours.setblocking(False)
        received = 0
        for number in range(_wire.ORDERS_MAX + 10):
            self.channel.order(1, number)
            if number % 100 == 0 or number > _wire.ORDERS_MAX:
                try:
                    received += len(self.ours.recv(1 << 20))
                except BlockingIOError:
                    pass
        self.assertEqual(
            received,
            _wire.ORDERS_MAX
            * len(engine.frame(16, _wire.field(6, b"1"), _wire.number_field(7, 0))),
        )

    def test_a_descriptor_that_became_something_else_is_not_written_to(self) -> None:
        reading, writing = os.pipe()
        os.dup2(writing, self.theirs.fileno())
        self.assertFalse(self.channel.send(17, b"x"))
        os.set_blocking(reading, False)
        with self.assertRaises(BlockingIOError):
            os.read(reading, 1)
        os.close(reading)
        os.close(writing)


if __name__ == "__main__":
    unittest.main()
