# guest: leaves dead children lying, each with a place in the process table
# source: fork(2) without wait(2); pids.max of cgroups(7)
# attacks: the host's process table
# walls: PidsLimit
# observer: zombies_made
# oracle: dead children, counted from outside, are more than granted
# status: ok
# credit: EAGAIN
# options: --pids 16
import os

from attack import hold, tell

try:
    for _ in range(40):
        if os.fork() == 0:
            os._exit(0)
except BlockingIOError:
    tell("fork", "EAGAIN")
hold("dead")
