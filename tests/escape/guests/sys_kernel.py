# guest: asks for the parts of the kernel with the longest history
# source: CVE-2021-3490, CVE-2021-31440 (eBPF)
# attacks: the kernel
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: bpf: EPERM
# note: what needs a capability of the host is EPERM with every wall off too: the box's root is none.
from attack import table

table(
    [
        ("bpf", "EPERM", (99, None, 0)),
        ("perf_event_open", "EPERM", (None, 0, -1, -1, 0)),
        ("init_module", "EPERM", (None, 0, None)),
        ("finit_module", "EPERM", (-1, None, 0)),
        ("delete_module", "EPERM", (None, 0)),
        ("kexec_load", "EPERM", (0, 0, None, 0)),
        ("kexec_file_load", "EPERM", (-1, -1, 0, None, 0)),
        ("syslog", "EPERM", (99, None, 0)),
        ("lookup_dcookie", "EPERM", (0, None, 0)),
        ("uselib", "EPERM", (None,)),
        ("sysfs", "EPERM", (3, 0, 0)),
        ("_sysctl", "EPERM", (None,)),
        ("nfsservctl", "EPERM", (0, None, None)),
    ]
)
