# guest: reads System V shared memory of a neighbouring slot
# source: shmget(2): a key is all that it takes, if its owner lets others
# attacks: what a neighbour holds
# walls: IpcNs
# first: innocent
# observer: pair
# oracle: a secret comes out that the neighbour has in its segment
# status: ok
# credit: segment: ENOENT
import ctypes

from attack import arg, call, hold, tell

libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
innocent = arg("role") == "innocent"
segment, answer = call("shmget", 0x0DEC1, 4096, 0o1666 if innocent else 0)
tell("segment", answer)
if segment >= 0:
    place = libc.shmat(segment, None, 0 if innocent else 0o10000)
    if innocent:
        ctypes.memmove(place, arg("secret").encode(), len(arg("secret")))
        hold("filled")
    else:
        tell("holds", ctypes.string_at(place).decode())
