# guest: signals its whole process group, the supervisor's if nobody made another
# source: kill(2), 0; setsid(2)
# attacks: the warden
# walls: NewSession, Landlock@6, SlotId, NestIds
# observer: warden_lost
# oracle: the engine has lost its warden in the middle of the run
# status: ok
# credit: sent
# note: a process group does not end at a pid namespace: kill(0) is sent to all of it.
import os
import signal
import time

from attack import tell

signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGTERM)
time.sleep(0.3)  # A run in a slot that is over at once needs its warden no more.
tell("signal", "sent")
