# guest: moves itself out of its control groups
# source: runc's cgroup mounts that were writable; CVE-2022-0492's kind
# attacks: the limits
# walls: PivotRoot, Landlock, SlotId, NestIds
# also: CgroupNs
# observer: group_left
# oracle: the guest's memory group, read from outside, is not the box's
# status: ok
# credit: ENOENT
# note: CgroupNs is a wall of its own against it on v2 alone, where nsdelegate is on (cgroups(7)). Only a group
#   without children that have limits takes a process there: `outer` is one of the outer box's.
import os

from attack import attempt, hold

for root in ("/sys/fs/cgroup", "/run/sys/fs/cgroup"):
    for name in ("memory", "pids", "cpu", "unified", ".", "outer"):
        path = os.path.join(root, name, "cgroup.procs")
        attempt(path, lambda: os.write(os.open(path, os.O_WRONLY), b"0"))
hold("left")
