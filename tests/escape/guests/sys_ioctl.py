# guest: asks for device controls beyond a terminal's
# source: flatpak CVE-2017-5226
# attacks: terminals, interfaces, file systems
# walls: Seccomp
# observer: own_word
# oracle: its own word: controls that the kernel answered, and not the filter
# status: ok
# credit: FS_IOC_SETFLAGS: ENOTTY
# note: a control that no driver knows is ENOTTY with every wall off too.
import ctypes
import os
import socket

from attack import call, tell

file = os.open("/vol/work/file", os.O_RDWR | os.O_CREAT)
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()
data = ctypes.create_string_buffer(b"lo", 256)
ROWS = {
    "TIOCSTI": (0, 0x5412), "TIOCSTI with a high bit": (0, 0x100005412), "TIOCLINUX": (0, 0x541C),
    "TIOCSETD": (0, 0x5423), "FIGETBSZ": (file, 2), "FS_IOC_GETFLAGS": (file, 0x80086601),
    "FS_IOC_SETFLAGS": (file, 0x40086602), "FS_IOC_FSGETXATTR": (file, 0x801C581F), "FIFREEZE": (file, 0xC0045877),
    "FIQSIZE": (file, 0x5460), "SIOCGIFINDEX": (wire, 0x8933), "SIOCGIFFLAGS": (wire, 0x8913),
    "SIOCSIFFLAGS": (wire, 0x8914), "SIOCGIFCONF": (wire, 0x8912), "SIOCETHTOOL": (wire, 0x8946),
    "SIOCGIFFLAGS with a high bit": (wire, 0x100008913),
}  # fmt: skip
for name, (descriptor, command) in ROWS.items():
    answer = call("ioctl", descriptor, command, data)[1]
    tell(name, answer + ("" if answer == "ENOTTY" else " reached"))
