# guest: watches who opens the host's /dev/null
# source: inotify(7) on a device that a container shares with its host
# attacks: knowledge of what neighbours and the host do
# walls: OwnDevices
# observer: null_opens_known
# oracle: it tells in which of sixteen turns a neighbour opened it
# unprivileged: only root can make devices; the box of an ordinary user has the host's, bound
# status: ok
# credit: turns: 0000000000000000
# note: only root can give a box devices of its own; an ordinary user's boxes have the host's, read-only.
import ctypes
import os

from attack import hold, tell

libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watch, b"/dev/null", 0x20)
libc.inotify_add_watch(watch, b"/proc/self/fd/0", 0x20)
turns = ""
for turn in range(16):
    hold("turn%d" % turn)
    try:
        os.read(watch, 65536)
        turns += "1"
    except BlockingIOError:
        turns += "0"
tell("turns", turns)
