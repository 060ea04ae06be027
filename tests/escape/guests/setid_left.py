# guest: leaves a set-id file behind, by every call that can make one
# source: set-id files in directories that the host sees, the oldest way out of a chroot
# attacks: whoever later executes the file outside
# walls: Seccomp
# observer: setid_in_layer
# oracle: a file of the layer has a set-id bit, read from outside
# status: ok
# credit: chmod: EPERM
import os

from attack import attempt, call, hold, tell

os.umask(0)
CREATE = os.O_CREAT | os.O_WRONLY
AT_FDCWD = -100
how = b"".join(value.to_bytes(8, "little") for value in (CREATE, 0o4755, 0))
for name in ("chmod", "fchmod", "fchmodat", "fchmodat2"):
    open(name, "w").close()
tell("chmod", call("chmod", b"chmod", 0o4755)[1])
tell("fchmod", call("fchmod", os.open("fchmod", os.O_RDONLY), 0o4755)[1])
tell("fchmodat", call("fchmodat", AT_FDCWD, b"fchmodat", 0o2755)[1])
tell("fchmodat2", call("fchmodat2", AT_FDCWD, b"fchmodat2", 0o6755, 0)[1])
tell("open", call("open", b"open", CREATE, 0o4755)[1])
tell("openat", call("openat", AT_FDCWD, b"openat", CREATE, 0o4755)[1])
tell("openat tmpfile", call("openat", AT_FDCWD, b".", os.O_TMPFILE | os.O_RDWR, 0o4755)[1])
tell("openat2", call("openat2", AT_FDCWD, b"openat2", how, len(how))[1])
tell("creat", call("creat", b"creat", 0o4755)[1])
tell("mknod", call("mknod", b"mknod", 0o104755, 0)[1])
tell("mknodat", call("mknodat", AT_FDCWD, b"mknodat", 0o104755, 0)[1])
attempt("mkdir", lambda: os.mkdir("mkdir", 0o2755))
hold("left")
