# guest: opens a packet socket
# source: CVE-2020-14386, CVE-2017-7308 (AF_PACKET)
# attacks: the kernel's packet sockets; others' traffic
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: packet_socket
# oracle: the guest's network namespace, read from outside, has a packet socket
# status: ok
# credit: packet: EAFNOSUPPORT
import socket

from attack import attempt, hold

kept = attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300))
hold("open")
