# guest: locks a file of the image, so that other boxes wait for it
# source: flock(2): any open descriptor will do, a read-only one too
# attacks: neighbours on the same image
# walls: ImageOverlay
# observer: image_locked
# oracle: a neighbour outside asks for the same lock and does not get it
# status: ok
# credit: locked: ok
import fcntl

from attack import attempt, hold

file = open("/decoy/lock")
attempt("locked", lambda: fcntl.flock(file, fcntl.LOCK_EX))
hold("locked")
