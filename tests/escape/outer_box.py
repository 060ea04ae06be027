"""The outer box: a small machine of decoys in which guests meet boxes with walls off.

    outer_box.py BINARIES STORE SECONDS

Theory of operation. The first process (root) makes control groups of its own with hard limits, enters
them and forks a second one into new pid, mount, network, IPC, host-name and cgroup namespaces. That
one builds a root of its own out of a tmpfs: programs and libraries read-only, a private /dev, /proc and
cgroup tree, and decoys in the places where a host keeps what an attacker wants. It pivots into it and
lets the host's tree go, so that whatever a guest reaches with every wall off is a decoy. Then it serves
requests, one JSON document per line: run this guest with these walls off and say what was seen.

When SECONDS have passed, or the first process dies, the kernel ends the second one and with it every
process inside.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from who import WHO, subordinate_line

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS, _CLONE_NEWCGROUP, _CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
_CLONE_NEWIPC, _CLONE_NEWPID, _CLONE_NEWNET = 0x08000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_SYS_PIVOT_ROOT = 155
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 1, 24
# What nobody in the outer box has a use for: modules, raw I/O, reboot, clock, the kernel log, BPF.
_CAPABILITIES_DROPPED = (16, 17, 22, 25, 34, 39)

MEMORY_MAX = 1 << 30
PIDS_MAX = 600
PREFIX = "casemate-escape-"
NEST_ID, SLOT_ID = WHO.nest_id, WHO.slot_id

# What `systemd-run --user --scope` does in the outer box: a group beside the caller's, both the user's own.
_SCOPE = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
group=/sys/fs/cgroup$(dirname "$(cut -d: -f3 /proc/self/cgroup)")/scope.$$
mkdir "$group" && echo $$ >"$group/cgroup.procs" && exec "$@"
"""

DECOY = Path("/decoy")
STORE = Path("/var/lib/casemate/images")
ADDRESS, ADDRESS6 = "192.0.2.7", "2001:db8::7"
HOST_NAME = "decoy-host"


def _check(result: int, what: str) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source: str, target: str | Path, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """mount(2)."""
    encoded = [None if text is None else str(text).encode() for text in (source, target, kind, options)]
    _check(_LIBC.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def _bind(source: int, target: Path, read_only: bool = True) -> None:
    target.mkdir(parents=True, exist_ok=True)
    mount(f"/proc/self/fd/{source}", target, None, _MS_BIND)
    if read_only:
        mount("none", target, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _hand_down(group: Path) -> None:
    """Enables for the children of a v2 group what of memory, pids and cpu there is."""
    there = {"memory", "pids", "cpu"} & set((group / "cgroup.controllers").read_text().split())
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(there)))


def _stand_aside(top: Path) -> None:
    """Leaves the top of our own v2 tree, so that boxes can have limits beside us.

    The first process leaves it too, at the same time; until it has, the kernel answers EBUSY.
    """
    aside = top / "outer"
    aside.mkdir()
    (aside / "cgroup.procs").write_text("0")
    end = time.monotonic() + 10
    while True:
        try:
            return _hand_down(top)
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.01)


class Groups:
    """Control groups for the whole outer box: v1 below those that we are in, v2 below the top.

    A v2 group has limits only if its parent hands the controllers down, which none with processes of
    its own can do (cgroups(7), "no internal processes") except the top. CASEMATE_ESCAPE_GROUP names
    another v2 group that can: one that is delegated to the user who runs the boxes.
    """

    def __init__(self) -> None:
        self.made: list[tuple[Path, Path]] = []  # (ours, where we came from)
        self.hierarchies: list[tuple[str, str]] = []  # (mount point, options; "" for v2)
        own = dict(self._own())
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            point, root = before.split(" ")[4], before.split(" ")[3]
            names = {"memory", "pids", "cpu", "cpuacct"} & set(options.split(","))
            if kind == "cgroup2":
                names, options = {""}, ""
            elif kind != "cgroup" or not names:
                continue
            group = own.get(sorted(names)[0], "/")
            own_group = Path(point + ("" if group == "/" else group.removeprefix("" if root == "/" else root)))
            base = own_group if options else Path(os.environ.get("CASEMATE_ESCAPE_GROUP", point))
            if not options:
                _hand_down(base)
            self._sweep(base)
            ours = base / f"{PREFIX}{os.getpid()}"
            ours.mkdir()
            self.made.append((ours, own_group))
            self.hierarchies.append((point, ",".join(sorted(names)) if options else ""))

    @staticmethod
    def _own() -> list[tuple[str, str]]:
        found = []
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            found += [(name, path) for name in names.split(",")]
        return found

    @staticmethod
    def _sweep(base: Path) -> None:
        """Removes what a killed outer box left here."""
        for old in base.glob(PREFIX + "*"):
            if not Path("/proc", old.name.removeprefix(PREFIX)).exists():
                Groups._remove(old)

    @staticmethod
    def _remove(group: Path) -> bool:
        for folder, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
        return True

    def limit(self) -> None:
        """Hard limits on everything inside, whatever walls are off. On v2 only below the group itself."""
        for group, _ in self.made:
            for name, value in (
                ("memory.limit_in_bytes", MEMORY_MAX),
                ("memory.max", MEMORY_MAX),
                ("pids.max", PIDS_MAX),
            ):
                if (group / name).exists():
                    (group / name).write_text(str(value))

    def enter(self) -> None:
        """Moves this process in."""
        for group, _ in self.made:
            (group / "cgroup.procs").write_text("0")

    def go_back(self) -> None:
        """Moves this process to where it came from. What it forked stays."""
        for _, base in self.made:
            (base / "cgroup.procs").write_text("0")

    def leave(self) -> None:
        """Moves this process out and removes the groups. Everything else inside is dead by now."""
        self.go_back()
        end = time.monotonic() + 5
        for group, _ in self.made:
            while not self._remove(group) and time.monotonic() < end:
                time.sleep(0.01)


