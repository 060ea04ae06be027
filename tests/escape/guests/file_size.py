# guest: makes a file that looks larger than any disk
# source: lseek(2): sparse files; ioi/isolate's quota
# attacks: whoever copies the file
# walls: FileSizeLimit
# observer: file_size_above
# oracle: the file's size, asked from outside, is above the grant
# status: ok
# credit: EFBIG
# options: --file-size 1MiB
import os
import signal

from attack import attempt, hold

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = os.open("/vol/work/big", os.O_CREAT | os.O_RDWR)
attempt("ftruncate", lambda: os.ftruncate(file, 1 << 40))
attempt("pwrite", lambda: os.pwrite(file, b"x", 1 << 30))
hold("big")
