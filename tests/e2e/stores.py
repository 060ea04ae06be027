"""Stores whose images a test may spoil."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from conftest import Casemate


def copied_image(casemate: Casemate, name: str, folder: Path) -> Path:
    """Copies an image of the usual store into a folder, under its own name.

    Never as hard links: a test that is killed would leave second names for the store's own files, and
    `casemate image verify` finds fault with those, rightly.
    """
    about = json.loads(casemate.call("image", "inspect", name, "--json").stdout)
    image = Path(about["rootfs"]).parent
    subprocess.run(["cp", "-a", "--reflink=auto", image, folder / image.name], check=True)
    return folder / image.name


def store_of(store: Path, images: dict[str, Path]) -> dict[str, Path]:
    """Makes a store of copied images, by hard links to them, and says where its roots are.

    A test replaces a file in one, it does not write into it.
    """
    (store / "sha256").mkdir(parents=True)
    (store / "names").mkdir()
    (store / "tmp").mkdir()
    for name, image in images.items():
        subprocess.run(["cp", "-al", image, store / "sha256" / image.name], check=True)
        (store / "names" / name).write_text(f"sha256:{image.name}\n")
    return {name: store / "sha256" / image.name / "rootfs" for name, image in images.items()}
