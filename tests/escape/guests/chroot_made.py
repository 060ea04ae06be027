# guest: changes its root, the first half of the oldest escape
# source: the classic chroot escape
# attacks: what set-id programs find; with an open directory, the way out
# walls: Seccomp, Capabilities, LeafUserNs@cold, SlotId
# also: LeafUserNs@hot
# observer: root_moved
# oracle: the guest's root directory, read from outside, is another
# status: ok
# credit: chroot: EPERM
# note: in a slot nothing is executed once the leaf is entered, and only an execve takes the full set that comes with a
#   new user namespace from who is not its root; in the leaf that set is worth nothing but a chroot
import os

from attack import call, hold, tell

os.mkdir("/vol/work/jail")
tell("chroot", call("chroot", b"/vol/work/jail")[1])
hold("moved")
