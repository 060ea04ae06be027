# guest: makes every process of its user id nice
# source: setpriority(2), PRIO_USER
# attacks: neighbours' processor time
# walls: PidNs
# observer: neighbour_slowed
# oracle: a neighbour of the same outside id has another priority
# status: ok
# credit: user
import os

from attack import attempt

attempt("user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
