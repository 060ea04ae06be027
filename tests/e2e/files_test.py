"""What goes into a box and what comes out of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from conftest import Casemate


def test_a_file_goes_in_with_its_exact_bytes(casemate: Casemate, tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "data.bin").write_bytes(data)
    code = "import hashlib\nprint(hashlib.sha256(open('in/d.bin','rb').read()).hexdigest())"
    outcome = casemate.python(code, "--file", f"{tmp_path / 'data.bin'}:in/d.bin").outcome
    assert outcome["stdout"]["text"].strip() == hashlib.sha256(data).hexdigest()


def test_a_declared_product_comes_out(casemate: Casemate, tmp_path: Path) -> None:
    code = "import casemate\nopen('t.csv','w').write('a,b\\n1,2\\n')\ncasemate.artifact('t.csv', summary='two columns')"
    outcome = casemate.python(code, "--out", str(tmp_path / "out")).outcome
    assert outcome["status"] == "ok", outcome["report"]
    (artifact,) = outcome["artifacts"]
    assert artifact["state"] == "stored"
    assert artifact["bytes"] == 8
    assert (tmp_path / "out" / "t.csv").read_text() == "a,b\n1,2\n"


def test_what_was_not_declared_stays_inside(casemate: Casemate, tmp_path: Path) -> None:
    outcome = casemate.python("open('t.csv','w').write('a')", "--out", str(tmp_path / "out")).outcome
    assert outcome["artifacts"] == []
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_a_link_is_never_followed_out_of_the_box(casemate: Casemate, tmp_path: Path) -> None:
    code = "import os, casemate\nos.symlink('/etc/hostname', 'x')\ncasemate.artifact('x')"
    outcome = casemate.python(code, "--out", str(tmp_path / "out")).outcome
    assert all(artifact["state"] != "stored" for artifact in outcome["artifacts"])
    assert not (tmp_path / "out" / "x").exists()


def test_a_second_run_sees_nothing_of_the_first(casemate: Casemate) -> None:
    casemate.python("open('left.txt','w').write('a')\nopen('/tmp/left.txt','w').write('a')")
    code = "import os\nprint(sorted(os.listdir('.')), sorted(os.listdir('/tmp')))"
    assert "left" not in casemate.python(code).outcome["stdout"]["text"]
