# guest: hides memory in locks on its own files
# source: Linux 5.15 charged locks to control groups and took that back
# attacks: the host's memory
# walls: none
# open: the kernel charges locks to nobody, and they cannot be refused: databases need them. Processor time,
#   processes and open files bound how many a box can have.
# observer: locks_taken
# oracle: the kernel's memory in locks, read from outside, grew by more than was granted
# status: ok
# credit: locked
# options: --memory 16MiB --open-files 400 --wall 100s --cpu-time 100s
import fcntl
import os

from attack import hold, tell

for number in range(380):
    file = os.open("/vol/work/lock%d" % number, os.O_RDWR | os.O_CREAT)
    for at in range(0, 520, 2):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
hold("full")
tell("files", "locked")
