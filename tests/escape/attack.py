"""What hostile guests share: raw system calls, and a way to stand still while they are looked at.

Copied into each guest's box as /work/attack.py. Standard library only; nothing here is trusted by the
harness, which looks from outside (observers).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_PR_SET_NAME = 15

# x86-64 system calls by name, as far as guests use them.
NUMBERS: dict[str, int] = {
    "read": 0, "write": 1, "open": 2, "close": 3, "mmap": 9, "mprotect": 10, "ioctl": 16, "mincore": 27,
    "shmget": 29, "shmat": 30, "sendfile": 40, "socket": 41, "connect": 42, "sendto": 44, "recvfrom": 45,
    "sendmsg": 46, "recvmsg": 47, "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "kill": 62,
    "fcntl": 72, "flock": 73, "creat": 85, "chmod": 90, "fchmod": 91, "ptrace": 101, "syslog": 103,
    "personality": 135, "ustat": 136, "sysfs": 139, "setpriority": 141, "vhangup": 153, "modify_ldt": 154,
    "pivot_root": 155, "_sysctl": 156, "prctl": 157, "arch_prctl": 158, "adjtimex": 159, "chroot": 161,
    "sync": 162, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
    "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "nfsservctl": 180, "setxattr": 188,
    "set_thread_area": 205, "io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_submit": 209,
    "io_cancel": 210, "lookup_dcookie": 212, "remap_file_pages": 216, "clock_settime": 227, "uselib": 134,
    "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "mq_open": 240, "mq_unlink": 241,
    "mq_timedsend": 242, "mq_timedreceive": 243, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "ioprio_set": 251, "migrate_pages": 256, "openat": 257, "mknodat": 259, "mknod": 133,
    "fchmodat": 268, "unshare": 272, "splice": 275, "tee": 276, "vmsplice": 278, "move_pages": 279,
    "perf_event_open": 298, "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "syncfs": 306, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "seccomp": 317, "memfd_create": 319,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "copy_file_range": 326, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435, "openat2": 437,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "process_mrelease": 448, "set_mempolicy_home_node": 450, "cachestat": 451,
    "fchmodat2": 452, "map_shadow_stack": 453, "statmount": 457, "listmount": 458,
    "lsm_get_self_attr": 459, "lsm_list_modules": 461, "mseal": 462, "setxattrat": 463,
    "open_tree_attr": 467, "file_getattr": 468,
}  # fmt: skip


# Before a guest starts threads, one of which would take the signal from who waits for it in hold().
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


def call(name: str | int, *arguments: Any) -> tuple[int, str]:
    """A raw system call: its result, and "ok" or the name of the errno.

    Integers are passed as they are, None as 0, bytes and ctypes objects as pointers.
    """
    number = NUMBERS[name] if isinstance(name, str) else name
    passed = [
        ctypes.c_ulong(0 if argument is None else argument & 0xFFFFFFFFFFFFFFFF)
        if argument is None or isinstance(argument, int)
        else argument
        if isinstance(argument, bytes)
        else ctypes.byref(argument)
        for argument in arguments
    ]
    ctypes.set_errno(0)
    result = _LIBC.syscall(ctypes.c_long(number), *passed)
    if result != -1:
        return result, "ok"
    return -1, errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))


def arg(name: str) -> str:
    """What the harness passed as NAME=VALUE."""
    for entry in sys.argv[1:]:
        key, _, value = entry.partition("=")
        if key == name:
            return value
    raise SystemExit("no argument " + name)


def tell(what: str, answer: object) -> None:
    """One line of what was tried and what came back."""
    print("%s: %s" % (what, answer), flush=True)


def attempt(what: str, act: Any) -> Any:
    """Calls `act` and tells how it ended: its value, or the errno's name."""
    try:
        value = act()
    except OSError as error:
        value = None
        tell(what, errno.errorcode.get(error.errno or 0, str(error.errno)))
    else:
        tell(what, "ok" if value is None or isinstance(value, (int, bytes)) else value)
    return value


def hold(label: str) -> None:
    """Stands still, named esc:LABEL, until the outside has looked and says go on: for as long as it said."""
    name_process("esc:" + label)
    signal.sigtimedwait({signal.SIGUSR1}, float(arg("patience")))
    name_process("guest")


def name_process(name: str) -> None:
    """Sets the name that others see in /proc/PID/comm: at most 15 bytes."""
    _LIBC.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def table(rows: list[tuple[str, str, tuple[Any, ...]]]) -> None:
    """Tries rows of (call, promised errno, arguments), each in a process of its own.

    A row that answers otherwise is told as `reached`: the kernel, and not the filter, spoke.
    """
    for name, promised, arguments in rows:
        answer = in_child(name, arguments)
        tell(name, "%s%s" % (answer, "" if answer == promised else " reached, promised " + promised))


def in_child(name: str | int, arguments: tuple[Any, ...]) -> str:
    """The answer of one call made by a child: ok, an errno's name, or the signal that ended it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.write(writer, call(name, *arguments)[1].encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 64).decode()
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else answer


# Where no observer can see a guest's processes it says at least that it was there.
if "begun=said" in sys.argv:
    os.write(2, b"guest has begun\n")
