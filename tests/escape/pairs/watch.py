# guest: watches which files of the image a neighbouring slot opens
# source: inotify(7) on files that slots of one nest share
# attacks: what a neighbour does
# walls: ImageOverlay
# first: hostile
# observer: pair
# oracle: a secret comes out that the neighbour spells by the files which it opens
# status: ok
# credit: watched
import ctypes
import os
import struct

from attack import arg, hold, tell

if arg("role") == "innocent":
    for bit in format(int(arg("secret"), 16), "040b"):
        open(f"/decoy/door{bit}").close()
        open("/decoy/door2").close()  # The kernel merges equal events.
    raise SystemExit

libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watch, b"/decoy", 0x20)  # IN_OPEN
hold("watching")
bits = ""
try:
    data = os.read(watch, 65536)
except BlockingIOError:
    data = b""
while data:
    size = struct.unpack_from("12xI", data)[0]
    name = data[16 : 16 + size].rstrip(b"\0").decode()
    bits += name[-1] if name in ("door0", "door1") else ""
    data = data[16 + size :]
tell("watched", format(int(bits or "0", 2), "010x"))
