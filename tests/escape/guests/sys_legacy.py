# guest: asks for what is left of older processors
# source: CVE-2014-9090 and the other LDT faults
# attacks: the kernel's rarely used x86 code; ports
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: modify_ldt: ENOSYS
from attack import table

table(
    [
        ("modify_ldt", "ENOSYS", (0, None, 0)),
        ("iopl", "ENOSYS", (99,)),
        ("ioperm", "ENOSYS", (0x80, 0xFFFFFFFF, 1)),
        ("set_thread_area", "ENOSYS", (None,)),
        ("arch_prctl", "ENOSYS", (0x1011, 0)),
        ("arch_prctl", "ENOSYS", (0x4001, 0)),
        ("remap_file_pages", "ENOSYS", (0, 0, 0, 0, 0)),
    ]
)
