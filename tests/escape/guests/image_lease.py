# guest: takes a lease on a file of the image, so that others' opens wait
# source: fcntl(2), F_SETLEASE
# attacks: neighbours on the same image
# walls: Seccomp, ImageOverlay
# observer: lease_held
# oracle: a neighbour outside that opens the file would have to wait
# status: ok
# credit: lease: EINVAL
import fcntl
import os

from attack import attempt, hold

file = os.open("/decoy/lease", os.O_RDONLY)
attempt("lease", lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK))
hold("leased")
