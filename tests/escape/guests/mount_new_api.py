# guest: mounts a file system by the new system calls
# source: CVE-2021-4154, CVE-2022-0185 (fsconfig)
# attacks: the kernel's parser of mount options; what the box sees
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: mount_descriptor
# oracle: a descriptor of the guest's, read from outside, is a mount
# status: ok
# credit: fsopen: EPERM
# note: Landlock stops the last step, move_mount, alone.
import os

from attack import call, hold, tell

os.mkdir("/vol/work/mnt")
context, answer = call("fsopen", b"tmpfs", 0)
tell("fsopen", answer)
tell("fsconfig", call("fsconfig", context, 6, None, None, 0)[1])
made, answer = call("fsmount", context, 0, 0)
tell("fsmount", answer)
tell("move_mount", call("move_mount", made, b"", -100, b"/vol/work/mnt", 4)[1])
hold("mounted")
