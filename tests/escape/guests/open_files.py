# guest: opens files without end
# source: getrlimit(2), RLIMIT_NOFILE
# attacks: the host's table of open files
# walls: OpenFilesLimit
# observer: files_opened
# oracle: its descriptors, counted from outside, are more than granted
# status: ok
# credit: EMFILE
# options: --open-files 64
import errno
import os

from attack import hold, tell

try:
    for _ in range(300):
        os.dup(1)
except OSError as error:
    tell("dup", errno.errorcode[error.errno or 0])
    os.close(63)
hold("open")
