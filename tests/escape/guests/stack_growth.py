# guest: lets its stack grow without end
# source: CVE-2017-1000364 (stack clash)
# attacks: what lies below the stack
# walls: StackLimit
# observer: stack_grown
# oracle: the stack of a process of the box, read from outside, is above the grant
# status: ok
# credit: SIGSEGV
import ctypes
import os
import signal

from attack import hold, tell

pid = os.fork()
if pid == 0:
    line = next(line for line in open("/proc/self/maps") if "[stack]" in line)
    top = int(line.split()[0].split("-")[1], 16)
    for depth in range(1, 33):
        ctypes.memset(top - (depth << 20), 1, 1)
    hold("grown")
    os._exit(0)
_, status = os.waitpid(pid, 0)
tell("stack", signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "grown")
