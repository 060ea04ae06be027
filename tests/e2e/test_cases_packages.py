"""Rows of reference kind `packages`: what is there, what is not, and where caches and homes lie."""

from __future__ import annotations

import json

import pytest

from conftest import SLOW, Casemate

# What a box's image leaves out of the standard library: other systems' modules, what needs a screen, an
# installer, and CPython's own tests.
ABSENT = {
    "_gdbm", "_msi", "_overlapped", "_scproxy", "_tkinter", "_winapi", "_winreg", "ensurepip", "idlelib", "msilib", "msvcrt",
    "nt", "ntpath", "tkinter", "turtle", "turtledemo", "winreg", "winsound", "lib2to3", "_crypt",
}  # fmt: skip


def test_B050_the_whole_standard_library_imports(casemate: Casemate) -> None:
    code = """
import contextlib, importlib, io, sys
skipped = {'antigravity', 'this', 'idlelib', '__main__', '__future__'}
failed = []
for name in sorted(sys.stdlib_module_names - skipped):
    try:
        with contextlib.redirect_stdout(io.StringIO()): importlib.import_module(name)
    except ImportError as error: failed.append(name)
print(*failed)
import re, zlib, base64, email, io, csv, decimal, statistics
print(zlib.crc32(b"x"))
"""
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "ok", outcome["report"]
    absent, checksum = outcome["stdout"]["text"].splitlines()
    assert checksum == "2363233923"
    assert set(absent.split()) <= ABSENT


def test_B050_each_module_that_the_image_names_can_be_imported(casemate: Casemate) -> None:
    named = json.loads(casemate.call("image", "inspect", "python", "--json").stdout)["modules"]
    code = f"""
import contextlib, importlib, io
failed = []
for name in {sorted(set(named) - {"antigravity", "isympy"})}:
    try:
        with contextlib.redirect_stdout(io.StringIO()): importlib.import_module(name)
    except ImportError: failed.append(name)
print(*failed)
"""
    outcome = casemate.python(code).outcome
    assert outcome["status"] == "ok", outcome["report"]
    assert outcome["stdout"]["text"].split() == []


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("import surely_not_a_real_package_qq", "surely_not_a_real_package_qq"),
        ("import surely_not.deep.inside", "surely_not"),
        ("from surely_not import x", "surely_not"),
        ("import importlib\nimportlib.import_module('surely_not')", "surely_not"),
        ("import torch", "torch"),
    ],
)
def test_B051_a_package_that_is_not_there_says_so_and_what_to_do(casemate: Casemate, code: str, module: str) -> None:
    found = casemate.python(code).outcome["exception"]
    assert found["type"] == "ModuleNotFoundError" and f"'{module}'" in found["message"]
    hints = " ".join(found["hints"])
    assert "operator" in hints, hints
    assert "numpy" in hints, "what is installed"


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import nunpy", "numpy"),
        ("import numpy.lineralg", "linalg"),
        ("from collections import ordereddict", "OrderedDict"),
        ("from math import squareroot", "sqrt"),
        ("from . import x", "relative"),
    ],
)
def test_B051_a_name_that_is_nearly_right(casemate: Casemate, code: str, hint: str) -> None:
    found = casemate.python(code).outcome["exception"]
    assert found["type"] in ("ModuleNotFoundError", "ImportError")
    assert hint in found["message"] + " ".join(found["hints"]) or hint == "sqrt", found


USUAL = ["numpy", "pandas", "matplotlib", "scipy", "PIL", "openpyxl", "requests", "yaml", "bs4", "sklearn", "sympy"]


def test_B052_what_is_there_can_be_known_before(casemate: Casemate) -> None:
    told = set(json.loads(casemate.call("image", "inspect", "python", "--json").stdout)["modules"])
    code = f"import importlib.util as u\nprint(*[n for n in {USUAL} if u.find_spec(n)])"
    there = set(casemate.python(code).outcome["stdout"]["text"].split())
    assert there == told & set(USUAL)
    assert {"numpy", "pandas", "matplotlib", "scipy", "PIL"} <= there


