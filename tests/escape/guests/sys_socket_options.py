# guest: asks for socket options that put other code under a socket
# source: CVE-2023-0461 (TCP_ULP), Dirty Frag and Fragnesia (CVE-2026-43284, CVE-2026-46300: ESP in UDP, frags)
# attacks: the kernel's protocols; pages of files that it can only read
# walls: Seccomp
# observer: own_word
# oracle: its own word: options that the kernel answered, and not the filter
# status: ok
# credit: TCP_ULP: ENOPROTOOPT
import errno
import socket

from attack import tell

STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
ROWS = {
    "SO_ATTACH_FILTER": (STREAM, 1, 26), "SO_ATTACH_BPF": (STREAM, 1, 50), "SO_ATTACH_REUSEPORT_CBPF": (STREAM, 1, 51),
    "SO_ATTACH_REUSEPORT_EBPF": (STREAM, 1, 52), "SO_ZEROCOPY": (STREAM, 1, 60), "TCP_ULP": (STREAM, 6, 31),
    "UDP_ENCAP": (DATAGRAM, 17, 100),
}  # fmt: skip
for name, (kind, level, option) in ROWS.items():
    value: int | bytes = b"tls\0" if name == "TCP_ULP" else 2 if name == "UDP_ENCAP" else 1
    try:
        socket.socket(socket.AF_INET, kind).setsockopt(level, option, value)
        answer = "ok"
    except OSError as error:
        answer = errno.errorcode[error.errno or 0]
    tell(name, answer + ("" if answer == "ENOPROTOOPT" else " reached"))
