# guest: locks /dev/null, so that a neighbouring slot waits for it
# source: flock(2) on a device node that slots of one nest share
# attacks: what a neighbour can do
# walls: OwnDevices
# first: hostile
# observer: pair
# oracle: the neighbour asks for the same lock and does not get it
# status: ok
# credit: locked: ok
import fcntl

from attack import arg, attempt, hold, tell

file = open("/dev/null")
if arg("role") == "innocent":
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        tell("harmed", "it cannot have its lock")
else:
    attempt("locked", lambda: fcntl.flock(file, fcntl.LOCK_EX))
    hold("locked")
