# guest: changes its own root file system
# source: runc CVE-2019-5736's kind (a root that can be written)
# attacks: what later code of the same box finds under /usr
# walls: ImageReadOnly, Landlock
# observer: root_changed
# oracle: the file below the box's root, read from outside, has another content
# status: ok
# credit: EACCES|EROFS
# note: the directory belongs to the slot's own id, as a hostile image may have it.
from attack import attempt, hold

attempt("write", lambda: open("/decoy/owned", "w").write("owned"))
hold("written")
