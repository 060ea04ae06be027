# guest: asks for calls that are newer than the table, and for numbers that nobody has
# source: x32 as in CVE-2014-0038
# attacks: the kernel's newest code
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: mseal: ENOSYS
# options: --wall 100s --cpu-time 100s
# note: 335 and 336 (uretprobe, uprobe) are left out: the kernel itself lets them past every filter, and
#   answers SIGILL and ENXIO to a program that it did not probe (kernel/seccomp.c, Linux 6.13).
from attack import NUMBERS, in_child, table, tell

table(
    [
        ("process_mrelease", "ENOSYS", (-1, 0)),
        ("cachestat", "ENOSYS", (-1, None, None, 0)),
        ("map_shadow_stack", "ENOSYS", (0, 0, 0)),
        ("statmount", "ENOSYS", (None, None, 0, 0)),
        ("listmount", "ENOSYS", (None, None, 0, 0)),
        ("lsm_get_self_attr", "ENOSYS", (0, None, None, 0)),
        ("lsm_list_modules", "ENOSYS", (None, None, 0)),
        ("mseal", "ENOSYS", (1, 0, 1)),
        ("setxattrat", "ENOSYS", (-1, None, 0, None, None, 0)),
        ("file_getattr", "ENOSYS", (-1, None, None, 0, 0)),
    ]
)
for number in (*range(337, 424), *range(469, 560), 1000, 0x7FFFFFFF):
    answer = in_child(number, (-1, -1, -1))
    if answer != "ENOSYS":
        tell("call %d" % number, answer + " reached")
for name in ("read", "ptrace", "mount", "socket"):
    answer = in_child(NUMBERS[name] | 0x40000000, (-1, None, 0))
    tell("x32 " + name, answer + ("" if answer == "ENOSYS" else " reached"))
