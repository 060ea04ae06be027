# guest: looks for the processes of a neighbouring slot
# source: proc(5): names of processes can be read by all who see their /proc
# attacks: what a neighbour does
# walls: PidNs
# first: innocent
# observer: pair
# oracle: a secret comes out that the neighbour's process has for its name
# status: ok
# credit: names
import os

from attack import arg, hold, tell

if arg("role") == "innocent":
    hold(arg("secret"))
    raise SystemExit
names = []
for entry in os.listdir("/proc"):
    try:
        names.append(open(f"/proc/{entry}/comm").read().strip() if entry.isdigit() else "")
    except OSError:
        pass
tell("names", " ".join(filter(None, names)))
