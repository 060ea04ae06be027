"""Makes the machine's disks: a Debian 12 from its packages (cached), and what is tested (every time).

Nothing is mounted: mke2fs copies a directory into a new file system by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNELS = {"amd64": "linux-image-amd64", "cloud": "linux-image-cloud-amd64"}

# What a server of Debian 12 has, the packages that casemate's image is made of, and what its tests use.
PACKAGES = (
    "systemd systemd-sysv libpam-systemd dbus dbus-user-session udev kmod initramfs-tools "
    "uidmap passwd util-linux mount procps iproute2 strace "
    "bash coreutils dash diffutils findutils grep gzip hostname mawk sed tar "
    "python3 python3-numpy python3-pandas python3-matplotlib python3-pytest"
).split()

# Left out of the file system: documentation, and the drivers of hardware that the machine has not got.
LEFT_OUT = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/include/boost/*"] + [
    f"/lib/modules/*/kernel/{folder}/*"
    for folder in (
        "sound", "drivers/gpu", "drivers/media", "drivers/net/ethernet", "drivers/net/wireless", "drivers/scsi",
        "drivers/infiniband", "drivers/iio", "drivers/staging", "drivers/usb", "drivers/hid", "drivers/isdn",
    )
]  # fmt: skip

# The file is sparse: what the guest may use, not what is used here.
DISK_MIB = 6144

# Where the tester's subordinate ids begin, and how many there are: what adduser gives on Debian.
SUBORDINATE = "100000:65536"

# Runs in the new system, as root. The session of the tests is on the other disk.
SET_UP = f"""set -eu
useradd --create-home --shell /bin/bash --uid 1000 tester
echo tester:{SUBORDINATE} >/etc/subuid
echo tester:{SUBORDINATE} >/etc/subgid
# `loginctl enable-linger tester`, which needs a running logind: the user's manager starts at boot.
mkdir -p /var/lib/systemd/linger
touch /var/lib/systemd/linger/tester
echo box61 >/etc/hostname
printf '127.0.0.1 localhost box61\\n' >/etc/hosts
mkdir -p /opt/casemate
cat >/etc/fstab <<'END'
LABEL=root     /             ext4 defaults,noatime 0 0
LABEL=payload  /opt/casemate ext4 ro,nosuid,nodev 0 0
END
cat >/etc/systemd/system/casemate-tests.service <<'END'
[Unit]
Description=Tests of casemate on this kernel
After=multi-user.target user@1000.service systemd-user-sessions.service
Wants=user@1000.service
RequiresMountsFor=/opt/casemate
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=exec
ExecStart=/usr/bin/python3 -B /opt/casemate/tests/kernel61/inside/session.py
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
TimeoutStartSec=infinity

[Install]
WantedBy=graphical.target
END
systemctl --quiet enable casemate-tests.service
systemctl --quiet set-default graphical.target
systemctl --quiet mask getty@tty1.service serial-getty@ttyS0.service apt-daily.timer apt-daily-upgrade.timer \
  dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-networkd.service \
  systemd-update-utmp-runlevel.service