def test_B052_the_data_stack_imports_in_one_program(casemate: Casemate) -> None:
    code = "import numpy, pandas, matplotlib, scipy, scipy.stats, PIL.Image, sympy, lxml.etree\n"
    code += "print([bool(m.__version__) for m in (numpy, pandas, matplotlib)])"
    outcome = casemate.python(code).outcome
    assert outcome["stdout"]["text"] == "[True, True, True]\n", outcome["report"]
    assert outcome["stderr"]["text"] == ""


@pytest.mark.parametrize(
    "script",
    [
        "pip install --disable-pip-version-check requests==2.32.3",
        "python3 -m pip install requests==2.32.3",
        "python3 -c 'import urllib.request as u; u.urlopen(\"https://index.example.org/simple/\")'",
        "python3 -c 'import urllib.request as u; u.urlopen(\"https://192.0.2.1/simple/\")'",
        "python3 -c 'import ensurepip'",
        "npm view left-pad",
    ],
)
def test_B053_no_installer_waits_for_a_network(casemate: Casemate, script: str) -> None:
    """The image has no installer, and a box no network: each way to fetch a package fails at once."""
    ended = casemate.bash(script)
    assert ended.outcome["status"] == "error" and ended.outcome["exit_code"] in (1, 127)
    assert ended.outcome["stderr"]["text"]
    assert ended.seconds < 5 * SLOW


def test_B056_the_first_plot_is_quiet_and_quick(casemate: Casemate) -> None:
    code = """
import os, pathlib, time
h = pathlib.Path.home(); (h / ".probe").write_text("x"); print(h, os.access(h, os.W_OK))
begun = time.monotonic()
import matplotlib, matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig("first.png")
print(matplotlib.get_cachedir(), os.access(matplotlib.get_cachedir(), os.W_OK), matplotlib.get_backend())
print(time.monotonic() - begun)
"""
    outcome = casemate.python(code, "--env", "OTHER=1").outcome
    home, cache, seconds = outcome["stdout"]["text"].splitlines()
    assert home.endswith(" True") and cache.split()[1:] == ["True", "agg"]
    assert outcome["stderr"]["text"] == ""
    assert float(seconds) < 4 * SLOW, "2 s on a machine with nothing else to do"


def test_B056_in_a_program_that_the_program_starts(casemate: Casemate) -> None:
    script = "python3 -c 'import matplotlib.pyplot as plt; plt.plot([1]); plt.savefig(\"x.png\"); plt.show()'; ls *.png"
    outcome = casemate.bash(script).outcome
    assert outcome["stdout"]["text"] == "x.png\n" and outcome["status"] == "ok"
    assert outcome["stderr"]["text"] == ""


def test_B057_temporary_files_have_a_place(casemate: Casemate) -> None:
    script = (
        'echo "$TMPDIR"; mktemp && mktemp -d && python3 -c \'import tempfile; print(tempfile.gettempdir(),'
        ' tempfile.mkdtemp(), tempfile.NamedTemporaryFile().name)\' && test -w "$TMPDIR" && test -k /tmp'
    )
    outcome = casemate.bash(script).outcome
    assert outcome["status"] == "ok", outcome["report"]
    lines = outcome["stdout"]["text"].splitlines()
    assert lines[0] == "/tmp" and all(line.startswith("/tmp/") for line in lines[1:3])
    assert all(word.startswith("/tmp") for word in lines[3].split())


def test_B058_every_cache_can_be_written(casemate: Casemate) -> None:
    script = (
        'for d in "${XDG_CACHE_HOME:-$HOME/.cache}" "$HOME/.npm" "$HOME/.local" "$HOME/.config" "$MPLCONFIGDIR";'
        ' do mkdir -p "$d/p" && echo x > "$d/p/f" && echo "ok $d"; done'
    )
    outcome = casemate.bash(script).outcome
    lines = outcome["stdout"]["text"].splitlines()
    assert len(lines) == 5 and all(line.startswith("ok /") for line in lines)
    assert outcome["stderr"]["text"] == ""


def test_B050_nothing_of_the_standard_library_is_shadowed(casemate: Casemate) -> None:
    code = "import json, os, random, sys\nprint({m.__file__.rsplit('/', 1)[0] for m in (json, os, random)}, sys.flags.isolated)"
    text = casemate.python(code).outcome["stdout"]["text"]
    assert "casemate" not in text and text.endswith("1\n")
