"""Importing OCI archives: ours come back as they were and run, hostile ones leave nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import Casemate, Ended, wait_for
from oci_archive import Archive, Layer

TRUSTED = ("run", "--trust", "trusted")
# Of the default image: an interpreter without the packages that were added to it.
SUBSET = ["bin", "lib", "lib64", "etc/passwd", "usr/bin/python3*", "usr/lib64/*", "usr/lib/python3*/*.py",
          "usr/lib/python3*/[a-z]*/**/*.py", "usr/lib/python3*/lib-dynload/*", "usr/lib/*-linux-gnu/ld-*",
          "usr/lib/*-linux-gnu/lib[cmz].so*", "usr/lib/*-linux-gnu/libexpat.so*", "usr/lib/ld-*"]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a test's images go. A box's user is nobody that pytest's own folders let in."""
    return tmp_path / "store"


@pytest.fixture(scope="session")
def default_root(casemate: Casemate) -> Path:
    """The root of the default image, which is built if it was not yet."""
    assert casemate.call(*TRUSTED, "-c", "pass", timeout=300).exit_code == 0
    return Path(casemate.call("image", "inspect", "python", "--json").outcome["rootfs"])


def subset_of(root: Path) -> Layer:
    """An interpreter and what it needs, as a layer."""
    paths = {str(path.relative_to(root)) for pattern in SUBSET for path in root.glob(pattern)}
    files = sorted(path for path in paths if not (root / path).is_dir() or (root / path).is_symlink())
    return Layer().add_tree(root, [path for path in files if "/test" not in path and "idlelib" not in path])


def imported(casemate: Casemate, store: Path, archive: Path, *args: str) -> Ended:
    """Imports into the test's own store."""
    return casemate.call("image", "import", archive, "--store", store, *args)


def is_empty(store: Path) -> bool:
    """Whether there is no image, name or draft in a store."""
    return not any(list((store / name).iterdir()) for name in ("sha256", "names", "tmp") if (store / name).is_dir())


def refused(ended: Ended, store: Path, *parts: str, exit_code: int = 2) -> None:
    """One line says why, and nothing is left."""
    assert ended.exit_code == exit_code and ended.stdout == b"", ended
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("casemate image: ") and "\x1b" not in last and len(last) < 1000, last
    for part in parts:
        assert part in last, last
    assert is_empty(store)


def test_an_image_of_ours_comes_back_and_runs(casemate: Casemate, store: Path, default_root: Path, tmp_path: Path) -> None:
    over = Layer().add("etc/.wh.passwd").add("opt/data.txt", b"of the second layer", mode=0o600)
    archive = Archive([subset_of(default_root), over], packed=True).write(tmp_path / "mine.tar")
    ended = imported(casemate, store, archive)
    assert ended.exit_code == 0 and ended.stdout.startswith(b"mine sha256:"), ended
    assert b"2 layers" in ended.stdout

    listed = casemate.call("image", "list", "--store", store)
    assert listed.exit_code == 0 and listed.stdout.startswith(b"mine "), listed
    verified = casemate.call("image", "verify", "mine", "--store", store)
    assert verified.exit_code == 0 and b"no fault" in verified.stdout, verified
    about = casemate.call("image", "inspect", "mine", "--store", store, "--json").outcome
    assert about["packages"] == [] and about["links"] > 0
    assert b"of an OCI archive" in casemate.call("image", "inspect", "mine", "--store", store).stdout

    code = "import os; print(open('/opt/data.txt').read(), os.path.exists('/etc/passwd'), os.getcwd())"
    ran = casemate.run("--store", store, "--image", "mine", "-c", code)
    assert ran.outcome["status"] == "ok", ran.outcome["report"]
    assert "of the second layer False /vol/work" in ran.outcome["report"]


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (lambda: Layer().add("/etc/cron.d/x", b"x"), "absolute"),
        (lambda: Layer().add("../../x", b"x"), "'..'"),
        (lambda: Layer().add("l", kind=tarfile.SYMTYPE, target="/tmp").add("l/escaped", b"x"), "a link leads to it"),
        (lambda: Layer().add("h", kind=tarfile.LNKTYPE, target="/etc/passwd"), "absolute"),
        (lambda: Layer().add("h", kind=tarfile.LNKTYPE, target="../../../etc/passwd"), "'..'"),
        (lambda: Layer().add("f", b"1").add("f", b"2"), "comes twice"),
        (lambda: Layer().add("l", kind=tarfile.SYMTYPE, target="/tmp/x").add("l", b"x"), "comes twice"),
        (lambda: Layer().add("proc", kind=tarfile.SYMTYPE, target="/"), "must be a directory"),
        (lambda: Layer().add("work/x", b"x"), "/work must be"),
        (lambda: Layer().add("d/" * 70 + "x", b"x"), "too deep"),
        (lambda: Layer().add("p" * 2000, b"x"), "too long"),
        (lambda: Layer().add("\x1b[31m/../x", b"x"), "'..'"),
    ],
    ids=["absolute", "dots", "through_link", "hard_link_absolute", "hard_link_dots", "twice", "link_then_file", "mount_point",
         "work", "deep", "long", "escape_sequence"],
)  # fmt: skip
def test_hostile_entries_leave_nothing(casemate: Casemate, store: Path, tmp_path: Path, layer: object, said: str) -> None:
    assert callable(layer)
    refused(imported(casemate, store, Archive([layer()]).write(tmp_path / "hostile.tar")), store, said, "hostile.tar")
    assert not Path("/tmp/escaped").exists()


