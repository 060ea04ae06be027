# guest: mounts the control group file system
# source: CVE-2022-0492 (release_agent)
# attacks: the limits, and release_agent
# walls: Seccomp, Capabilities, LeafUserNs, SlotId, Landlock
# observer: mount_made
# oracle: the mount is in the guest's mount table, read from outside
# status: ok
# credit: cgroup: EPERM
import os

from attack import call, hold, tell

os.mkdir("/vol/work/mnt")
tell("cgroup", call("mount", b"x", b"/vol/work/mnt", b"cgroup", 0, b"memory")[1])
tell("cgroup2", call("mount", b"x", b"/vol/work/mnt", b"cgroup2", 0, None)[1])
hold("mounted")
