# guest: mounts a file system
# source: runc CVE-2019-16884 and -19921 (guest-controlled mounts)
# attacks: what the box sees; labels and masks that a mount covers
# walls: Seccomp, Capabilities, LeafUserNs, SlotId, Landlock
# observer: mount_made
# oracle: the mount is in the guest's mount table, read from outside
# status: ok
# credit: mount: EPERM
import os

from attack import call, hold, tell

os.mkdir("/vol/work/mnt")
tell("mount", call("mount", b"x", b"/vol/work/mnt", b"tmpfs", 0, None)[1])
hold("mounted")
