# guest: traces, reads and writes other processes
# source: CVE-2019-13272 (ptrace)
# attacks: processes of the same id
# walls: Seccomp
# observer: traced
# oracle: a process of the box has a tracer, read from outside
# status: ok
# credit: ptrace: EPERM
import ctypes
import os
import signal

from attack import call, hold, tell

pid = os.fork()
if pid == 0:
    signal.pause()
tell("ptrace", call("ptrace", 0x4206, pid, 0, 0)[1])
word = ctypes.create_string_buffer(8)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(word), 8)
tell("process_vm_readv", call("process_vm_readv", pid, vector, 1, vector, 1, 0)[1])
tell("process_vm_writev", call("process_vm_writev", pid, vector, 1, vector, 1, 0)[1])
tell("kcmp", call("kcmp", os.getpid(), pid, 0, 0, 0)[1])
tell("pidfd_getfd", call("pidfd_getfd", os.pidfd_open(pid), 0, 0)[1])
hold("traced")
os.kill(pid, signal.SIGKILL)
