"""One run: the image, the doctor, limits and walls."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from program import (
    CASEMATE,
    CGROUPS,
    ROOT,
    SLEEP,
    call,
    ended_by,
    everything,
    groups,
    named,
    nothing_left,
    ran,
    run,
    short,
    start,
    text,
)
from report import Skip, report

# The host, and one run.


@named("casemate image build")
def image_build(said: list[str]) -> None:
    if Path("/opt/casemate/images").exists():
        raise Skip("the image was brought along")
    begun = time.monotonic()
    ended = subprocess.run(
        [CASEMATE, "image", "build"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert ended.returncode == 0, f"exit code {ended.returncode}: {ended.stderr[-1500:]}"
    said.append(f"{time.monotonic() - begun:.0f} s")


@named("casemate doctor")
def doctor(said: list[str]) -> None:
    exit_code, out, err = call("doctor")
    report("doctor", who="root" if ROOT else "tester", text=out + err)
    assert exit_code == 0, f"exit code {exit_code}: {out} {err}"
    # What is different on this host is said.
    different = ["Landlock ABI 2; not decided by it here: truncation (from ABI 3), ioctls on devices (from ABI 5)"]
    different += ["control groups v2; the buffers of sockets count as memory"]
    different += [] if ROOT else ["subordinate ids of this user", "the host's null, zero, full, random and urandom"]
    for words in different:
        assert words in out, f"'{words}' is not in:\n{out}"
    assert re.search(r"yes +hot slots +a run took less than \d+ ms", out), out
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
    said.append(
        ", ".join(
            f"{key} {used[key]}" for key in ("wall_ms", "cpu_ms", "memory_peak_bytes", "pids_peak") if key in used
        )
    )
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
        "hidden = '/proc/meminfo /proc/sys /proc/kallsyms /sys/kernel /opt/casemate /home/tester'\n"
        "for path in hidden.split():\n"
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
        values = {
            name: (box / name).read_text().strip() for name in ("memory.max", "pids.max", "cpu.max", "memory.oom.group")
        }
        assert values == {
            "memory.max": str(512 << 20),
            "pids.max": "129",
            "cpu.max": "100000 100000",
            "memory.oom.group": "1",
        }, values
        members = (box / "cgroup.procs").read_text().split()
        uids = {Path(f"/proc/{pid}").stat().st_uid for pid in members}
        status = [Path(f"/proc/{pid}/status").read_text() for pid in members]
        real = {int(line.split()[1]) for text_ in status for line in text_.splitlines() if line.startswith("Uid:")}
        said.append(f"{box.relative_to(CGROUPS)}; real uids {sorted(real)}; /proc owners {sorted(uids)}")
        assert len(members) == 2, members
        own = range(1879048192, 1879048192 + (1 << 28)) if ROOT else range(100000, 165536)
        assert any(uid in own for uid in real), real
        assert 0 not in real, real
    finally:
        process.terminate()
        process.wait(60)
    nothing_left(before)
