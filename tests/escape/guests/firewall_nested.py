# guest: opens the packet filter's control in namespaces of its own
# source: CVE-2021-22555, CVE-2022-1015, CVE-2022-34918, CVE-2023-32233, CVE-2024-1086 (nf_tables)
# attacks: the kernel's nf_tables
# walls: Seccomp, UserNsLimit
# observer: netfilter_socket
# oracle: a netfilter socket in a network namespace that the box was not given, read from outside
# status: ok
# credit: unshare: EPERM
import socket

from attack import attempt, call, hold, tell

hold("first")
tell("unshare", call("unshare", 0x50000000)[1])
control = attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))
if control:
    control.bind((0, 0))
hold("open")
