# guest: hides memory in System V message queues
# source: msgsnd(2); the kernel charges messages since Linux 5.15
# attacks: the host's memory
# walls: MemoryLimit
# observer: buffers_filled
# oracle: the guest outlives the filling of buffers with more than was granted
# status: limit
# credit: "name": "memory"
# options: --memory 48MiB
import ctypes

from attack import hold, tell

libc = ctypes.CDLL(None, use_errno=True)
message = ctypes.create_string_buffer(8192 + 8)
message[0] = 1
total = 0
while total < 100 << 20:
    queue = libc.msgget(0, 0o1600)
    if queue < 0:
        break
    while libc.msgsnd(queue, message, 8192, 0o4000) == 0:
        total += 8192
hold("full")
tell("held", total)
