# guest: sends urgent bytes over a Unix socket
# source: CVE-2025-38236 (use after free in AF_UNIX's MSG_OOB)
# attacks: the kernel
# walls: Seccomp
# observer: own_word
# oracle: its own word: the kernel took the urgent byte
# status: ok
# credit: sendto: EINVAL
import socket

from attack import attempt, tell

OOB = socket.MSG_OOB
ours, theirs = socket.socketpair()
if attempt("sendto", lambda: ours.send(b"x", OOB)) is not None:
    tell("sendto", "ok reached")
if attempt("sendmsg", lambda: ours.sendmsg([b"x"], (), OOB)) is not None:
    tell("sendmsg", "ok reached")
attempt("recvfrom", lambda: theirs.recv(1, OOB | socket.MSG_DONTWAIT))
attempt("recvmsg", lambda: theirs.recvmsg(1, 0, OOB | socket.MSG_DONTWAIT))
