# guest: opens a device node that a hostile image holds
# source: containerd CVE-2022-23648's kind, images as data
# attacks: devices of the host
# walls: ImageOverlay, MountFlags
# observer: own_word
# oracle: its own word: the device answers with its bytes
# status: ok
# credit: device: EACCES
# note: an overlay that is mounted in a user namespace has no devices, flag or not.
from attack import attempt, tell

data = attempt("device", lambda: open("/decoy/device", "rb").read(16))
if data == bytes(16):
    tell("device", "zeros reached")
