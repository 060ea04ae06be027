# guest: asks for every socket family, type and protocol
# source: CVE-2025-21756 (vsock), CVE-2026-31431 (AF_ALG), moby's filter of socket families
# attacks: the kernel's protocols; the virtual machine's host through vsock, which knows no namespaces
# walls: Seccomp
# observer: own_word
# oracle: its own word: sockets that the kernel made or refused, and not the filter
# status: ok
# credit: family 40 type 1: EAFNOSUPPORT
# note: a family that is not in this kernel (ALG, RXRPC, TIPC, SMC here) is EAFNOSUPPORT with the wall off too.
#   No vsock packet is sent: what is behind it is not a decoy.
import socket

from attack import call, tell

OWN = {(family, kind, protocol) for family in (2, 10) for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17))}
OWN |= {(1, 1, 0), (1, 2, 0), (1, 5, 0)}
rows = [(family, kind, 0) for family in range(0, 47) for kind in (1, 2, 3, 4, 5, 10)]
rows += [(family, kind, number) for family in (2, 10) for kind in (1, 2, 3) for number in (1, 58, 132, 136, 255, 262)]
for family, kind, protocol in rows:
    if (family, kind, protocol) in OWN:
        continue
    made, answer = call("socket", family, kind | socket.SOCK_CLOEXEC, protocol)
    if answer == "ok":
        call("close", made)
    if answer != "EAFNOSUPPORT" or (family, kind) == (40, 1):
        what = "family %d type %d%s" % (family, kind, " protocol %d" % protocol if protocol else "")
        tell(what, answer + ("" if answer == "EAFNOSUPPORT" else " reached"))
for family in (2, 10, 16, 38, 40):
    answer = call("socketpair", family, 1, 0, None)[1]
    tell("socketpair %d" % family, answer + ("" if answer == "EAFNOSUPPORT" else " reached"))
