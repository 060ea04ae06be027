# guest: kills a process of the host's root
# source: containers that map root to root
# attacks: any service of the host
# walls: PidNs, Landlock@6, SlotId, NestIds
# observer: root_killed
# oracle: the process has ended
# status: ok
# credit: ESRCH
import os
import signal

from attack import arg, attempt

attempt("kill", lambda: os.kill(int(arg("pid")), signal.SIGKILL))
