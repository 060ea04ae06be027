# guest: moves pages of files that it can only read
# source: Dirty Pipe CVE-2022-0847, Copy Fail CVE-2026-31431, Dirty Frag CVE-2026-43284
# attacks: the page cache of the image
# walls: Seccomp
# observer: own_word
# oracle: its own word: calls that the kernel answered, and not the filter
# status: ok
# credit: splice: ENOSYS
import ctypes
import os

from attack import table

reader, writer = os.pipe()
other_reader, other_writer = os.pipe()
image = os.open("/usr/bin/python3", os.O_RDONLY)
copy = os.open("/vol/work/copy", os.O_RDWR | os.O_CREAT)
word = ctypes.create_string_buffer(8)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(word), 8)
table(
    [
        ("splice", "ENOSYS", (image, None, writer, None, 16, 0)),
        ("tee", "ENOSYS", (reader, other_writer, 16, 2)),
        ("vmsplice", "ENOSYS", (writer, vector, 1, 0)),
        ("sendfile", "ENOSYS", (copy, image, None, 16)),
        ("copy_file_range", "ENOSYS", (image, None, copy, None, 16, 0)),
    ]
)
