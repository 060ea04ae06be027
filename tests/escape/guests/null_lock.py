# guest: locks the host's /dev/null, which every box has
# source: flock(2) on a device that a container shares with its host
# attacks: neighbours and programs of the host that lock it
# walls: OwnDevices
# observer: null_locked
# oracle: a neighbour outside asks for the same lock and does not get it
# unprivileged: only root can make devices; the box of an ordinary user has the host's, bound
# status: ok
# credit: lock: ok
# note: only root can give a box devices of its own; an ordinary user's boxes have the host's, read-only.
import fcntl
import os

from attack import attempt, hold

for place in (os.open("/dev/null", os.O_RDONLY), 0):
    attempt("lock", lambda: fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB))
hold("locked")
