"""Rows of reference kind `artifacts`: products come out whole, and nothing else comes out with them."""

from __future__ import annotations

import hashlib
import signal
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate

MIB = 1 << 20
PNG = b"\x89PNG\r\n\x1a\n"


def products(
    casemate: Casemate, tmp_path: Path, code: str, *options: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The outcome of a run and its artifacts; what is stored is there, and nothing else is."""
    out = tmp_path / "products"
    outcome = casemate.python(code, *options, f"--out={out}").outcome
    stored = [artifact for artifact in outcome["artifacts"] if artifact["state"] == "stored"]
    for artifact in stored:
        data = Path(artifact["uri"]).read_bytes()
        assert artifact["bytes"] == len(data)
        assert artifact["sha256"] == hashlib.sha256(data).hexdigest()
        assert artifact["volume_id"] == outcome["volume"]["id"]
    assert sorted(str(path) for path in out.iterdir()) == sorted(artifact["uri"] for artifact in stored)
    return outcome, outcome["artifacts"]


BARS = "import matplotlib.pyplot as plt\nplt.bar(['A', 'B', 'C'], [100, 200, 300], label='sold'); plt.xlabel('who'); plt.ylabel('n')"


@pytest.mark.parametrize("end", ["plt.show()", "pass", "1/0", "import sys\nsys.exit(3)"])
def test_B071_a_figure_is_a_picture(casemate: Casemate, tmp_path: Path, end: str) -> None:
    outcome, (artifact,) = products(casemate, tmp_path, f"{BARS}\n{end}")
    assert (artifact["state"], artifact["media_type"]) == ("stored", "image/png"), outcome["report"]
    assert Path(artifact["uri"]).read_bytes().startswith(PNG)
    assert artifact["summary"] == "n by who"
    assert f"[artifact {artifact['id']} image/png" in outcome["report"]
    assert outcome["stderr"]["text"] == ""


def test_B071_each_figure_once(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1]); plt.title('shown'); plt.show(); plt.show()\n"
        "plt.figure(); plt.plot([2]); plt.title('saved'); plt.savefig('own.png')\n"
        "plt.figure(); plt.plot([3]); plt.title('open')\nplt.figure(); plt.close()"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert [artifact["summary"] for artifact in artifacts] == ["shown", "saved", "open"], outcome["report"]
    assert artifacts[1]["name"] == "own.png"


@pytest.mark.parametrize(
    "declare", ["casemate.artifact('c.png', summary='mine')", "casemate.artifact('/work/./c.png', summary='mine')"]
)
def test_B071_a_picture_that_is_saved_and_declared_is_one(casemate: Casemate, tmp_path: Path, declare: str) -> None:
    code = f"import casemate, matplotlib.pyplot as plt\nplt.plot([1]); plt.title('t'); plt.savefig('c.png')\n{declare}"
    _, (artifact,) = products(casemate, tmp_path, code, "--artifact", "c.png")
    assert (artifact["name"], artifact["summary"], artifact["media_type"]) == ("c.png", "mine", "image/png")


def test_B072_a_later_run_returns_no_earlier_picture(casemate: Casemate, tmp_path: Path) -> None:
    products(casemate, tmp_path, f"{BARS}\nplt.show()")
    outcome = casemate.python("print('no plot')", f"--out={tmp_path}/products").outcome
    assert outcome["artifacts"] == []


def test_B073_the_plot_hook_leaves_the_source_alone(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import matplotlib.pyplot as plt\nif True:\n\tplt.plot([1]); plt.show()\nfrom __future__ import annotations\n"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert artifacts == [] and outcome["exception"]["type"] == "SyntaxError" and outcome["exception"]["line"] == 4
    outcome, artifacts = products(casemate, tmp_path, code.rpartition("from")[0])
    assert outcome["status"] == "ok" and len(artifacts) == 1


def test_B074_what_is_declared_is_whole_and_found(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate, os\nopen('report.csv', 'w').write('a,b\\n1,2\\n')\nos.makedirs('out/deep', exist_ok=True)\n"
        "open('out/deep/x.txt', 'w').write('y')\nopen('not declared', 'w').write('z')\n"
        "casemate.artifact('report.csv', summary='two columns')\ncasemate.artifact('out/deep/x.txt')"
    )
    outcome, (report, text) = products(casemate, tmp_path, code)
    assert (report["name"], report["media_type"], report["bytes"]) == ("report.csv", "text/csv", 8)
    assert (text["name"], text["media_type"], text["bytes"]) == ("x.txt", "text/plain", 1)
    assert '8B "two columns"]' in outcome["report"]


@pytest.mark.parametrize(
    ("name", "media_type"), [("r.csv", "text/csv"), ("r.png", "image/png"), ("r", "application/octet-stream")]
)
def test_B074_a_product_that_the_request_names_has_a_type_too(
    casemate: Casemate, tmp_path: Path, name: str, media_type: str
) -> None:
    _, (artifact,) = products(casemate, tmp_path, f"open({name!r}, 'w').write('x'); None", "--artifact", name)
    assert (artifact["state"], artifact["media_type"]) == ("stored", media_type)


def test_B074_it_is_collected_as_it_is_at_the_end(casemate: Casemate, tmp_path: Path) -> None:
    code = "import casemate\nf = open('a.txt', 'w')\ncasemate.artifact('a.txt')\nf.write('late')\nf.close()"
    _, (artifact,) = products(casemate, tmp_path, code)
    assert Path(artifact["uri"]).read_text() == "late"


@pytest.mark.parametrize(
    "end", ["1/0", "import time\ntime.sleep(60)", "import os\nos.abort()", "x = bytearray(1 << 29)"]
)
def test_B074_products_of_a_failed_run_are_kept(casemate: Casemate, tmp_path: Path, end: str) -> None:
    code = f"import casemate\nopen('a.txt', 'w').write('kept')\ncasemate.artifact('a.txt')\n{end}"
    outcome, (artifact,) = products(casemate, tmp_path, code, "--wall", "1s", "--memory", "64MiB")
    assert outcome["status"] in ("error", "limit") and artifact["state"] == "stored"


def test_B074_names_that_meet_are_told_apart(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate, os\nfor d in 'abc':\n    os.mkdir(d)\n    open(d + '/t.csv', 'w').write(d)\n"
        "    casemate.artifact(d + '/t.csv')"
    )
    (tmp_path / "products").mkdir()
    _, artifacts = products(casemate, tmp_path, code)
    assert [artifact["name"] for artifact in artifacts] == ["t.csv"] * 3
    assert [Path(artifact["uri"]).read_text() for artifact in artifacts] == ["a", "b", "c"]
    assert [Path(artifact["uri"]).name for artifact in artifacts] == ["t.csv", "t-2.csv", "t-3.csv"]


@pytest.mark.parametrize(
    "text", ["\u9500\u552e \u7279\u6027 \ud55c\uad6d", "\u0627\u0644\u0645\u0628\u064a\u0639\u0627\u062a", "\U0001f600"]
)
def test_B075_a_missing_script_is_one_clear_warning(casemate: Casemate, tmp_path: Path, text: str) -> None:
    code = f"import matplotlib.pyplot as plt\nplt.title({text!r}); plt.plot([1, 2]); plt.savefig('cjk.png')"
    outcome, (artifact,) = products(casemate, tmp_path, code)
    assert Path(artifact["uri"]).read_bytes().startswith(PNG) and artifact["summary"] == text
    said = outcome["stderr"]["text"].splitlines()
    assert len(said) <= 1, said
    assert not said or ("has no picture of" in said[0] and "boxes" in said[0])


ODD_KINDS = {
    "link to a host file": "os.symlink('/etc/passwd', 'x')",
    "link to the root": "os.symlink('/', 'x')",
    "link to itself": "os.symlink('x', 'x')",
    "link to a neighbour": "open('real', 'w').write('r'); os.symlink('real', 'x')",
    "dangling link": "os.symlink('nowhere', 'x')",
    "link to the process": "os.symlink('/proc/self/environ', 'x')",
    "pipe": "os.mkfifo('x')",
    "socket": "s = socket.socket(socket.AF_UNIX); s.bind('x')",
    "directory": "os.mkdir('x')",
    "missing": "pass",
    "no permission": "open('x', 'w').write('p'); os.chmod('x', 0)",
}


@pytest.mark.parametrize("kind", ODD_KINDS)
def test_B076_only_a_regular_file_is_collected(casemate: Casemate, tmp_path: Path, kind: str) -> None:
    """Named by the request, so that nothing in the box has looked at it."""
    code = f"import os, socket\n{ODD_KINDS[kind]}"
    ended = casemate.python(code, "--artifact", "x", f"--out={tmp_path}/products")
    (artifact,) = ended.outcome["artifacts"]
    assert ended.seconds < 5 * SLOW, "never waits on a pipe"
    if kind == "no permission":  # the box's own file: nobody else's permission counts
        assert artifact["state"] == "stored"
        return
    assert artifact["state"] == "failed" and artifact["bytes"] == 0 and artifact["uri"] == ""
    assert artifact["description"].startswith("not stored: ") and len(artifact["description"]) > 20
    assert list((tmp_path / "products").iterdir()) == []
    assert "not stored: " in ended.outcome["report"]
    assert "root:" not in ended.stdout.decode()


@pytest.mark.parametrize("kind", [kind for kind in ODD_KINDS if kind not in ("missing", "no permission")])
def test_B076_declaring_another_kind_is_an_error_that_says_which(casemate: Casemate, tmp_path: Path, kind: str) -> None:
    code = f"import casemate, os, socket\n{ODD_KINDS[kind]}\ntry: casemate.artifact('x')\nexcept (ValueError, OSError) as e: print(e)"
    outcome, artifacts = products(casemate, tmp_path, code)
    assert artifacts == []
    assert "casemate.artifact: " in outcome["stdout"]["text"]


@pytest.mark.parametrize("kind", [kind for kind in ODD_KINDS if kind != "no permission"])
def test_B076_nor_is_what_took_the_place_of_a_declared_file(casemate: Casemate, tmp_path: Path, kind: str) -> None:
    code = (
        "import casemate, os, socket\nopen('x', 'w').write('fine')\ncasemate.artifact('x')\nos.unlink('x')\n"
        f"{ODD_KINDS[kind]}"
    )
    outcome, (artifact,) = products(casemate, tmp_path, code)
    assert artifact["state"] == "failed"
    assert "not stored: " in outcome["report"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../home/f",
        "a/../../f",
        "/proc/self/environ",
        "/dev/zero",
        "link/f",
        "/dev/shm/f",
        "",
        ".",
        "out",
    ],
)
def test_B076_no_path_leads_out_of_the_layer(casemate: Casemate, tmp_path: Path, path: str) -> None:
    """A hostile program sends the manifest itself, past all checks of the runner."""
    code = (
        "import os\nfrom casemate import _wire as w\nopen('/vol/home/f', 'w').write('f')\nopen('/dev/shm/f', 'w').write('f')\n"
        "os.symlink('/etc', 'link')\nos.mkdir('/vol/work/etc')\n"
        f"fields = w.field(w.TAG_PATH, {path.encode()!r}) + w.text_field(w.TAG_NAME, 'x') + w.text_field(w.TAG_TEXT, '')\n"
        "fields += w.field(w.TAG_MEDIA_TYPE, b'text/plain') + w.field(w.TAG_ORIGIN, b'declared')\n"
        "print(w.current.send(w.ARTIFACT, fields))"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert [artifact["state"] for artifact in artifacts] in ([], ["failed"]), outcome["report"]


@pytest.mark.parametrize(
    "name",
    ["../up.txt", "/abs.txt", "..", ".", "", "a/b", "-rf", "x\0y", "\n", "x" * 5000, "~", ".hidden"],
    ids=lambda name: repr(name[:20]),
)
def test_B121_no_name_leads_out_of_the_directory_for_products(casemate: Casemate, tmp_path: Path, name: str) -> None:
    code = (
        "from casemate import _wire as w\nopen('f', 'w').write('f')\n"
        f"fields = w.field(w.TAG_PATH, b'/vol/work/f') + w.text_field(w.TAG_NAME, {name!r}) + w.text_field(w.TAG_TEXT, '')\n"
        "fields += w.field(w.TAG_MEDIA_TYPE, b'text/plain') + w.field(w.TAG_ORIGIN, b'declared')\n"
        "print(w.current.send(w.ARTIFACT, fields))"
    )
    _, artifacts = products(casemate, tmp_path, code)
    assert [path.name for path in tmp_path.iterdir()] == ["products"]
    for artifact in artifacts:
        assert Path(artifact["uri"]).parent == tmp_path / "products"
        assert "/" not in artifact["name"] and len(artifact["name"]) < 1100


def test_B121_an_archive_is_never_unpacked_outside(casemate: Casemate, tmp_path: Path) -> None:
    code = """
import io, tarfile, casemate
b = io.BytesIO(); t = tarfile.open(fileobj=b, mode="w")
l = tarfile.TarInfo("leak"); l.type = tarfile.SYMTYPE; l.linkname = "/etc"; t.addfile(l)
for n in ("leak/x.txt", "../up.txt", "/abs.txt"):
    i = tarfile.TarInfo(n); i.size = 1; t.addfile(i, io.BytesIO(b"x"))
t.close(); open("evil.tar", "wb").write(b.getvalue())
casemate.artifact("evil.tar")
"""
    _, (artifact,) = products(casemate, tmp_path, code)
    assert artifact["media_type"] == "application/x-tar"
    back = casemate.python("import os\nprint(sorted(os.listdir('.')))", f"--file={artifact['uri']}").outcome
    assert back["stdout"]["text"] == "['evil.tar', 'out']\n", "one file, in both directions"


def test_B077_a_sparse_file_counts_as_large_as_it_looks(casemate: Casemate, tmp_path: Path) -> None:
    outcome = casemate.bash("truncate -s 50G sparse.bin", "--artifact=sparse.bin", f"--out={tmp_path}/p").outcome
    # The shell's own child is ended by SIGXFSZ, which no interpreter turns into an error there.
    assert outcome["status"] == "error" and outcome["exit_code"] == 128 + signal.SIGXFSZ
    assert sum(path.stat().st_size for path in (tmp_path / "p").iterdir()) == 0


def test_B077_an_archive_is_one_file_whatever_it_holds(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate, zipfile\nz = zipfile.ZipFile('b.zip', 'w', 8)\nwith z.open('x', 'w') as f:\n"
        "    for _ in range(64): f.write(bytes(1 << 20))\nz.close()\ncasemate.artifact('b.zip')"
    )
    _, (artifact,) = products(casemate, tmp_path, code)
    assert artifact["media_type"] == "application/zip" and artifact["bytes"] < MIB


def test_B077_there_is_a_most_number_of_products(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate, os\nos.mkdir('many')\nfor i in range(300):\n    open(f'many/{i}', 'w').write('x')\n"
        "    try: casemate.artifact(f'many/{i}')\n    except RuntimeError as e: last = e\nprint(last)"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert len(artifacts) == 256 and {artifact["state"] for artifact in artifacts} == {"stored"}
    assert "256" in outcome["stdout"]["text"]


def test_B077_a_program_that_declares_past_the_runner_is_counted(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "from casemate import _artifacts as a\nfor i in range(400):\n    open(f'f{i}', 'w').write('x')\n    a._sent = 0\n"
        "    a.send(b'/vol/work/f%d' % i, str(i), 'text/plain', 'declared')"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert len(artifacts) == 256 and outcome["artifacts_left_out"] == 144
    assert "and " in outcome["report"]


def test_B077_all_products_together_have_a_budget(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate\nfor i in range(6):\n    open(f'f{i}', 'wb').truncate(230 << 20)\n"
        "    casemate.artifact(f'f{i}')\nopen('small', 'w').write('s')\ncasemate.artifact('small')"
    )
    outcome, artifacts = products(casemate, tmp_path, code)
    assert [artifact["state"] for artifact in artifacts] == ["stored"] * 4 + ["failed"] * 2 + ["stored"]
    assert "the products of one run may have 1 GiB together" in outcome["report"]
    assert outcome["status"] == "ok", "the program itself ended well, and is told what was not kept"
