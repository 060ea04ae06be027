# guest: makes an io_uring, through which it would do I/O out of the filter's sight
# source: CVE-2021-41073, CVE-2022-29582, CVE-2023-2598, CVE-2024-0582
# attacks: the kernel's io_uring; the filter
# walls: Seccomp
# observer: ring_made
# oracle: a descriptor of the guest's, read from outside, is a ring
# status: ok
# credit: io_uring_setup: ENOSYS
import ctypes

from attack import call, hold, table, tell

parameters = ctypes.create_string_buffer(120)
tell("io_uring_setup", call("io_uring_setup", 4, parameters)[1])
table(
    [
        ("io_uring_enter", "ENOSYS", (-1, 0, 0, 0, None, 0)),
        ("io_uring_register", "ENOSYS", (-1, 0, None, 0)),
        ("io_setup", "ENOSYS", (1, None)),
        ("io_submit", "ENOSYS", (0, 1, None)),
        ("io_destroy", "ENOSYS", (1,)),
        ("io_getevents", "ENOSYS", (1, 0, 1, None, None)),
        ("io_cancel", "ENOSYS", (1, None, None)),
    ]
)
hold("ring")
