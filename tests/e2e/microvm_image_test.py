"""The image that virtual machines are run in, made of this machine's packages and Debian's cloud kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import SLOW, Casemate, Ended

QEMU = "/usr/bin/qemu-system-x86_64"
# As the machine of a box is, but for what it is started from.
MACHINE = ["-M", "microvm,acpi=on,rtc=on,pit=off,pic=off,x-option-roms=off", "-bios", "qboot.rom", "-accel", "tcg",
           "-cpu", "max,-la57", "-m", "256", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]  # fmt: skip
MODULES = {"virtio_ring", "virtio", "virtio_mmio", "virtio_console", "virtio_blk", "squashfs", "overlay"}


def built(casemate: Casemate, store: Path, *args: str) -> Ended:
    return casemate.call("image", "build", "microvm", "--store", store, *args, timeout=120)


@pytest.fixture(scope="module")
def store(casemate: Casemate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the image and nothing else."""
    folder = tmp_path_factory.mktemp("microvm") / "store"
    if subprocess.run(["apt-cache", "show", "linux-image-cloud-amd64"], capture_output=True).returncode != 0:
        subprocess.run(["apt-get", "-q", "update"], check=True, capture_output=True)  # a machine without apt's lists
    ended = built(casemate, folder)
    assert ended.exit_code == 0, ended
    return folder


@pytest.fixture(scope="module")
def root(casemate: Casemate, store: Path) -> Path:
    return Path(casemate.call("image", "inspect", "microvm", "--json", "--store", store).outcome["rootfs"])


def in_root(
    root: Path, *command: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/sbin/chroot", root, *command],
        input=stdin,
        env=env or {},
        text=True,
        capture_output=True,
        timeout=60 * SLOW,
    )


def test_two_builds_have_one_digest(casemate: Casemate, store: Path, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    first, again, second = built(casemate, store), built(casemate, store, "--force"), built(casemate, other)
    assert (first.exit_code, again.exit_code, second.exit_code) == (0, 0, 0), (first, again, second)
    assert b"up to date" in first.stdout
    assert len({ended.stdout.split()[1] for ended in (first, again, second)}) == 1
    assert os.listdir(other / "tmp") == [] and sorted(os.listdir(root.parent)) == ["about", "manifest", "rootfs"]
    about = casemate.call("image", "inspect", "microvm", "--json", "--store", store).outcome
    names = {package["name"] for package in about["packages"]}
    assert "qemu-system-x86" in names and any(
        re.fullmatch(r"linux-image-.+-cloud-amd64", name) for name in names
    ), names
    assert about["size_bytes"] < 100 << 20, "it holds little else than QEMU and a kernel"


def test_it_has_what_a_box_is_made_over(root: Path) -> None:
    for name in ("dev", "proc", "tmp", "vol", "usr/lib"):
        assert (root / name).is_dir() and not (root / name).is_symlink(), name
    assert os.readlink(root / "work") == "/vol/work" and not (root / "usr/lib/casemate").exists()


def test_its_emulator_starts_with_what_is_there(root: Path, tmp_path: Path) -> None:
    version = in_root(root, QEMU, "--version")
    assert version.returncode == 0 and version.stdout.startswith("QEMU emulator version"), version
    for file in (QEMU, "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so"):
        libraries = in_root(root, "/lib64/ld-linux-x86-64.so.2", "--list", file)
        assert libraries.returncode == 0 and "not found" not in libraries.stdout, libraries
    # The same without one of its libraries does not.
    less = tmp_path / "less"
    shutil.copytree(root, less, symlinks=True, ignore=shutil.ignore_patterns("libpixman-*", "boot"))
    assert in_root(less, QEMU, "--version").returncode != 0


def test_a_machine_runs_its_kernel(root: Path) -> None:
    """To the point at which it has no root: that needs the translator, the firmware and a kernel that fits."""
    stopped = in_root(root, QEMU, *MACHINE, "-S", "-monitor", "stdio", stdin="quit\n")
    assert stopped.returncode == 0, stopped
    append = "console=ttyS0 panic=-1 reboot=t tsc_early_khz=2000000 tsc=reliable cryptomgr.notests"
    ran = in_root(root, QEMU, *MACHINE, "-serial", "stdio", "-kernel", "/boot/vmlinuz", "-append", append)
    assert ran.returncode == 0 and "Unable to mount root fs" in ran.stdout, ran


def test_its_modules_need_no_others(root: Path) -> None:
    files = {path.stem: path.read_bytes() for path in (root / "usr/lib/microvm/modules").iterdir()}
    assert set(files) <= MODULES, "what is not there is part of the kernel"
    version = re.search(rb"\x00vermagic=(\S+)", files["squashfs"])
    assert version
    for name, content in files.items():
        depends = re.search(rb"\x00depends=([^\x00]*)\x00", content)
        assert depends and set(filter(None, depends[1].decode().split(","))) <= set(files), (name, depends)
        assert b"\x00vermagic=" + version[1] + b" " in content, name


def test_its_squashfs_is_made_once_and_is_always_the_same(casemate: Casemate, store: Path, tmp_path: Path) -> None:
    def packed(where: Path) -> Path:
        ended = casemate.call("image", "squashfs", "microvm", "--store", where)
        assert ended.exit_code == 0, ended
        return Path(ended.stdout.decode().strip())

    file = packed(store)
    before = file.stat()
    assert packed(store).stat().st_ino == before.st_ino and before.st_mode & 0o777 == 0o644
    other = tmp_path / "other"
    shutil.copytree(store, other, symlinks=True, ignore=shutil.ignore_patterns("*.squashfs"))
    assert packed(other).read_bytes() == file.read_bytes()
    assert casemate.call("image", "verify", "microvm", "--store", store).exit_code == 0
    assert os.listdir(store / "tmp") == []


@pytest.mark.parametrize(
    ("args", "exit_code", "says"),
    [
        (("nosuch",), 2, "there are python, microvm"),
        (("python", "--kernel", "x.deb"), 2, "the image python has no kernel"),
        (("microvm", "--kernel", "/nonexistent/x.deb"), 2, "No such file"),
        (("microvm", "--kernel", ""), 2, "--kernel names no file"),
        (("microvm", "--kernel", "/etc/passwd"), 2, "not a Debian format archive"),
    ],
)
def test_what_cannot_be_built_has_one_line(
    casemate: Casemate, tmp_path: Path, args: tuple[str, ...], exit_code: int, says: str
) -> None:
    ended = casemate.call("image", "build", *args, "--store", tmp_path / "store")
    last = ended.stderr.splitlines()[-1]
    assert ended.exit_code == exit_code and last.startswith("casemate image: ") and says in last, ended


def test_without_a_network_it_says_what_to_do(casemate: Casemate, tmp_path: Path) -> None:
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    ended = casemate.call("image", "build", "microvm", "--store", tmp_path / "store", env=nowhere, timeout=120)
    last = ended.stderr.splitlines()[-1]
    assert ended.exit_code == 4 and "cannot be fetched" in last and "--kernel FILE.deb" in last, ended
    assert [os.listdir(tmp_path / "store" / name) for name in ("tmp", "sha256", "names")] == [[], [], []]
