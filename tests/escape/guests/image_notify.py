# guest: asks for a signal whenever others read a directory of the image
# source: fcntl(2), F_NOTIFY
# attacks: knowledge of neighbours
# walls: Seccomp, ImageOverlay
# observer: reads_counted
# oracle: it counts how often a neighbour outside read there, a random number
# status: ok
# credit: notify: EINVAL
import fcntl
import os
import signal

from attack import attempt, hold, tell

count = 0


def note(_number: int, _frame: object) -> None:
    global count
    count += 1


signal.signal(signal.SIGIO, note)
directory = os.open("/decoy", os.O_RDONLY)
attempt("notify", lambda: fcntl.fcntl(directory, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT))
turns = 0
for turn in range(12):
    before = count
    hold("turn%d" % turn)
    turns += count > before  # One reading is a signal or two.
tell("counted", turns)
