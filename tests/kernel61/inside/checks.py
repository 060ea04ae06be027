"""Checks of casemate on this kernel, run as root or as an ordinary user: checks.py USER

They say what differs between kernels: namespaces, mounts, Landlock, control groups, and what is left
when a process of casemate is killed. CASEMATE_CHECKS holds patterns of the names to run; none: all.
"""

from __future__ import annotations

import fnmatch
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report import Skip, check, report

CASEMATE = os.environ["CASEMATE_BIN"]
CGROUPS = Path("/sys/fs/cgroup")
ROOT = os.geteuid() == 0

# A program that the kernel ends, or our own clock: generous, since an emulated processor is slow.
PATIENCE = 300.0

Check = Callable[[list[str]], None]
CHECKS: dict[str, Check] = {}


def named(name: str) -> Callable[[Check], Check]:
    """Makes a function one of the checks."""

    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add


def call(*args: str, prefix: list[str] | None = None, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one call of the program."""
    ended = subprocess.run(
        [*(prefix or []), CASEMATE, *args],
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def run(code: str, *args: str, **how: Any) -> dict[str, Any]:
    """The outcome of a trusted program."""
    exit_code, out, err = call("run", "--trust", "trusted", "--json", *args, "-c", code, **how)
    try:
        outcome = json.loads(out)
    except ValueError:
        raise AssertionError(f"exit code {exit_code}, no outcome: {out[-300:]} {err[-600:]}") from None
    assert isinstance(outcome, dict)
    return outcome


def short(outcome: dict[str, Any]) -> str:
    """What a reader needs of an outcome that is not as it should be."""
    keys = ("status", "exit_code", "reason", "message", "limit", "limits_met", "teardown")
    kept = {key: outcome[key] for key in keys if key in outcome}
    return json.dumps(kept) + " " + str(outcome.get("report"))[-600:]


def ran(code: str, *args: str, **how: Any) -> dict[str, Any]:
    """The outcome of a program that ends well."""
    outcome = run(code, *args, **how)
    assert outcome["status"] == "ok", short(outcome)
    assert outcome["teardown"]["verdict"] == "destroyed", short(outcome)
    return outcome


def text(outcome: dict[str, Any]) -> str:
    found = outcome["stdout"]["text"]
    assert isinstance(found, str)
    return found.strip()


def ended_by(limit: str, outcome: dict[str, Any]) -> None:
    assert outcome["status"] == "limit", short(outcome)
    assert outcome["limit"]["name"] == limit, short(outcome)
    assert outcome["teardown"]["verdict"] == "destroyed", short(outcome)


# What is left.


def groups() -> set[str]:
    return {str(Path(at, name)) for at, names, _ in os.walk(CGROUPS) for name in names if name.startswith("casemate.")}


def processes() -> dict[int, str]:
    """Living processes of casemate's own, and of its boxes, by process id: those of a test run are ours."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and ("casemate-warden" in line or "casemate run" in line or "casemate import" in line):
            found[int(folder.name)] = line
    return found


def mounts() -> set[str]:
    return {" ".join(line.split(" ")[3:]) for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def records() -> set[str]:
    """The files of instances that live or died uncleanly."""
    runtime = Path("/run/casemate") if ROOT else Path(os.environ["XDG_RUNTIME_DIR"]) / "casemate"
    return {path.name for path in runtime.glob("*") if path.suffix != ".lock"}


def everything() -> dict[str, Any]:
    return {"groups": groups(), "processes": set(processes().values()), "mounts": mounts(), "records": records()}


def nothing_left(before: dict[str, Any], seconds: float = 30.0, *, but: tuple[str, ...] = ()) -> None:
    """Waits for a killed program's warden to end by itself; then nothing may be more than before."""
    end = time.monotonic() + seconds
    while True:
        now = everything()
        left = {kind: sorted(now[kind] - before[kind]) for kind in now if kind not in but and now[kind] - before[kind]}
        if not left:
            return
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.2)


def start(code: str) -> subprocess.Popen[str]:
    """A run that is under way: its program has printed a line."""
    process = subprocess.Popen(
        [CASEMATE, "run", "--trust", "trusted", "--quiet", "--wall", "10m", "--cpu-time", "5m", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != "ready\n":
        process.kill()
        _, err = process.communicate()
        raise AssertionError(f"it did not start: {line!r} {err[-600:]}")
    return process


def warden_of(process: subprocess.Popen[str]) -> int:
    """The warden of a run: a child of it, or of the systemd-run that it became."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1, children
    return int(children[0])


SLEEPER = "import os, time; os.fork(); print('ready', flush=True) if os.getpid() < 4 else 0; time.sleep(600)"
SLEEP = "import time; print('ready', flush=True); time.sleep(600)"


# The host, and one run.


@named("casemate image build")
def image_build(said: list[str]) -> None:
    if Path("/opt/casemate/images").exists():
        raise Skip("the image was brought along")
    begun = time.monotonic()
    ended = subprocess.run(
        [CASEMATE, "image", "build"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3000, check=False
    )
    assert ended.returncode == 0, f"exit code {ended.returncode}: {ended.stderr[-1500:]}"
    said.append(f"{time.monotonic() - begun:.0f} s")


@named("casemate doctor")
def doctor(said: list[str]) -> None:
    exit_code, out, err = call("doctor")
    report("doctor", who="root" if ROOT else "tester", text=out + err)
    assert exit_code == 0, f"exit code {exit_code}: {out} {err}"
    said.append("every promise can be kept")


@named("casemate doctor --inside")
def doctor_inside(said: list[str]) -> None:
    exit_code, out, err = call("doctor", "--inside")
    report("inside", who="root" if ROOT else "tester", text=out + err)
    assert exit_code == 0, f"exit code {exit_code}: {out[-300:]} {err}"
    for line in ("uid 1000 gid 1000 groups [] ", "CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"):
        assert line in out, f"'{line}' is not in:\n{out}"
    said.append("")


@named("print(6*7)")
def answer(said: list[str]) -> None:
    exit_code, out, err = call("run", "--trust", "trusted", "-c", "print(6*7)")
    assert (exit_code, out) == (0, "42\n"), f"exit code {exit_code}: {out!r} {err[-900:]}"


@named("usage is measured")
def usage(said: list[str]) -> None:
    outcome = ran("x = bytearray(64 << 20); print(sum(range(200000)))")
    used = outcome["usage"]
    said.append(", ".join(f"{key} {used[key]}" for key in ("wall_ms", "cpu_ms", "memory_peak_bytes", "pids_peak") if key in used))
    assert used["memory_peak_bytes"] > 64 << 20, used
    assert used["cpu_ms"] > 0, used
    assert used.get("pids_peak", 1) > 0, f"the peak of a box with two processes is said to be 0: {used}"


@named("pandas and a figure")
def figure(said: list[str]) -> None:
    code = (
        "import pandas, matplotlib.pyplot as plt\n"
        "pandas.DataFrame({'a': [1, 4, 9]}).plot(); plt.show()\n"
        "open('/work/out/a.txt', 'w').write('kept')\n"
        "import casemate; casemate.artifact('/work/out/a.txt', summary='a file'); print('done')\n"
    )
    outcome = ran(code, "--wall", "5m", "--cpu-time", "4m", "--out", "products")
    states = sorted(item["state"] for item in outcome["artifacts"])
    assert states == ["stored", "stored"], outcome["artifacts"]
    kept = sorted(path.name for path in Path("products").rglob("*") if path.is_file())
    said.append(" ".join(kept))
    assert any(Path("products", name).read_text() == "kept" for name in kept if name.endswith("txt")), kept


# Limits.


@named("memory ends the run")
def memory(said: list[str]) -> None:
    outcome = run("x = bytearray(400 << 20); print('still here')", "--memory", "64MiB")
    ended_by("memory", outcome)
    said.append(f"used {outcome['limit'].get('used')}")


@named("memory ends a run whose children use it")
def memory_of_children(said: list[str]) -> None:
    code = (
        "import os, time\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(30 << 20); time.sleep(60)\n"
        "for _ in range(6): os.wait()\n"
        "print('still here')\n"
    )
    ended_by("memory", run(code, "--memory", "96MiB", "--wall", "2m"))


@named("files in memory count as memory")
def memory_of_files(said: list[str]) -> None:
    code = "f = open('/work/a', 'wb')\nfor _ in range(200): f.write(b'x' * (1 << 20))\nprint('still here')"
    ended_by("memory", run(code, "--memory", "64MiB", "--disk", "1GiB", "--wall", "2m", "--cpu-time", "2m"))


@named("processes: EAGAIN")
def pids(said: list[str]) -> None:
    code = (
        "import os, time\n"
        "n = 1\n"
        "try:\n"
        "    while n < 100:\n"
        "        if os.fork() == 0: time.sleep(60)\n"
        "        n += 1\n"
        "except BlockingIOError as e: print(n, e.errno)\n"
    )
    outcome = ran(code, "--pids", "8", "--wall", "2m")
    assert text(outcome) == "8 11", short(outcome)
    assert [item["name"] for item in outcome["limits_met"]] == ["pids"], short(outcome)


@named("CPU time ends the run")
def cpu_time(said: list[str]) -> None:
    outcome = run("while True: pass", "--cpu-time", "3s", "--wall", "2m")
    ended_by("cpu_time", outcome)
    said.append(f"used {outcome['limit'].get('used')} ms")


@named("CPU share is kept")
def cpu_share(said: list[str]) -> None:
    code = (
        "import time, multiprocessing as m\n"
        "def burn():\n"
        "    end = time.monotonic() + 6\n"
        "    while time.monotonic() < end: pass\n"
        "a, b = m.Process(target=burn), m.Process(target=burn)\n"
        "a.start(); b.start(); a.join(); b.join()\n"
    )
    used = ran(code, "--cpus", "0.5", "--wall", "3m", "--cpu-time", "60s")["usage"]
    share = used["cpu_ms"] / used["wall_ms"]
    said.append(f"{share:.2f} of 0.5 processors")
    assert share < 0.6, used


@named("wall clock ends the run")
def wall(said: list[str]) -> None:
    ended_by("wall", run("import time; time.sleep(100)", "--wall", "3s"))


@named("disk: ENOSPC; file size: EFBIG; open files: EMFILE")
def disk(said: list[str]) -> None:
    code = (
        "import os\n"
        "def tried(action):\n"
        "    try: action(); print('no error')\n"
        "    except OSError as e: print(e.errno)\n"
        "def fill(name, mib):\n"
        "    with open(name, 'wb', buffering=0) as f:\n"
        "        for _ in range(mib): f.write(b'x' * (1 << 20))\n"
        "tried(lambda: [fill(f'/work/{i}', 3) for i in range(8)])\n"
        "for i in range(8):\n"
        "    if os.path.exists(f'/work/{i}'): os.unlink(f'/work/{i}')\n"
        "tried(lambda: fill('/work/big', 6))\n"
        "os.unlink('/work/big')\n"
        "tried(lambda: [open('/dev/null') for _ in range(80)] + [0] * len([open('/dev/null') for _ in range(80)]))\n"
    )
    outcome = ran(code, "--disk", "16MiB", "--file-size", "5MiB", "--open-files", "64", "--wall", "2m")
    assert text(outcome).split() == ["28", "27", "24"], short(outcome)


@named("output beyond 64 times its cap ends the run")
def output(said: list[str]) -> None:
    outcome = run("while True: print('x' * 1000)", "--output", "1KiB", "--wall", "2m", "--cpu-time", "100s")
    ended_by("output", outcome)


# Walls.


@named("no network, no host, no privilege")
def walls(said: list[str]) -> None:
    code = (
        "import ctypes, os, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def refused(name, result):\n"
        "    if result >= 0: print('HOLE', name, result)\n"
        "refused('unshare user', libc.unshare(0x10000000))\n"
        "refused('unshare mount', libc.unshare(0x00020000))\n"
        "refused('mount', libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))\n"
        "refused('setuid', libc.setuid(0))\n"
        "refused('chroot', libc.chroot(b'/'))\n"
        "refused('bpf', libc.syscall(321, 0, 0, 0))\n"
        "refused('io_uring_setup', libc.syscall(425, 1, 0))\n"
        "refused('userfaultfd', libc.syscall(323, 0))\n"
        "refused('mknod', libc.mknod(b'/work/n', 0o20600, 0))\n"
        "for path in ('/usr/a', '/etc/a', '/a', '/dev/a', '/proc/a', '/opt/a'):\n"
        "    try: open(path, 'w'); print('HOLE wrote', path)\n"
        "    except OSError: pass\n"
        "for path in ('/proc/meminfo', '/proc/sys', '/proc/kallsyms', '/sys/kernel', '/opt/casemate', '/home/tester'):\n"
        "    if os.path.exists(path): print('HOLE sees', path)\n"
        "print('pids', sorted(p for p in os.listdir('/proc') if p.isdigit()))\n"
        "print('cgroup', open('/proc/self/cgroup').read().split())\n"
        "print('maps', open('/proc/self/uid_map').read().split())\n"
        "for address in (('192.0.2.1', 80), ('10.0.2.2', 22)):\n"
        "    try: socket.create_connection(address, 3); print('HOLE reached', address)\n"
        "    except OSError: pass\n"
    )
    outcome = ran(code)
    said.extend(text(outcome).splitlines())
    assert "HOLE" not in text(outcome), text(outcome)
    assert "cgroup ['0::/']" in text(outcome), text(outcome)


@named("truncation of a read-only file is refused")
def truncation(said: list[str]) -> None:
    # Landlock learned of truncate(2) with ABI 3: here the read-only mounts stand alone.
    code = (
        "import os\n"
        "for path in ('/usr/bin/python3.11', '/etc/passwd'):\n"
        "    try: os.truncate(path, 0); print('HOLE', path)\n"
        "    except OSError as e: print(e.errno)\n"
    )
    outcome = ran(code)
    assert text(outcome).split() == ["30", "30"], short(outcome)


@named("the box's own groups and ids")
def outside_view(said: list[str]) -> None:
    """What the host sees of a box: its group with its limits, an id that nobody else has."""
    before = everything()
    process = start(SLEEP)
    try:
        made = groups() - before["groups"]
        boxes = [path for path in made if not path.endswith(".b0")]
        assert len(boxes) == 1, made
        box = Path(boxes[0])
        values = {name: (box / name).read_text().strip() for name in ("memory.max", "pids.max", "cpu.max", "memory.oom.group")}
        assert values == {"memory.max": str(512 << 20), "pids.max": "129", "cpu.max": "100000 100000", "memory.oom.group": "1"}, values
        members = (box / "cgroup.procs").read_text().split()
        uids = {Path(f"/proc/{pid}").stat().st_uid for pid in members}
        status = [Path(f"/proc/{pid}/status").read_text() for pid in members]
        real = {int(line.split()[1]) for text_ in status for line in text_.splitlines() if line.startswith("Uid:")}
        said.append(f"{box.relative_to(CGROUPS)}; real uids {sorted(real)}; /proc owners {sorted(uids)}")
        assert len(members) == 2, members
        own = (range(1879048192, 1879048192 + (1 << 28)) if ROOT else range(100000, 165536))
        assert any(uid in own for uid in real), real
        assert 0 not in real, real
    finally:
        process.terminate()
        process.wait(60)
    nothing_left(before)


# What is left after a kill.


@named("nothing is left after a run")
def clean_end(said: list[str]) -> None:
    before = everything()
    ran("import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(600)\nprint(1)")
    nothing_left(before)


@named("SIGTERM ends the box")
def terminated(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPER)
    process.terminate()
    assert process.wait(60) == 6, process.returncode
    nothing_left(before)


@named("kill -9 of casemate leaves nothing")
def killed_casemate(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPER)
    process.kill()
    process.wait()
    nothing_left(before)


@named("kill -9 of the warden is said, and the next run clears up")
def killed_warden(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPER)
    os.kill(warden_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    said.append(f"exit code {process.returncode}")
    assert process.returncode == 4, f"exit code {process.returncode}: {err[-600:]}"
    nothing_left(before, but=("groups", "records"))
    ran("print(1)")
    nothing_left(before)


@named("kill -9 of casemate and of the warden, and the next run clears up")
def killed_both(said: list[str]) -> None:
    before = everything()
    process = start(SLEEPER)
    warden = warden_of(process)
    process.kill()
    os.kill(warden, signal.SIGKILL)
    process.wait()
    nothing_left(before, but=("groups", "records"))
    ran("print(1)")
    nothing_left(before)


@named("three runs at once")
def together(said: list[str]) -> None:
    before = everything()
    three = [start(SLEEP) for _ in range(3)]
    for process in three:
        process.terminate()
    for process in three:
        assert process.wait(120) == 6, process.returncode
    nothing_left(before)


# Under systemd.


def limits_stay(said: list[str], disturb: list[list[str]]) -> None:
    """A box keeps its limits while systemd works on the same tree."""
    before = everything()
    process = start(SLEEP)
    try:
        box = Path(next(path for path in groups() - before["groups"] if not path.endswith(".b0")))
        names = ("memory.max", "pids.max", "cpu.max")
        first = {name: (box / name).read_text() for name in names}
        for command in disturb:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        gone = [name for name in names if not (box / name).exists()]
        assert not gone, f"systemd took away {gone}; enabled above: {(box.parent / 'cgroup.subtree_control').read_text()}"
        assert {name: (box / name).read_text() for name in names} == first
        said.append(f"enabled above: {(box.parent / 'cgroup.subtree_control').read_text().strip()}")
    finally:
        process.terminate()
        process.wait(60)
    nothing_left(before)


@named("limits stay through systemd's own changes")
def systemd_changes(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    limits_stay(
        said,
        [
            ["systemctl", *how, "daemon-reload"],
            ["systemd-run", *how, "--wait", "--quiet", "-p", "CPUWeight=50", "true"],
            ["systemd-run", *how, "--wait", "--quiet", "true"],
        ],
    )


@named("limits stay when the last user of the cpu controller goes")
def systemd_drops_cpu(said: list[str]) -> None:
    if not ROOT:
        raise Skip("the user's manager has a tree of its own")
    user = ["user@1000.service", "user-1000.slice"]
    try:
        limits_stay(said, [["systemctl", "stop", *user], ["systemd-run", "--wait", "--quiet", "true"]])
    finally:
        subprocess.run(["systemctl", "start", "user@1000.service"], check=True, stdin=subprocess.DEVNULL)


@named("in a scope that is delegated already")
def in_scope(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    before = everything()
    prefix = ["systemd-run", *how, "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"]
    assert text(ran("print(1)", prefix=prefix)) == "1"
    nothing_left(before)


@named("in a service that is not delegated")
def in_service(said: list[str]) -> None:
    how = [] if ROOT else ["--user"]
    before = everything()
    command = ["systemd-run", *how, "--wait", "--pipe", "--quiet", "--collect", "--"]
    command += [CASEMATE, "run", "--trust", "trusted", "-c", "print(1)"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout) == (0, "1\n"), f"exit code {ended.returncode}: {ended.stdout} {ended.stderr[-600:]}"
    nothing_left(before)


@named("a leaf of a group that lives on does not stay")
def leaf(said: list[str]) -> None:
    """Two runs in one scope, which lives on between and after them."""
    how = [] if ROOT else ["--user"]
    script = (
        f"for i in 1 2; do {CASEMATE} run --trust trusted -c 'print(1)' || exit; done; sleep 1; "
        "find /sys/fs/cgroup -name 'casemate.*'"
    )
    command = ["systemd-run", *how, "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--", "sh", "-c", script]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, f"exit code {ended.returncode}: {ended.stdout} {ended.stderr[-600:]}"
    assert ended.stdout == "1\n1\n", ended.stdout


@named("no user manager: refused, with what to do")
def no_manager(said: list[str]) -> None:
    if ROOT:
        raise Skip("root needs none")
    outcome = run("print(1)", prefix=["env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS"])
    assert outcome["status"] == "refused", short(outcome)
    assert outcome["reason"]["code"] == "isolation_unavailable", short(outcome)
    assert "systemd-run --user" in outcome["report"], outcome["report"]
    said.append(outcome["report"][:400])


@named("--weaken no-cgroup")
def weaken_cgroup(said: list[str]) -> None:
    outcome = ran("print(1)", "--weaken", "no-cgroup")
    said.append(json.dumps(outcome.get("weakenings")))


@named("--weaken single-id")
def weaken_id(said: list[str]) -> None:
    outcome = ran("import os; print(os.getuid())", "--weaken", "single-id")
    said.append(json.dumps(outcome.get("weakenings")))
    assert text(outcome) == "1000", short(outcome)


def main() -> int:
    who = sys.argv[1]
    patterns = os.environ.get("CASEMATE_CHECKS", "").split("|")
    for name, function in CHECKS.items():
        if any(patterns) and not any(fnmatch.fnmatch(name, f"*{pattern}*") for pattern in patterns):
            continue
        with check(who, name) as said:
            function(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
