# guest: forks without end
# source: the fork bomb; pids.max of cgroups(7)
# attacks: the host's process table
# walls: PidsLimit
# observer: processes_made
# oracle: more processes of the box, counted from outside, than granted
# status: ok
# credit: EAGAIN
# options: --pids 16
import os
import signal
import time

from attack import tell

children = []
try:
    while len(children) < 40:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except BlockingIOError:
    tell("fork", "EAGAIN")
time.sleep(0.1)
for pid in children:
    os.kill(pid, signal.SIGKILL)
