# guest: signals everybody that it can
# source: kill(2), -1; multikernel/sandlock #252
# attacks: neighbours
# walls: PidNs, Landlock@6
# observer: neighbour_killed
# oracle: a process of the same outside id has ended
# status: ok
# credit: sent
import os
import signal

from attack import arg, tell

arg("pid")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    os.kill(-1, signal.SIGTERM)
except OSError:
    pass
tell("signals", "sent")
