# guest: opens a raw socket
# source: raw(7)
# attacks: forged packets
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: raw_socket
# oracle: the guest's network namespace, read from outside, has a raw socket
# status: ok
# credit: raw: EAFNOSUPPORT
import socket

from attack import attempt, hold

kept = attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6))
hold("open")
