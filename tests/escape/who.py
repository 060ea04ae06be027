"""Who runs the boxes of an outer box: root, or an ordinary user.

CASEMATE_ESCAPE_USER names the user, who needs subordinate ids, and CASEMATE_ESCAPE_GROUP the directory of a
cgroup v2 group that is delegated to them and has no process of its own: the outer box's groups are below
it. The outer box itself is made and looked at by root all the same.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

# Outside ids of root's instance 0 (src/jail/instance.cc): the nest's root, and the first slot.
_ROOT_NEST_ID = 1_879_048_192


@dataclass(frozen=True)
class Who:
    """A user and the outside ids of their instance 0."""

    name: str
    uid: int
    nest_id: int
    slot_id: int

    @property
    def home(self) -> Path:
        return Path("/root" if self.uid == 0 else f"/home/{self.name}")

    @property
    def instances(self) -> Path:
        """Where the locks of their instances are, without XDG_RUNTIME_DIR of a test's own."""
        return Path("/run/casemate" if self.uid == 0 else f"/run/user/{self.uid}/casemate")


def subordinate_line(file: str, name: str) -> str:
    """The line of /etc/subuid or /etc/subgid that is this user's. Raises AssertionError if there is none."""
    lines = Path(file).read_text().splitlines() if Path(file).exists() else []
    found = [line for line in lines if line.startswith(name + ":")]
    assert found, f"{name} has no line in {file}"
    return found[0]


def _find() -> Who:
    name = os.environ.get("CASEMATE_ESCAPE_USER", "root")
    if name == "root":
        return Who(name, 0, _ROOT_NEST_ID, _ROOT_NEST_ID + 1)
    uid = pwd.getpwnam(name).pw_uid
    first = {int(subordinate_line(file, name).split(":")[1]) for file in ("/etc/subuid", "/etc/subgid")}
    assert len(first) == 1 and uid == pwd.getpwnam(name).pw_gid, "the decoys have one id for user and group"
    return Who(name, uid, uid, first.pop())


WHO = _find()
