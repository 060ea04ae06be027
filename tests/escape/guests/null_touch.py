# guest: changes the times of the host's /dev/null, a board that all boxes can read
# source: utimensat(2) on a device that a container shares with its host
# attacks: a channel to other boxes
# walls: OwnDevices
# observer: null_touched
# oracle: the file outside has other times
# status: ok
# credit: path: EROFS
# note: only root can give a box devices of its own; an ordinary user's boxes have the host's, read-only.
import os

from attack import attempt

attempt("path", lambda: os.utime("/dev/null"))
attempt("stdin", lambda: os.utime(0))
attempt("stdin's link", lambda: os.utime("/proc/self/fd/0"))
