# guest: hides memory in Unix sockets and pipes
# source: unix(7) and pipe(7): what lies in buffers
# attacks: the host's memory
# walls: MemoryLimit
# observer: buffers_filled
# oracle: the guest outlives the filling of buffers with more than was granted
# status: limit
# credit: "name": "memory"
# options: --memory 48MiB
import fcntl
import os
import socket

from attack import hold, tell

kept = []
total = 0
block = bytes(1 << 20)
for _ in range(60):
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    ours.setblocking(False)
    kept += [ours, theirs]
    reader, writer = os.pipe2(os.O_NONBLOCK)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
    try:
        total += os.write(writer, block)
        while total < 100 << 20:
            total += ours.send(block[:65536])
    except BlockingIOError:
        pass
hold("full")
tell("held", total)