"""


class PrepareError(Exception):
    """A disk cannot be made; the message says what to do."""


@dataclass(frozen=True)
class System:
    """A Debian that can be booted."""

    kernel: Path
    initrd: Path
    disk: Path
    made_seconds: float  # 0 when it was there already


def _run(command: list[str], log: Path) -> None:
    with log.open("ab") as out:
        out.write((" ".join(command) + "\n").encode())
        out.flush()
        ended = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode != 0:
        raise PrepareError(f"{command[0]} ended with exit code {ended.returncode}; {log} has its output")


def _make_ext4(source: Path, disk: Path, label: str, mib: int, log: Path) -> None:
    """Packs a directory into a new ext4 of `mib` MiB; the file is sparse."""
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        file.truncate(mib << 20)
    mke2fs = shutil.which("mke2fs") or "/sbin/mke2fs"
    _run(
        [mke2fs, "-q", "-t", "ext4", "-L", label, "-m", "0", "-E", "root_owner=0:0", "-d", str(source), str(disk)], log
    )


def _bootstrap(root: Path, kernel: str, log: Path) -> None:
    mmdebstrap = shutil.which("mmdebstrap")
    if mmdebstrap is None:
        raise PrepareError("mmdebstrap is not installed: apt-get install mmdebstrap")
    command = [mmdebstrap, "--mode=root", "--variant=minbase", "--quiet"]
    command += [f"--include={','.join([*PACKAGES, KERNELS[kernel]])}"]
    command += ['--aptopt=Apt::Install-Recommends "false"']
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    # Before the kernel's package makes its initrd: all modules that are there, as Debian's installer says.
    command += ['--customize-hook=chroot "$1" sh -c "$CASEMATE_SET_UP"', "bookworm", str(root)]
    os.environ["CASEMATE_SET_UP"] = SET_UP
    _run(command, log)


def prepare_system(folder: Path, kernel: str) -> System:
    """Makes the system disk, or takes the one that the same recipe made before.

    `folder` holds what is kept. Takes minutes and the network (Debian's mirrors) the first time.
    """
    recipe = hashlib.sha256(repr((PACKAGES, LEFT_OUT, SET_UP, KERNELS[kernel], DISK_MIB)).encode()).hexdigest()[:16]
    made = folder / f"system-{kernel}"
    system = System(made / "vmlinuz", made / "initrd", made / "root.ext4", 0.0)
    stamp = made / "recipe"
    if stamp.exists() and stamp.read_text() == recipe:
        return system
    if os.geteuid() != 0:
        raise PrepareError("making the system disk needs root: its files belong to many users")
    begun = time.monotonic()
    log = folder / f"prepare-{kernel}.log"
    log.unlink(missing_ok=True)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    root = made / "root"
    _bootstrap(root, kernel, log)
    shutil.copy(next((root / "boot").glob("vmlinuz-*")), system.kernel)
    shutil.copy(next((root / "boot").glob("initrd.img-*")), system.initrd)
    _make_ext4(root, system.disk, "root", DISK_MIB, log)
    shutil.rmtree(root)
    stamp.write_text(recipe)
    return System(system.kernel, system.initrd, system.disk, time.monotonic() - begun)


@dataclass(frozen=True)
class PayloadSpec:
    """What is tested. `options` are for the session in the guest; `store` is an image store or nothing."""

    repository: Path
    build: Path
    options: dict[str, Any]
    store: Path | None


def make_payload(spec: PayloadSpec, disk: Path, log: Path) -> None:
    """Packs the built programs and the tests as they are now, in the places where a checkout has them."""
    repository, build = spec.repository, spec.build
    for name in ("bin/casemate", "bin/casemate-warden", "share/casemate/guest"):
        if not (build / name).exists():
            raise PrepareError(f"{build / name} is missing; build it first: tools/build {build.name}")
    tree = disk.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    programs = tree / "build/dev/bin"
    programs.mkdir(parents=True)
    for program in sorted((build / "bin").iterdir()):
        if program.suffix != ".map" and (program.name.startswith("casemate") or program.name.endswith("_test")):
            shutil.copy(program, programs / program.name)
    without = shutil.ignore_patterns("__pycache__", "*.pyc", "*.ext4")
    shutil.copytree(build / "share", tree / "build/dev/share", symlinks=True, ignore=without)
    for part in sorted(repository.iterdir()):
        if part.name in ("build", "out", ".git"):
            continue
        if part.is_dir():
            shutil.copytree(part, tree / part.name, symlinks=True, ignore=without)
        else:
            shutil.copy(part, tree / part.name)
    (tree / "options.json").write_text(json.dumps(spec.options))
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    if spec.store is not None:
        _run(["cp", "-a", str(spec.store), str(tree / "images")], log)
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    _make_ext4(tree, disk, "payload", (size >> 20) * 5 // 4 + 128, log)
    shutil.rmtree(tree)
