# guest: leaves its memory as a core file, or has a handler of the host read it
# source: core(5): a handler that is a pipe ignores a limit of 0 and is not run for 1
# attacks: the disk; the host's core handler
# walls: CoreLimit
# observer: core_in_layer
# oracle: a core file lies in the layer, read from outside
# status: ok
# credit: SIGSEGV
import ctypes
import os
import signal

from attack import hold, tell

pid = os.fork()
if pid == 0:
    ctypes.string_at(8)
_, status = os.waitpid(pid, 0)
tell("child", signal.Signals(os.WTERMSIG(status)).name)
hold("dumped")
