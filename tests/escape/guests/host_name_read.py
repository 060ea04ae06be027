# guest: reads the host's name
# source: uts_namespaces(7)
# attacks: knowledge of the host
# walls: UtsNs
# observer: host_name_in_output
# oracle: the host's name comes out
# status: ok
# credit: name: box
import os

from attack import tell

tell("name", os.uname().nodename)
