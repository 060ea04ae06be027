# guest: watches which files of the image others open
# source: inotify(7) on files that containers of one image share
# attacks: knowledge of neighbours
# walls: ImageOverlay
# observer: opens_known
# oracle: it names eight files that a neighbour outside opened in a random order
# status: ok
# credit: watched
import ctypes
import os
import struct

from attack import hold, tell

libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watch, b"/decoy", 0x20)  # IN_OPEN
hold("watching")
names = []
try:
    data = os.read(watch, 65536)
except BlockingIOError:
    data = b""
while data:
    size = struct.unpack_from("12xI", data)[0]
    names.append(data[16 : 16 + size].rstrip(b"\0").decode())
    data = data[16 + size :]
tell("watched", " ".join(names))
