# guest: opens files by handle
# source: the shocker exploit of 2014
# attacks: any file of a file system, by a guessed number
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: open_by_handle_at: EPERM
import ctypes
import struct

from attack import table

handle = ctypes.create_string_buffer(struct.pack("II", 128, 0), 136)
mount = ctypes.c_int()
table(
    [
        ("name_to_handle_at", "EPERM", (-100, b"/vol/work", handle, mount, 0)),
        ("open_by_handle_at", "EPERM", (-1, None, 0)),
    ]
)
