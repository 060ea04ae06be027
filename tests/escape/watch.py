"""Runs a guest inside the outer box and looks at it from outside: the body of outer_box.py's service.

A guest that wants to be looked at names itself esc:LABEL and waits for SIGUSR1. Whatever a guest prints
is its own word; an observer takes it for evidence only where it is a secret that the guest cannot know.
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import secrets
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import observers
from guest_file import GUESTS, ISOLATION, MAKING, PAIRS, SLOW, START, Guest, read_guest
from who import WHO

_RUN_SECONDS = 20.0 * SLOW + MAKING
_LEAK_SECONDS = 3.0 * SLOW
# Small, so that sixty guests are quick; a guest's own options come later and win.
_LIMITS = {
    "--wall": f"{5 * SLOW:.0f}s",
    "--cpu-time": f"{5 * SLOW:.0f}s",
    "--memory": "96MiB",
    "--pids": "32",
    "--disk": "16MiB",
    "--output": "32KiB",
}


@dataclass
class Run:
    """What one run of a guest looked like."""

    outcome: dict[str, Any] = field(default_factory=dict)
    raw: str = ""
    errors: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    peak_kib: int = 0  # of the supervisor (the engine's process)
    out: Path = Path()

    @property
    def status(self) -> str:
        return str(self.outcome.get("status", "none"))

    @property
    def answer_seconds(self) -> float:
        """Until the answer; where making the box takes long, from the moment on that the run had it."""
        if not MAKING or "timing" not in self.outcome:
            return self.seconds
        parts = ("checkout_ms", "execution_ms", "artifact_ms", "teardown_ms")
        return sum(float(self.outcome["timing"][part]) for part in parts) / 1000

    @property
    def text(self) -> str:
        """All that came out of the box, and what the outcome says about it."""
        return json.dumps(self.outcome, ensure_ascii=False) + self.errors


def processes() -> dict[int, str]:
    """Every process of the outer box but the service itself, with its name. Zombies are not in it."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and entry != "1":
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:
                continue
            name, _, rest = stat.partition("(")[2].rpartition(")")
            if rest.split()[0] not in "ZX":
                found[int(entry)] = name
    return found


