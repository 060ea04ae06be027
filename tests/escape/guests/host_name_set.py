# guest: changes the host name
# source: uts_namespaces(7); sethostname(2)
# attacks: the name that others rely on
# walls: Seccomp, Capabilities, LeafUserNs, SlotId
# observer: host_name_changed
# oracle: the name in the guest's namespace, read from outside, is another
# status: ok
# credit: sethostname: EPERM
from attack import call, hold, tell

tell("sethostname", call("sethostname", b"owned", 5)[1])
hold("named")
