# guest: passes descriptors to the supervisor, which would hold them for it
# source: unix(7), SCM_RIGHTS: descriptors that nobody asked for
# attacks: the supervisor's table of open files; the end of the output
# walls: none
# observer: descriptors_passed
# oracle: the supervisor's descriptors, counted from outside; control: the channel took them
# status: ok
# credit: passed
import array
import os
import socket

from attack import hold, tell

wire = socket.socket(fileno=os.dup(3))
passed = 0
null = array.array("i", [1] * 200)
frame = (8).to_bytes(4, "little") + (17).to_bytes(4, "little")
try:
    for _ in range(5):
        wire.sendmsg([frame + bytes(8)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, null)])
        passed += 200
except OSError:
    pass
tell("passed", passed)
hold("passed")
