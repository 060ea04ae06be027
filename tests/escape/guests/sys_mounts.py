# guest: asks for every call that changes mounts
# source: CVE-2022-0185; moby's default seccomp profile
# attacks: what the box sees; CVE-2021-4154, CVE-2022-0185
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: fspick: EPERM
from attack import table

table(
    [
        ("mount", "EPERM", (None, None, None, 0, None)),
        ("umount2", "EPERM", (None, 0)),
        ("pivot_root", "EPERM", (None, None)),
        ("chroot", "EPERM", (None,)),
        ("open_tree", "EPERM", (-100, b"/", 0)),
        ("move_mount", "EPERM", (-1, b"", -1, b"", 0xFF00)),
        ("fsopen", "EPERM", (None, 0)),
        ("fsconfig", "EPERM", (-1, 0, None, None, 0)),
        ("fsmount", "EPERM", (-1, 0, 0)),
        ("fspick", "EPERM", (-1, None, 0)),
        ("mount_setattr", "EPERM", (-1, None, 0, None, 0)),
        ("statmount", "ENOSYS", (None, None, 0, 0)),
        ("listmount", "ENOSYS", (None, None, 0, 0)),
        ("open_tree_attr", "ENOSYS", (-100, b"/", 0, None, 0)),
    ]
)
