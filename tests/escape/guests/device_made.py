# guest: makes a device node
# source: mknod(2); whiteouts need no capability since Linux 5.8
# attacks: devices of the host
# walls: Seccomp, Landlock@device
# observer: device_in_layer
# oracle: a character device lies in the layer, read from outside
# status: ok
# credit: null: EPERM
# note: the whiteout, 0:0, is the one node that the kernel lets anybody make.
from attack import call, hold, tell

for name, device in (("null", 0x103), ("memory", 0x101), ("whiteout", 0)):
    tell(name, call("mknod", name.encode(), 0o020666, device)[1])
    tell(name, call("mknodat", -100, name.encode() + b"at", 0o020666, device)[1])
    tell(name, call("mknodat", -100, name.encode() + b"block", 0o060666, device)[1])
hold("made")