def _dev(root: Path) -> None:
    """A /dev of decoys: the five harmless devices, terminals of a new instance, a secret and a FIFO."""
    dev = root / "dev"
    dev.mkdir()
    mount("decoy", dev, "tmpfs", 0, "mode=755,size=1m")
    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        os.mknod(dev / name, 0o020666, os.makedev(1, minor))
        os.chmod(dev / name, 0o666)
    os.mknod(dev / "tty", 0o020666, os.makedev(5, 0))
    os.chmod(dev / "tty", 0o666)
    for name in ("shm", "pts", "mqueue"):
        (dev / name).mkdir()
    mount("decoy", dev / "pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0666")
    (dev / "ptmx").symlink_to("pts/ptmx")
    mount("decoy", dev / "shm", "tmpfs", 0, "mode=1777,size=64m")
    mount("decoy", dev / "mqueue", "mqueue")
    os.mkfifo(dev / "decoy-console")
    os.chmod(dev / "decoy-console", 0o666)


def _image(root: Path, store: int) -> None:
    """The image store with decoys in the Python image: what a hostile image may hold, and bait.

    A copy-on-write view: nothing of the store itself can be written.
    """
    lower, layer = root / "store", root / "layer"
    _bind(store, lower)
    for name in ("upper", "work"):
        (layer / name).mkdir(parents=True)
    merged = root / STORE.relative_to("/")
    merged.mkdir(parents=True)
    mount("decoy", merged, "overlay", 0, f"lowerdir={lower},upperdir={layer}/upper,workdir={layer}/work")
    digest = (merged / "names/python").read_text().strip().removeprefix("sha256:")
    rootfs = merged / "sha256" / digest / "rootfs"
    (rootfs / "usr/lib/casemate").mkdir(exist_ok=True)
    decoy = rootfs / "decoy"
    decoy.mkdir()
    for name in ("writable", "lock", "lease", "watched"):
        (decoy / name).write_text("bait\n")
        os.chmod(decoy / name, 0o666)
    os.chown(decoy / "lease", SLOT_ID, SLOT_ID)
    for number in range(4):
        (decoy / f"door{number}").write_text("bait\n")
    os.chown(decoy, SLOT_ID, SLOT_ID)
    os.mknod(decoy / "device", 0o020666, os.makedev(1, 5))
    os.chmod(decoy / "device", 0o666)
    shutil.copy(rootfs / "usr/bin/sleep", decoy / "setid")
    os.chown(decoy / "setid", NEST_ID, NEST_ID)
    os.chmod(decoy / "setid", 0o4755)
    (root / "decoy/image").symlink_to(Path("/") / decoy.relative_to(root))


def _ordinary_user(root: Path) -> None:
    """What a host has for an ordinary user: names, subordinate ids, a home, a runtime directory."""
    with (root / "etc/passwd").open("a") as passwd:
        passwd.write(f"{WHO.name}:x:{WHO.uid}:{WHO.uid}::{WHO.home}:/bin/sh\n")
    for name in ("subuid", "subgid"):
        (root / "etc" / name).write_text(subordinate_line(f"/etc/{name}", WHO.name) + "\n")
    for place, mode in ((WHO.home, 0o755), (WHO.instances.parent, 0o700)):
        own = root / place.relative_to("/")
        own.mkdir(parents=True)
        os.chown(own, WHO.uid, WHO.uid)
        own.chmod(mode)
    stub = root / "systemd-run"
    stub.write_text(_SCOPE)
    stub.chmod(0o755)
    mount(str(stub), root / "usr/bin/systemd-run", None, _MS_BIND)


