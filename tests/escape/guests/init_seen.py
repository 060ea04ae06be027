# guest: looks at the init of its nest
# source: proc(5), hidepid; runc CVE-2019-5736 began with /proc/PID/exe
# attacks: paths and command line of the warden
# walls: ProcSubset
# observer: warden_path_in_output
# oracle: the path of a program that runs outside comes out
# status: ok
# credit: cmdline: ENOENT
from attack import attempt, tell

for name in ("cmdline", "environ", "maps", "status", "exe", "cwd", "root"):
    text = attempt(name, lambda: open("/proc/1/" + name).read(2000))
    if text:
        tell(name, text)
