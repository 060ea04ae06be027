# guest: makes a user namespace, the door to nftables, overlay and fsconfig
# source: CVE-2022-0185, CVE-2022-34918, CVE-2023-32233, CVE-2024-1086
# attacks: the kernel's surface behind capabilities
# walls: Seccomp, UserNsLimit
# observer: new_user_namespace
# oracle: a process of the box is in a user namespace that the box was not given
# status: ok
# credit: unshare: EPERM
# note: the limit leaves room for the leaf alone; without the leaf it would leave one to the guest.
import os
import signal

from attack import call, hold, tell

NEWUSER = 0x10000000
hold("first")
for way in ("unshare", "clone"):
    pid = os.fork()
    if pid == 0:
        if way == "unshare":
            made, answer = call("unshare", NEWUSER)
        else:
            made, answer = call("clone", NEWUSER | signal.SIGCHLD, None, None, None, None)
        if made == 0:
            hold("second")
        else:
            tell(way, answer)
        os._exit(0)
    os.waitpid(pid, 0)
tell("clone3", call("clone3", None, 0)[1])
