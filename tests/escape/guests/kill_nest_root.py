# guest: kills a process outside that has the nest's root's outside id
# source: containers that share one range of ids (podman and Docker without --userns=auto)
# attacks: other boxes' inits
# walls: PidNs, Landlock@6, SlotId
# observer: nest_root_killed
# oracle: the neighbour has ended
# status: ok
# credit: ESRCH
import os
import signal

from attack import arg, attempt

attempt("kill", lambda: os.kill(int(arg("pid")), signal.SIGKILL))
