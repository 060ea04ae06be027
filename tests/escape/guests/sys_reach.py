# guest: asks for every call that reaches into other processes
# source: CVE-2019-13272 (ptrace); moby's default seccomp profile
# attacks: siblings
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: kcmp: EPERM
from attack import table

table(
    [
        ("ptrace", "EPERM", (0, 0, 0, 0)),
        ("process_vm_readv", "ENOSYS", (-1, None, 0, None, 0, 0)),
        ("process_vm_writev", "EPERM", (-1, None, 0, None, 0, 0)),
        ("process_madvise", "EPERM", (-1, None, 0, 0, 0)),
        ("process_mrelease", "ENOSYS", (-1, 0)),
        ("pidfd_getfd", "EPERM", (-1, 0, 0)),
        ("kcmp", "EPERM", (0, 0, 0, 0, 0)),
        ("migrate_pages", "EPERM", (0, 0, None, None)),
        ("move_pages", "EPERM", (0, 0, None, None, None, 0)),
    ]
)
