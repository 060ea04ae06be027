# guest: asks for what belongs to the host: clock, swap, quotas, names, all disks
# source: moby's default seccomp profile
# attacks: the host; neighbours that wait for a sync
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: sync: EPERM
# note: what needs a capability of the host is EPERM with every wall off too: the box's root is none.
from attack import table

table(
    [
        ("acct", "EPERM", (None,)),
        ("swapon", "EPERM", (None, 0)),
        ("swapoff", "EPERM", (None,)),
        ("reboot", "EPERM", (0, 0, 0, None)),
        ("quotactl", "EPERM", (0x80000000, None, 0, None)),
        ("quotactl_fd", "EPERM", (-1, 0, 0, None)),
        ("settimeofday", "EPERM", (None, None)),
        ("clock_settime", "EPERM", (-1, None)),
        ("clock_adjtime", "EPERM", (0, None)),
        ("adjtimex", "EPERM", (None,)),
        ("sethostname", "EPERM", (None, 0)),
        ("setdomainname", "EPERM", (None, 0)),
        ("vhangup", "EPERM", ()),
        ("ustat", "EPERM", (0, None)),
        ("sync", "EPERM", ()),
        ("syncfs", "EPERM", (-1,)),
        ("ioprio_set", "EPERM", (9, 0, 0)),
        ("fanotify_init", "EPERM", (0xFFFFFFFF, 0)),
        ("fanotify_mark", "EPERM", (-1, 0, 0, 0, None)),
    ]
)
