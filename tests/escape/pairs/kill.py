# guest: kills the program of a neighbouring slot
# source: kill(2): the same user id is enough; Landlock's scope of signals, Linux 6.12
# attacks: a neighbour's run
# walls: PidNs, SlotId, Landlock@6
# also: UserNsLimit
# first: innocent
# observer: pair
# oracle: the neighbour ends before its program does
# note: UserNsLimit lets two slots of one user id not have a leaf namespace each, so that without SlotId there is no pair
# status: ok
# credit: kills
import os
import signal

from attack import arg, attempt, hold, tell

if arg("role") == "innocent":
    hold("waiting")
    raise SystemExit
found = 0
for entry in os.listdir("/proc"):
    try:
        if entry.isdigit() and open(f"/proc/{entry}/comm").read() == "esc:waiting\n":
            found = int(entry)
    except OSError:
        pass
# Where none is seen, a guess: those that a nest's processes have.
attempt(
    "kills",
    lambda: [os.kill(pid, signal.SIGKILL) for pid in ([found] if found else range(3, 64)) if pid != os.getpid()],
)
tell("found", bool(found))
