# guest: makes empty files without end
# source: CVE-2021-33909's deep paths
# attacks: the host's inodes
# walls: InodeLimit
# observer: inodes_taken
# oracle: the layer's files, counted from outside, are more than granted
# status: ok
# credit: ENOSPC
# options: --memory 192MiB
import errno
import os

from attack import hold, tell

try:
    for number in range(17000):
        os.close(os.open("/vol/work/%d" % number, os.O_CREAT | os.O_WRONLY))
except OSError as error:
    tell("file", errno.errorcode[error.errno or 0])
hold("full")
