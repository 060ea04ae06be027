# guest: writes to a pipe of the host's /dev
# source: runc CVE-2025-52565 (/dev/console); initctl and its like
# attacks: a program of the host that reads there
# walls: MinimalDev, Landlock
# observer: console_written
# oracle: the host's end of the pipe gets the word
# status: ok
# credit: ENOENT
import os

from attack import arg, attempt

attempt("write", lambda: os.write(os.open("/dev/decoy-console", os.O_WRONLY | os.O_NONBLOCK), arg("word").encode()))
