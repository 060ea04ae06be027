# guest: writes a file of the host that anybody may write
# source: CVE-2026-25725 (a writable place of the host's)
# attacks: the host's files
# walls: PivotRoot, Landlock
# observer: host_file_changed
# oracle: the host's file has another content
# status: ok
# credit: ENOENT
from attack import attempt

for root in ("", "/run", "/proc/1/root"):
    attempt(root + "/decoy/writable", lambda: open(root + "/decoy/writable", "w").write("owned"))
