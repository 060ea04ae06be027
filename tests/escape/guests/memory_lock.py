# guest: locks memory
# source: mlock(2), RLIMIT_MEMLOCK
# attacks: memory that cannot be reclaimed
# walls: LockedMemoryLimit
# observer: memory_locked
# oracle: its locked memory, read from outside, is above the grant
# status: ok
# credit: mlock: (ENOMEM|EPERM|EAGAIN)
import ctypes
import mmap

from attack import hold, tell

block = mmap.mmap(-1, 1 << 20)
libc = ctypes.CDLL(None, use_errno=True)
place = ctypes.addressof(ctypes.c_char.from_buffer(block))
answer = libc.mlock(ctypes.c_void_p(place), 1 << 20)
tell("mlock", "ok" if answer == 0 else {12: "ENOMEM", 1: "EPERM", 11: "EAGAIN"}[ctypes.get_errno()])
hold("locked")
