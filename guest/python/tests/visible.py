"""A program that prints what it can see of its interpreter, for test_visible."""

import builtins, gc, json, os, signal, sys, threading, warnings  # noqa: E401

names = dict(globals())
umask = os.umask(0)
os.umask(umask)
seen = {
    "main": {name: type(value).__name__ for name, value in names.items()},
    "main module is first": sys.modules["__main__"].__dict__ is globals(),
    "main place": list(sys.modules).index("__main__"),
    "argv": sys.argv,
    "path": sys.path,
    "meta_path": [getattr(entry, "__name__", type(entry).__name__) for entry in sys.meta_path],
    "path_hooks": len(sys.path_hooks),
    "flags": repr(sys.flags),
    "xoptions": sys._xoptions,
    "warnoptions": sys.warnoptions,
    "executable": sys.executable,
    "sys": sorted(sys.__dict__),
    "builtins": sorted(builtins.__dict__),
    "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__,
              sys.unraisablehook is sys.__unraisablehook__, sys.gettrace(), sys.getprofile()],
    "streams": [(s.name, s.mode, s.encoding, s.errors, s.line_buffering, type(s.buffer).__name__, s.fileno())
                for s in (sys.stdin, sys.stdout, sys.stderr)],
    "same streams": [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__, sys.stdin is sys.__stdin__],
    "cwd": os.getcwd(),
    "umask": umask,
    "environment": dict(os.environ),
    "signals": {int(n): str(signal.getsignal(n)) for n in signal.valid_signals()},
    "mask": [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    "threads": [t.name for t in threading.enumerate()],
    "tasks": len(os.listdir("/proc/self/task")),
    "descriptors": [n for n in range(64) if os.path.exists(f"/proc/self/fd/{n}")],
    "inheritable": [n for n in range(3) if os.get_inheritable(n)],
    "gc": [gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks), len(gc.garbage)],
    "recursion limit": sys.getrecursionlimit(),
    "switch interval": sys.getswitchinterval(),
    "warnings filters": [str(entry) for entry in warnings.filters],
    "frames": 0,
    "files": sorted(os.path.join(d, f) for d, _, fs in os.walk(os.path.dirname(os.getcwd())) for f in fs),
}
frame = sys._getframe()
while frame is not None:
    seen["frames"] += 1
    frame = frame.f_back
if "modules" in sys.argv:
    seen["modules"] = list(sys.modules)
print(json.dumps(seen))
