"""Observers that read what came out of the box: secrets that it cannot know, and its own word."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from guest_file import ISOLATION
from observers.base import Observer
from outer_box import DECOY, HOST_NAME

if TYPE_CHECKING:
    from watch import Run


class SecretInOutput(Observer):
    """The secret stands in world-readable files and other places of the host; did it come out?"""

    def prepare(self) -> None:
        (DECOY / "secret").write_text(self.secret + "\n")
        Path("/dev/decoy-secret").write_text(self.secret + "\n")
        self.environment = {"XDG_RUNTIME_DIR": f"/run/{self.secret}"}

    def verdict(self, run: Run) -> str | None:
        return "the host's secret came out" if self.secret in run.text else None


class RootSecretInOutput(SecretInOutput):
    """The secret stands in a file of mode 0600 that belongs to root, and nowhere else."""

    def prepare(self) -> None:
        (DECOY / "shadow").write_text(self.secret + "\n")
        os.chmod(DECOY / "shadow", 0o600)


class KnownWordInOutput(Observer):
    """Something of the host's that is not made for the test: its name, its boot id, a path."""

    words: tuple[str, ...] = ()

    def verdict(self, run: Run) -> str | None:
        stdout = run.outcome.get("stdout", {}).get("text", "")
        found = [word for word in self.words if word in stdout]
        return f"the box knows {found[0]!r}" if found else None


class HostNameInOutput(KnownWordInOutput):
    """The host's name."""

    words = (HOST_NAME,)


class BootIdInOutput(KnownWordInOutput):
    """The host's boot id, out of /proc/sys."""

    def prepare(self) -> None:
        self.words = (Path("/proc/sys/kernel/random/boot_id").read_text().strip(),)


class WardenPathInOutput(KnownWordInOutput):
    """The path of a program that runs outside."""

    words = ("/casemate/bin/",)


class StorePathInOutput(KnownWordInOutput):
    """Where the host keeps its images."""

    # What a machine's own kernel has mounted is at names of that kernel's.
    words = ("/rootfs", "/var/lib/casemate") if ISOLATION == "microvm" else ("/rootfs / ", "lowerdir=/")


class GroupNameInOutput(KnownWordInOutput):
    """The name of the box's control group."""

    words = ("/casemate.i",)


class OwnWord(Observer):
    """The guest's own word for a call's answer: a line with `reached`.

    A filter's answers cannot be seen from outside; that the same lines change when a wall is off
    shows that the guest asks what it says.
    """

    def verdict(self, run: Run) -> str | None:
        stdout = run.outcome.get("stdout", {}).get("text", "")
        lines = re.findall(r"^(.*) reached\b.*$", stdout, re.MULTILINE)
        return "answered by the kernel: " + ", ".join(lines) if lines else None
