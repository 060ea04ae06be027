# guest: reads a file that only root may read
# source: docker without user namespaces
# attacks: the host's secrets
# walls: PivotRoot, NestIds, SlotId
# observer: root_secret_in_output
# oracle: the content of a root-owned file of mode 0600 comes out
# status: ok
# credit: ENOENT
from attack import attempt

for root in ("", "/run", "/proc/1/root"):
    attempt(root + "/decoy/shadow", lambda: print(open(root + "/decoy/shadow").read()))
