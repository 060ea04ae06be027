# guest: leaves its memory as a core file, or has a handler of the host read it
# source: CVE-2022-0824's kind (handlers that run as root)
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
