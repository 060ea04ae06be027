# guest: asks for new namespaces and for those of others
# source: moby's gating of CLONE_NEW*
# attacks: the kernel's surface behind capabilities
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: setns: EPERM
import signal

from attack import in_child, table, tell

rows = [("unshare", "EPERM", (0,)), ("setns", "EPERM", (-1, 0)), ("clone3", "ENOSYS", (None, 0))]
FLAGS = {
    "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000,
    "NEWUSER": 0x10000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000,
}  # fmt: skip
table(rows)
for name, flag in FLAGS.items():
    # With CLONE_FS a user namespace is refused for its arguments, so that the kernel shows itself.
    answer = in_child("clone", (flag | 0x200 | signal.SIGCHLD, None, None, None, None))
    tell("clone " + name, answer + ("" if answer == "EPERM" else " reached"))
