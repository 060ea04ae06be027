# guest: installs a filter that asks the guest
# source: seccomp_unotify(2)
# attacks: answers for system calls of its children
# walls: Seccomp
# observer: listener_made
# oracle: a descriptor of the guest's, read from outside, is a listener
# status: ok
# credit: seccomp: EPERM
import ctypes
import struct

from attack import call, hold, tell

code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
tell("seccomp", call("seccomp", 1, 8, program)[1])
hold("listens")
