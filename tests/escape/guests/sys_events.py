# guest: measures with performance events
# source: CVE-2013-2094
# attacks: the kernel's perf; side channels
# walls: Seccomp
# observer: events_opened
# oracle: a descriptor of the guest's, read from outside, is a performance event
# status: ok
# credit: perf_event_open: EPERM
# needs: perf_events
import ctypes
import struct

from attack import call, hold, tell

# A software clock of its own process, kernel excluded: what needs no privilege.
attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 128, 0) + bytes(24) + struct.pack("Q", 0x61), 128)
tell("perf_event_open", call("perf_event_open", attributes, 0, -1, -1, 0)[1])
hold("events")