def _host_files(root: Path, libraries: int, tests: int, binaries: int) -> None:
    """Read-only programs, and files that look like a host's."""
    _bind(libraries, root / "usr")
    for name in os.listdir("/"):
        if os.path.islink(f"/{name}") and os.readlink(f"/{name}").startswith("usr/"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
    _bind(tests, root / "escape")
    _bind(binaries, root / "casemate")
    etc = root / "etc"
    etc.mkdir()
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\noperator:x:1001:1001::/home/operator:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\n")
    if WHO.uid != 0:
        _ordinary_user(root)
    if os.path.exists("/etc/ld.so.cache"):
        shutil.copy("/etc/ld.so.cache", etc / "ld.so.cache")
    for name, mode in (("tmp", 0o1777), ("run", 0o755), ("decoy", 0o755), ("proc", 0o755), ("sys", 0o755)):
        (root / name).mkdir(exist_ok=True)
        os.chmod(root / name, mode)


def _network() -> None:
    """Two addresses on lo, so that a sink can listen on what looks like the outside."""
    import fcntl
    import socket
    import struct

    def address(text: str) -> bytes:
        return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
        fcntl.ioctl(control, 0x8916, struct.pack("16s16s", b"lo:1", address(ADDRESS)))  # SIOCSIFADDR
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
            raw = socket.inet_pton(socket.AF_INET6, ADDRESS6)
            fcntl.ioctl(control, 0x8916, struct.pack("16sIi", raw, 128, socket.if_nametoindex("lo")))
    except OSError:
        pass  # A host without IPv6.


def _enter(groups: Groups, binaries: str, store: str) -> None:
    """Makes the namespaces and the root of the outer box and lets go of the host's."""
    tests = str(Path(__file__).resolve().parent)
    _check(
        _LIBC.unshare(_CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS | _CLONE_NEWCGROUP),
        "unshare",
    )
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    # The last two are the warden's protocol and a driver for it (pair_watch.py).
    paths = ("/usr", tests, binaries, store, f"{tests}/../../src/frame", f"{tests}/../cleanup")
    sources = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in paths]
    root = Path("/tmp")  # Covered in this namespace alone; what lies below it was opened above.
    mount("decoy", root, "tmpfs", 0, "mode=755,size=512m")
    _host_files(root, sources[0], sources[1], sources[2])
    _bind(sources[4], root / "src/frame")
    _bind(sources[5], root / "tests/cleanup")
    _dev(root)
    _image(root, sources[3])
    mount("proc", root / "proc", "proc")
    base = root / "sys/fs/cgroup"
    base.mkdir(parents=True)
    for point, options in groups.hierarchies:
        here = base / Path(point).name if point != "/sys/fs/cgroup" else base
        here.mkdir(exist_ok=True)
        mount("cgroup", here, "cgroup" if options else "cgroup2", 0, options or None)
        if not options:
            _stand_aside(here)
    for source in sources:
        os.close(source)
    os.chdir(root)
    _check(_LIBC.syscall(_SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    _check(_LIBC.umount2(b".", _MNT_DETACH), "detach the host's tree")
    os.chdir("/")
    _network()
    _check(_LIBC.sethostname(HOST_NAME.encode(), len(HOST_NAME)), "sethostname")
    # No neighbour shares its number with a process of a box, whose numbers start at 1.
    Path("/proc/sys/kernel/ns_last_pid").write_text("9000")
    for capability in _CAPABILITIES_DROPPED:
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _serve() -> None:
    """Answers requests until there are no more."""
    sys.path[0] = "/escape"  # where this folder is now
    sys.dont_write_bytecode = True
    from watch import Watch

    watch = Watch()
    for line in sys.stdin:
        answer: dict[str, Any]
        try:
            answer = watch.run(**json.loads(line))
        except Exception as error:  # The parent prints it; the outer box goes on.
            import traceback

            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


def main() -> int:
    """The first process: control groups, time limit, and the end of all."""
    binaries, store, seconds = sys.argv[1:4]
    groups = Groups()
    try:
        groups.limit()
        groups.enter()
        _check(_LIBC.unshare(_CLONE_NEWPID), "unshare the pid namespace")
        child = os.fork()
        if child == 0:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            try:
                _enter(groups, binaries, store)
                print(json.dumps({"ready": True}), flush=True)
                _serve()
            except BaseException as error:
                print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
                os._exit(1)
            os._exit(0)
        groups.go_back()
        end = time.monotonic() + float(seconds)
        pidfd = os.pidfd_open(child)
        import select

        select.select([pidfd], [], [], max(0.0, end - time.monotonic()))
        os.kill(child, signal.SIGKILL)  # A no-op for one that has ended and is not reaped yet.
        os.waitpid(child, 0)
    finally:
        groups.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
