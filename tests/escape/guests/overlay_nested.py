# guest: mounts an overlay in a user namespace of its own
# source: CVE-2023-0386, CVE-2023-2640, CVE-2023-32629 (copy-up in a user namespace)
# attacks: the kernel's overlayfs, set-id files
# walls: Seccomp, UserNsLimit, Landlock
# observer: mount_made
# oracle: the mount is in the guest's mount table, read from outside
# status: ok
# credit: unshare: EPERM
import os

from attack import attempt, call, hold, tell

for name in ("mnt", "lower", "upper", "work"):
    os.mkdir("/vol/work/" + name)
tell("unshare", call("unshare", 0x10020000)[1])
for name, text in (("setgroups", "deny"), ("uid_map", "0 1000 1"), ("gid_map", "0 1000 1")):
    attempt(name, lambda: open("/proc/self/" + name, "w").write(text))
options = b"lowerdir=/vol/work/lower,upperdir=/vol/work/upper,workdir=/vol/work/work,userxattr"
tell("overlay", call("mount", b"x", b"/vol/work/mnt", b"overlay", 0, options)[1])
hold("mounted")
