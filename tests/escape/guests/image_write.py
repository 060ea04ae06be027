# guest: writes a file of the image that every box shares
# source: runc CVE-2019-5736
# attacks: the programs of other boxes, and of the host that executes them
# walls: ImageReadOnly, ImageOverlay, Landlock
# observer: image_changed
# oracle: the image's file, as the host and other boxes see it, has another content
# status: ok
# credit: EACCES|EROFS
# note: the file has mode 0666, as a hostile image may have it; ids do not protect it.
from attack import attempt

attempt("write", lambda: open("/decoy/writable", "w").write("owned"))
