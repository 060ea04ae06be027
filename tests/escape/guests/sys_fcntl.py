# guest: asks for the operations of fcntl that act on others
# source: fcntl(2): leases and directory notification
# attacks: others' opens of a file that is shared
# walls: Seccomp
# observer: own_word
# oracle: its own word: operations that the kernel answered, and not the filter
# status: ok
# credit: SETLEASE: EINVAL
import os

from attack import call, tell

file = os.open("/vol/work/file", os.O_RDWR | os.O_CREAT)
os.close(file)
file = os.open("/vol/work/file", os.O_RDONLY)
folder = os.open("/vol/work", os.O_RDONLY)
ROWS = {"SETLEASE": (file, 1024, 0), "GETLEASE": (file, 1025, 0), "NOTIFY": (folder, 1026, 1), "SETSIG": (file, 10, 0)}
for name, arguments in ROWS.items():
    answer = call("fcntl", *arguments)[1]
    tell(name, answer + ("" if answer == "EINVAL" or name == "SETSIG" else " reached"))