def test_what_a_box_must_not_have_is_left_behind(casemate: Casemate, store: Path, tmp_path: Path) -> None:
    layer = Layer().add("dev/sda", kind=tarfile.BLKTYPE).add("run/pipe", kind=tarfile.FIFOTYPE)
    layer.add("su", b"x", mode=0o6777).add("ping", b"x", mode=0o755, pax={"SCHILY.xattr.security.capability": "x"})
    ended = imported(casemate, store, Archive([layer]).write(tmp_path / "odd.tar"))
    assert ended.exit_code == 0 and "left out 2 devices" in ended.stderr and "no /usr/bin/python3" in ended.stderr
    root = Path(casemate.call("image", "inspect", "odd", "--store", store, "--json").outcome["rootfs"])
    assert (root / "su").stat().st_mode & 0o7777 == 0o755 and (root / "su").stat().st_uid == os.geteuid()
    assert not os.listxattr(root / "ping") and not list((root / "dev").iterdir()) and not (root / "run").exists()


def test_a_blob_that_was_exchanged_is_refused(casemate: Casemate, store: Path, tmp_path: Path) -> None:
    archive = Archive([Layer().add("f", b"1")])
    name = next(name for name in tarfile.open(archive.write(tmp_path / "a.tar")).getnames() if name.startswith("blobs/"))
    archive.files[name] = b"{}"
    refused(imported(casemate, store, archive.write(tmp_path / "a.tar")), store, "does not have the digest")


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "tar"), (b"x" * 5000, "tar"), (b"\x1f\x8b\x08" + b"x" * 100, ""), (bytes(10240), "no index.json")],
)
def test_what_is_no_archive_is_one_line(casemate: Casemate, store: Path, tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "no.tar").write_bytes(data)
    refused(imported(casemate, store, tmp_path / "no.tar"), store, said)


def test_names_are_asked_for_where_they_matter(casemate: Casemate, store: Path, tmp_path: Path) -> None:
    archive = Archive([Layer().add("f", b"1")]).write(tmp_path / "python.tar")
    # The image that runs use when none is named does not change by the way.
    refused(imported(casemate, store, archive), store, "--name")
    # Nor does the one that virtual machines are run in.
    refused(imported(casemate, store, archive.rename(tmp_path / "microvm.tar")), store, "--name")
    archive = Archive([Layer().add("f", b"1")]).write(tmp_path / "python.tar")
    refused(imported(casemate, store, tmp_path / "nowhere.tar"), store, "No such file")
    refused(imported(casemate, store, tmp_path), store, "directory")
    refused(imported(casemate, store, archive, "--name", "../x"), store, "cannot be an image's name")
    assert imported(casemate, store, archive, "--name", "python").exit_code == 0
    other = archive.rename(tmp_path / "other.tar")
    assert imported(casemate, store, other).exit_code == 0
    again = imported(casemate, store, other)
    assert again.exit_code == 2 and "already" in again.stderr
    assert imported(casemate, store, other, "--name", "other").exit_code == 0
    piped = casemate.call("image", "import", "-", "--store", store, "--name", "piped", stdin=other.read_bytes())
    assert piped.exit_code == 0, piped


def test_a_full_disk_is_one_line(casemate: Casemate, tmp_path: Path) -> None:
    archive = Archive([Layer().add("large", bytes(8 << 20))]).write(tmp_path / "large.tar")
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=4m tmpfs small && "$0" image import large.tar --store small/s; echo $?; ls small/s/tmp'
    ended = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, casemate.binary], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    if "unshare" in ended.stderr or "mount:" in ended.stderr:
        pytest.skip("no user namespace in which a test may mount a small file system")
    assert ended.stdout == "4\n", ended
    assert ended.stderr.splitlines()[-1].startswith("casemate image: large.tar: no space is left for the image store"), ended


def test_a_killed_import_leaves_nothing_for_long(casemate: Casemate, store: Path, tmp_path: Path) -> None:
    data = Archive([Layer().add("large", bytes(4 << 20))]).write(tmp_path / "a.tar").read_bytes()
    process = casemate.start("image", "import", "-", "--store", store, "--name", "killed")
    assert process.stdin is not None
    process.stdin.write(data[: len(data) // 2])
    process.stdin.flush()
    assert wait_for(lambda: (store / "tmp").is_dir() and any((store / "tmp").iterdir()), 10)
    process.kill()
    process.communicate()
    assert not list((store / "names").iterdir())
    ended = imported(casemate, store, tmp_path / "a.tar")
    assert ended.exit_code == 0 and not list((store / "tmp").iterdir()), ended
    shutil.rmtree(store)
