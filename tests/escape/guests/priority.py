# guest: puts itself before everybody else
# source: setpriority(2), sched_setscheduler(2), RLIMIT_NICE
# attacks: neighbours' processor time
# walls: PriorityLimit
# observer: priority_raised
# oracle: its priority, read from outside, is above the ordinary
# status: ok
# credit: nice: (EACCES|EPERM)
# needs: CAP_SYS_RESOURCE
# note: a program can raise its priority only up to a limit that somebody gave it; giving one needs this
#   capability, without which there is nothing that the box's limit could take away.
import os

from attack import attempt, hold

attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
hold("raised")
