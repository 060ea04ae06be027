# guest: opens a netlink socket
# source: Dirty Frag and Fragnesia (CVE-2026-43284, CVE-2026-46300: XFRM)
# attacks: the kernel's netlink families
# walls: Seccomp
# observer: netlink_socket
# oracle: the guest's network namespace, read from outside, has a netlink socket of a program
# status: ok
# credit: netlink: EAFNOSUPPORT
import socket

from attack import attempt, hold

kept = attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
if kept:
    kept.bind((0, 0))
hold("open")
