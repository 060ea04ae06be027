# guest: ignores every signal that can be ignored, in a process that holds its parent up
# source: bearcove/vixen PR #181
# attacks: the slot that it occupies
# walls: WallClock
# observer: long_run
# oracle: the run lasted longer than granted
# status: limit
# credit: "name": "wall"
# options: --wall 500ms
import ctypes
import signal

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
libc = ctypes.CDLL(None)
if libc.vfork() == 0:  # The parent does not run on while this process lives.
    libc.usleep(2500 * 1000)
    libc._exit(0)
