# guest: reads a file of the host by its path
# source: runc CVE-2024-21626 and its kin
# attacks: the host's files
# walls: PivotRoot
# observer: secret_in_output
# oracle: a secret that only the host's file has comes out with the output
# status: ok
# credit: ENOENT
from attack import attempt

for root in ("", "/run", "/..", "/proc/1/root", "/proc/self/root/..", "/vol/../.."):
    attempt(root + "/decoy/secret", lambda: print(open(root + "/decoy/secret").read()))
