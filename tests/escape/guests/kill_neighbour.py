# guest: kills a process outside that has the same outside user id
# source: pid_namespaces(7); Landlock's scope of signals, Linux 6.12
# attacks: neighbours
# walls: PidNs, Landlock@6
# observer: neighbour_killed
# oracle: the neighbour has ended
# status: ok
# credit: ESRCH
import os
import signal

from attack import arg, attempt

attempt("kill", lambda: os.kill(int(arg("pid")), signal.SIGKILL))
