"""Clean-up against the real kernel: a step that fails, a process that is killed, two runs at once.

These tests need root, for they look into the wardens' descriptors, and two programs that the build
leaves beside casemate: casemate-test, which can make a step fail, and the wardens.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import remains  # noqa: E402
from e2e.conftest import Casemate, casemate, nothing_left, runtime  # noqa: E402
from warden import Warden  # noqa: E402

__all__ = ["casemate", "nothing_left", "runtime"]

STORE = Path("/var/lib/casemate/images")


@pytest.fixture(scope="session", autouse=True)
def as_root() -> None:
    """Skips everything for an ordinary user."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the tests look into other processes and write control groups")


@pytest.fixture(scope="session")
def binaries(casemate: Casemate) -> Path:
    """The folder of the programs under test; the image is made on the first call."""
    ended = casemate.python("print(1)", timeout=400.0)
    assert ended.outcome["status"] == "ok", ended
    return casemate.binary.resolve().parent


@pytest.fixture(scope="session")
def casemate_test(casemate: Casemate, binaries: Path) -> Casemate:
    """The build with hooks."""
    with_hooks = copy.copy(casemate)
    with_hooks.binary = binaries / "casemate-test"
    return with_hooks


@pytest.fixture(scope="session")
def image(casemate: Casemate, binaries: Path) -> Path:
    """The root file system that runs get."""
    digest = casemate.python("pass").outcome["image_digest"]
    rootfs: Path = STORE / "sha256" / digest.removeprefix("sha256:") / "rootfs"
    assert rootfs.is_dir(), rootfs
    return rootfs


@pytest.fixture(scope="session")
def guest_tree(binaries: Path) -> Path:
    """What is laid over every image."""
    return binaries.parent / "share" / "casemate" / "guest"


@pytest.fixture
def warden(binaries: Path, image: Path, guest_tree: Path) -> Iterator[Warden]:
    """One warden, as it is released."""
    with Warden(binaries / "casemate-warden", image, guest_tree) as running:
        yield running


@pytest.fixture
def warden_test(binaries: Path, image: Path, guest_tree: Path) -> Iterator[Warden]:
    """One warden in which a step can be made to fail."""
    with Warden(binaries / "casemate-warden-test", image, guest_tree) as running:
        yield running


@pytest.fixture
def before(binaries: Path) -> remains.Picture:
    """What there was before the test."""
    return remains.look(binaries)
