# guest: switches its loopback off
# source: netdevice(7)
# attacks: interfaces
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: loopback_down
# oracle: lo in the guest's network namespace, asked from outside, is down
# status: ok
# credit: flags: ENOTTY
import fcntl
import socket
import struct

from attack import attempt, hold

control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("flags", lambda: fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 0)))
hold("down")
