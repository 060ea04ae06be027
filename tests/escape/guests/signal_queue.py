# guest: queues signals without end
# source: sigqueue(3), RLIMIT_SIGPENDING
# attacks: the kernel's memory
# walls: SignalQueueLimit
# observer: signals_queued
# oracle: its queued signals, read from outside, are more than granted
# status: ok
# credit: EAGAIN
import ctypes
import os
import signal

from attack import hold, tell

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
libc = ctypes.CDLL(None)
count = 0
while count < 600 and libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), None) == 0:
    count += 1
tell("sigqueue", "EAGAIN after %d" % count if count < 600 else count)
hold("queued")
