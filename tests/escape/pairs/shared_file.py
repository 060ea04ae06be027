# guest: reads POSIX shared memory, and what lies in /tmp, of a neighbouring slot
# source: shm_open(3): files of /dev/shm, here for all to read
# attacks: what a neighbour holds
# walls: none
# first: innocent
# observer: pair
# oracle: a secret comes out that the neighbour has in such a file
# status: ok
# credit: /dev/shm/pair: ENOENT
# note: each slot mounts a file system of its own there, which is how it is built and no switch of its own
import errno
import os

from attack import arg, hold, tell

PLACES = ("/dev/shm/pair", "/tmp/pair")
if arg("role") == "innocent":
    for path in PLACES:
        with open(path, "w") as file:
            file.write(arg("secret"))
        os.chmod(path, 0o644)
    hold("filled")
    for path in PLACES:
        os.unlink(path)
else:
    for path in PLACES:
        try:
            tell(path, open(path).read())
        except OSError as error:
            tell(path, errno.errorcode[error.errno or 0])
