# guest: asks for the operations of prctl that undo protections
# source: prctl(2), the operations that sandboxes allow one by one (Chromium, minijail)
# attacks: its own no_new_privs, bounds, dumpability and capabilities
# walls: Seccomp
# observer: own_word
# oracle: its own word: operations that the kernel answered, and not the filter
# status: ok
# credit: SET_DUMPABLE: EPERM
from attack import in_child, tell

ROWS = {
    "SET_DUMPABLE": (4, 1), "SET_MM": (35, 99), "SET_PTRACER": (0x59616D61, 1), "SET_SECUREBITS": (28, 0),
    "CAP_AMBIENT": (47, 99), "CAPBSET_DROP": (24, 99), "SET_KEEPCAPS": (8, 1), "SCHED_CORE": (62, 99),
    "SET_TSC": (26, 99), "SET_SPECULATION_CTRL": (53, 99, 99), "SET_IO_FLUSHER": (57, 99),
    "SET_SYSCALL_USER_DISPATCH": (59, 99), "SET_VMA": (0x53564D41, 99), "MCE_KILL": (33, 99), "SET_FP_MODE": (45, 99),
    "SET_MDWE": (65, 99), "SET_TIMING": (14, 99), "SET_ENDIAN": (20, 99), "TASK_PERF_EVENTS_DISABLE": (31, 0),
}  # fmt: skip
for name, arguments in ROWS.items():
    answer = in_child("prctl", (*arguments, *(0,) * (5 - len(arguments))))
    tell(name, answer + ("" if answer == "EPERM" else " reached"))
