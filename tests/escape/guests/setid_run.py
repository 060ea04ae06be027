# guest: runs a set-id program of the image
# source: CVE-2022-29162 and set-id programs in images
# attacks: the user id of the nest's root
# walls: MountFlags, NoNewPrivs, LeafUserNs
# also: Landlock, Seccomp
# observer: setid_ran
# oracle: a process of the box runs as the nest's root, read from outside
# status: ok
# credit: done
# note: without no_new_privs the kernel lets nobody but root install Landlock or a filter; a box has them
#   because it has no_new_privs.
import subprocess

from attack import tell

tell("set-id program", subprocess.run(["/decoy/setid", "0.3"]).returncode)
print("done")
