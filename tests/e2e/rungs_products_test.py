"""Products on every rung: what a program leaves is collected, or is not, as it is in the jail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Casemate
from rungs import on, outcome_of

RUNGS = on("gvisor", "gvisor hot", "microvm", "microvm hot")
MIB = 1 << 20

# One file of each kind; its name says which.
KINDS = """
import os
os.makedirs("d/e/f"); os.mkdir("directory"); os.mkfifo("fifo")
for path in ("plain", "twice", "d/one", "d/e/two", "d/e/f/three", "shut", "/tmp/outside", "a b", "\\u00e4\\u4f60"):
    open(path, "w").write("kept: " + path)
os.link("twice", "again"); os.symlink("plain", "link"); os.symlink("d", "linked"); os.chmod("shut", 0)
os.symlink("/etc/passwd", "away"); os.symlink("loop", "loop"); open("empty", "w")
with open("sparse", "wb") as file:
    file.truncate(100 << 20); file.seek(50 << 20); file.write(b"middle")
import socket; socket.socket(socket.AF_UNIX).bind("socket")
"""
NAMES = ("link", "away", "loop", "directory", "fifo", "socket", "missing", "twice", "again", "sparse", "linked/one",
         "d/one", "d/e/two", "d/e/f/three", "d", "empty", "shut", "./plain", "d//one", "plain/x",
         "a b", "\u00e4\u4f60")  # fmt: skip
# Also what a request may not name, but a program's runner may.
DECLARED = (*NAMES, "d/../plain", "../tmp/outside", "../../etc/passwd", "/etc/passwd", "..", ".", "n" * 300, "/tmp/outside",
            "/vol/work/link", "/vol/work/fifo", "/work/twice", "/vol/work/d/../plain", "/vol", "/vol/../etc/passwd")  # fmt: skip
# As a program would that does not ask first whether the file is one.
DECLARE = KINDS + """
from casemate import _wire
channel = _wire.Channel(3)
for path in %s:
    channel.send(_wire.ARTIFACT, _wire.field(_wire.TAG_PATH, path.encode()))
"""
# Of these a stronger rung may say that there is no such file where the jail says that it is none: a machine's kernel
# follows no link on the way, and gVisor has pipes and sockets of its own.
NOT_THERE = ("one", "fifo", "socket")


def told(outcome: dict[str, Any], out: Path) -> list[Any]:
    """Each product by name, state and reason; what is stored is as the outcome says, and nothing else is there."""
    stored = [one for one in outcome["artifacts"] if one["state"] == "stored"]
    assert sorted(one["uri"] for one in stored) == sorted(str(path) for path in out.glob("*")), outcome
    assert all(Path(one["uri"]).stat().st_size == one["bytes"] for one in stored), outcome
    keys = ("name", "state", "bytes", "sha256", "description", "summary", "media_type")
    found = [tuple(one.get(key, "") for key in keys) for one in outcome["artifacts"]]
    return [(*one[:4], "", *one[5:]) if one[0] in NOT_THERE and one[1] == "failed" else one for one in found]


def of_rung(casemate: Casemate, rung: str, code: str, out: Path, *options: str) -> list[Any]:
    limits = ("--disk", "16MiB", "--file-size", "128MiB", "--out", str(out))
    outcome = outcome_of(casemate, rung, code, *limits, *options)
    assert outcome["status"] == "ok", outcome
    return told(outcome, out)


@pytest.mark.parametrize("rung", RUNGS)
def test_what_a_program_declares(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    code = DECLARE % json.dumps(DECLARED)
    jail = of_rung(casemate, "jail", code, tmp_path / "jail")
    assert of_rung(casemate, rung, code, tmp_path / "rung") == jail
    assert len({one[4:5] for one in jail}) >= 3 and sum(one[1] == "stored" for one in jail) >= 8, jail


@pytest.mark.parametrize("rung", RUNGS)
def test_what_a_request_names(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    options = [word for name in NAMES for word in ("--artifact", name)]
    jail = of_rung(casemate, "jail", KINDS, tmp_path / "jail", *options)
    assert of_rung(casemate, rung, KINDS, tmp_path / "rung", *options) == jail
    assert len({one[4:5] for one in jail}) >= 3 and sum(one[1] == "stored" for one in jail) >= 8, jail


@pytest.mark.parametrize("rung", RUNGS)
def test_a_large_product_is_whole_and_so_are_many(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    code = (
        "import casemate, hashlib, os\ndata = os.urandom(2 << 20); open('big', 'wb').write(data)\n"
        "casemate.artifact('big'); print(hashlib.sha256(data).hexdigest())\nos.mkdir('many')\n"
        "for n in range(40):\n    open(f'many/{n}', 'w').write(str(n) * 1000); casemate.artifact(f'many/{n}')"
    )
    outcome = outcome_of(casemate, rung, code, "--out", str(tmp_path / "out"))
    by_name = {one["name"]: one for one in outcome["artifacts"]}
    assert by_name["big"]["sha256"] == outcome["stdout"]["text"].strip() and by_name["big"]["bytes"] == 2 * MIB, outcome
    for number in range(40):
        assert Path(by_name[str(number)]["uri"]).read_text() == str(number) * 1000


@pytest.mark.parametrize("rung", RUNGS)
def test_a_product_as_large_as_the_disk(casemate: Casemate, tmp_path: Path, rung: str) -> None:
    """All that the layer holds: where it is collected has the same room."""
    code = (
        "import casemate\nf = open('all', 'wb', 0)\ntry:\n    while True: f.write(b'x' * 4096)\nexcept OSError: pass\n"
        "casemate.artifact('all'); print(f.tell())"
    )
    outcome = outcome_of(casemate, rung, code, "--disk", "8MiB", "--file-size", "64MiB", "--out", str(tmp_path / "out"))
    (one,) = outcome["artifacts"]
    assert (one["state"], one["bytes"]) == ("stored", int(outcome["stdout"]["text"])), outcome
    assert one["bytes"] > 7 * MIB, outcome
