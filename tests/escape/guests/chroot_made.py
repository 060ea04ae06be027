# guest: changes its root, the first half of the oldest escape
# source: the classic chroot escape
# attacks: what set-id programs find; with an open directory, the way out
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: root_moved
# oracle: the guest's root directory, read from outside, is another
# status: ok
# credit: chroot: EPERM
import os

from attack import call, hold, tell

os.mkdir("/vol/work/jail")
tell("chroot", call("chroot", b"/vol/work/jail")[1])
hold("moved")
