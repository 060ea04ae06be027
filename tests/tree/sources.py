"""Which files belong to the tree: what git knows or would add, or everything outside build folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_NOT_OURS = {".git", "build", "out", "casemate-out", ".cache", "__pycache__", "node_modules", ".pytest_cache"}


def tree_files(root: Path) -> list[Path]:
    """Every file of the tree, as paths relative to `root`, sorted."""
    if (root / ".git").exists():
        # safe.directory: CI may run as another user than the one who cloned.
        command = ["git", "-c", "safe.directory=*", "-C", str(root)]
        command += ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            names = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
            return sorted(Path(name) for name in names if (root / name).is_file())
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_OURS]
        found += [Path(folder, name).relative_to(root) for name in files]
    return sorted(path for path in found if (root / path).is_file())


def text_of(path: Path) -> str | None:
    """The text of a file; None when it is not UTF-8 text."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