def _delegated(number: int) -> Path:
    """A group as systemd gives one to an ordinary user's manager, and in it the one where a program starts."""
    group = Path(f"/sys/fs/cgroup/run{number}")
    group.mkdir()
    (group / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    session = group / "session"
    session.mkdir()
    for path in (group, *(group / name for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"))):
        os.chown(path, WHO.uid, WHO.uid)
    return session


def _collect() -> None:
    """Removes scopes that have ended, as systemd does; of what is below them the warden's leaf alone."""
    for scope in Path("/sys/fs/cgroup").glob("run*/scope.*"):
        if "populated 0" not in (scope / "cgroup.events").read_text():
            continue
        for folder in (*scope.glob("casemate.i*.b0"), scope):
            try:
                folder.rmdir()
            except OSError:
                pass  # A box's group is in it: a leak.


def _take_back(number: int) -> None:
    """Removes such a group; what a run left in it has been reported by now."""
    for folder, _, _ in os.walk(f"/sys/fs/cgroup/run{number}", topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            pass  # A process that could not be killed: the outer box takes it along.


def _prepare(group: Path | None) -> None:
    """Between fork and exec: generous limits, and with a group of their own the ordinary user."""
    _generous()
    if group is not None:
        (group / "cgroup.procs").write_text("0")
        os.setgroups([WHO.uid])
        os.setresgid(WHO.uid, WHO.uid, WHO.uid)
        os.setresuid(WHO.uid, WHO.uid, WHO.uid)


def _groups() -> list[str]:
    return sorted(
        str(Path(folder, name))
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith("casemate.i")
    )


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def _peak_kib(pid: int) -> int:
    """The highest resident size of a process so far; 0 when it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


class Watch:
    """The service. One thread, one run at a time."""

    def __init__(self) -> None:
        self._runs = 0

    def run(self, guest: str, off: int, test_build: bool, pair: bool) -> dict[str, Any]:
        """Runs a guest with walls off (bits, test build) or as released; says what was seen."""
        if pair:
            return self._run_pair(read_guest(PAIRS / f"{guest}.py"), off, test_build)
        what = read_guest(GUESTS / f"{guest}.py")
        observer = observers.named(what.observer)(secrets.token_hex(12))
        mounts = self._mounts()
        observer.prepare()
        known = set(processes())
        try:
            run = self._run(what, observer, off, test_build)
            evidence = observer.verdict(run)
            leaks = self._leaks(known, mounts)
        finally:
            observer.clean()
            _reap()
            _take_back(self._runs)
        return {
            "evidence": evidence,
            "control": observer.control,
            "status": run.status,
            "limit": (run.outcome.get("limit") or {}).get("name"),
            "reason": run.outcome.get("reason"),
            "exit_code": run.exit_code,
            "teardown": (run.outcome.get("teardown") or {}).get("verdict"),
            "seconds": round(run.seconds, 3),
            "leaks": leaks,
            "start": (run.outcome.get("timing") or {}).get("start"),
            "isolation": run.outcome.get("isolation"),
            "text": run.text[:20000],
        }

    def _run_pair(self, what: Guest, off: int, test_build: bool) -> dict[str, Any]:
        import pair_watch  # of what it imports only the outer box has all

        mounts, known = self._mounts(), set(processes())
        answer = pair_watch.run(what, off, test_build)
        return answer | {"leaks": self._leaks(known, mounts)}

    def _command(self, what: Guest, observer: observers.Observer, off: int, test_build: bool) -> list[str]:
        command = [f"/casemate/bin/casemate{'-test' if test_build else ''}", "run", f"/escape/guests/{what.name}.py"]
        command += ["--json", "--trust", "trusted"]
        given = [*what.options, *observer.options]
        options = _LIMITS | dict(zip(given[::2], given[1::2], strict=True))
        if ISOLATION == "gvisor":  # whose kernel has its memory from the box: without more the guest would not begin
            options["--memory"] = f"{int(options['--memory'].removesuffix('MiB')) + 64}MiB"
        command += [word for pair in options.items() for word in pair]
        if off:
            command += ["--test-walls-off", str(off)]
        if START:
            command += ["--start", START]
        if ISOLATION:
            command += ["--isolation", ISOLATION]
        command += ["--out", f"/tmp/out{self._runs}", "--file", "/escape/attack.py"]
        arguments = {"patience": f"{3 * SLOW:.0f}"} | observer.arguments
        if ISOLATION:
            arguments["begun"] = "said"
        return [*command, "--", *(f"{name}={value}" for name, value in arguments.items())]

    def _run(self, what: Guest, observer: observers.Observer, off: int, test_build: bool) -> Run:
        self._runs += 1
        run = Run(out=Path(f"/tmp/out{self._runs}"))
        answer, errors = Path(f"/tmp/answer{self._runs}"), Path(f"/tmp/errors{self._runs}")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(WHO.home)} | observer.environment
        group = None
        if WHO.uid != 0:
            environment = {"XDG_RUNTIME_DIR": str(WHO.instances.parent)} | environment
            runtime = Path(environment["XDG_RUNTIME_DIR"])
            runtime.mkdir(exist_ok=True)
            os.chown(runtime, WHO.uid, WHO.uid)
            (runtime / "systemd").mkdir(exist_ok=True)
            (runtime / "systemd/private").touch()  # where the user's manager would listen
            group = _delegated(self._runs)
        begun = time.monotonic()
        with answer.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                self._command(what, observer, off, test_build),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd="/tmp",
                start_new_session=True,
                preexec_fn=functools.partial(_prepare, group),
            )
        observer.started(process.pid)
        peak = 0
        seen: set[tuple[int, str]] = set()
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > _RUN_SECONDS:
                process.kill()
            self._look(observer, seen)
            observer.tick()
            peak = max(peak, _peak_kib(process.pid))
            time.sleep(0.004)
        process.returncode = os.waitstatus_to_exitcode(status)
        run.seconds = time.monotonic() - begun
        # What the kernel adds up in the end is also that of a machine, which is a descendant.
        run.exit_code, run.peak_kib = process.returncode, peak if MAKING else used.ru_maxrss
        run.raw, run.errors = answer.read_text(errors="replace"), errors.read_text(errors="replace")
        try:
            run.outcome = json.loads(run.raw)
        except ValueError:
            pass
        return run

    @staticmethod
    def _look(observer: observers.Observer, seen: set[tuple[int, str]]) -> None:
        """Shows the observer each guest process that holds still, once, and lets it go on."""
        for pid, name in processes().items():
            if not name.startswith("esc:") or (pid, name) in seen:
                continue
            seen.add((pid, name))
            try:
                observer.held(pid, name.removeprefix("esc:"))
            except (FileNotFoundError, ProcessLookupError):
                pass  # It went away meanwhile.
            try:
                os.kill(pid, signal.SIGUSR1)
            except ProcessLookupError:
                pass

    @staticmethod
    def _mounts() -> set[str]:
        return {line.split(" ", 3)[3] for line in Path("/proc/self/mountinfo").read_text().splitlines()}

    def _leaks(self, known: set[int], mounts: set[str]) -> list[str]:
        """What a run left in the outer box; gives the end of dying things a moment."""
        end = time.monotonic() + _LEAK_SECONDS
        while True:
            _reap()
            _collect()
            left = [f"process {pid} {name}" for pid, name in processes().items() if pid not in known]
            left += [f"group {path}" for path in _groups()]
            left += [f"mount {line}" for line in self._mounts() - mounts]
            for folder in Path("/run").rglob("casemate"):
                left += [f"file {path}" for path in folder.iterdir() if path.suffix != ".lock"]
            if not left or time.monotonic() > end:
                break
            time.sleep(0.02)
        for pid in set(processes()) - known:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return left


def _generous() -> None:
    """Soft limits up to the hard ones, so that what a box allows is the box's own doing."""
    for name in ("CORE", "STACK", "SIGPENDING", "MEMLOCK", "MSGQUEUE", "NOFILE", "FSIZE"):
        kind = getattr(resource, f"RLIMIT_{name}", None) or {"SIGPENDING": 11, "MSGQUEUE": 12}[name]
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (hard, hard))
    for name, value in (("NICE", 40), ("RTPRIO", 1)):
        kind = {"NICE": 13, "RTPRIO": 14}[name]
        try:
            resource.setrlimit(kind, (value, value))
        except ValueError:
            pass  # No CAP_SYS_RESOURCE: the guest that needs it says so.
