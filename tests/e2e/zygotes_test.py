"""Zygotes that go wrong: the run is cold and its record says why, or it is refused by name; it never hangs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate, Ended
from stores import copied_image, store_of

TRUSTED = ("run", "--trust", "trusted", "--json", "--record")
# What a program needs numpy for: the zygote is one that has loaded it.
PROGRAM = (
    "try:\n    import numpy\nexcept ImportError as error:\n    print('no numpy:', error)\nelse:\n    print('ran')\n"
)


@dataclass
class Spoiled:
    """A store with a copy of the default image, whose numpy is what a test says."""

    casemate: Casemate
    store: Path
    numpy: Path

    def run(self, text: str, *options: str, program: str = PROGRAM, timeout: float = 90) -> list[dict[str, Any]]:
        """The outcomes of a program in the image with this numpy."""
        self.numpy.mkdir(exist_ok=True)
        (self.numpy / "__init__.py").write_text(text)
        (self.numpy / "random.py").write_text("def seed(*_): pass\n")
        (self.numpy / "linalg.py").write_text("")
        ended = self.call(*options, "-c", program, timeout=timeout)
        assert ended.stderr == "", ended
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def call(self, *args: str, timeout: float = 90) -> Ended:
        return self.casemate.call(*TRUSTED, "--store", str(self.store), *args, timeout=timeout)


@pytest.fixture(scope="session")
def spoiled(casemate: Casemate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoiled]:
    """A copy of the default image whose numpy a test writes, made once."""
    assert casemate.call("run", "--trust", "trusted", "-c", "pass", timeout=300).exit_code == 0
    folder = tmp_path_factory.mktemp("spoiled")
    root = store_of(folder / "store", {"python": copied_image(casemate, "python", folder)})["python"]
    # A box's user is nobody that pytest's own folders let in; the image is opened from above.
    numpy = root / "usr/lib/python3/dist-packages/numpy"
    shutil.rmtree(numpy)
    yield Spoiled(casemate, folder / "store", numpy)
    shutil.rmtree(folder)


def cold_reason(outcome: dict[str, Any]) -> str:
    """Why the run was cold, from its record, which has to agree with the outcome."""
    assert outcome["timing"]["start"] == outcome["record"]["level"] == "cold"
    assert outcome["teardown"]["verdict"] == "destroyed"
    reason = outcome["record"]["cold_reason"]
    assert isinstance(reason, str) and reason and "\n" not in reason
    return reason


def test_a_good_numpy_is_loaded_by_the_zygote(spoiled: Spoiled) -> None:
    """The control of this file: what is cold below is cold for its import."""
    (outcome,) = spoiled.run("", "--start", "hot", program="import numpy, sys; print('numpy.linalg' in sys.modules)")
    assert outcome["record"]["level"] == "hot" and outcome["stdout"]["text"] == "True\n"


WRONG = {
    "fails": ("raise ImportError('libblas is broken')", "libblas is broken"),
    "syntax": ("def", "SyntaxError"),
    "exits": ("import sys; sys.exit(0)", "SystemExit"),
    "ends": ("import os; os._exit(7)", "the zygote ended while it loaded what it was asked to: exit code 7"),
    "aborts": ("import os; os.abort()", "the zygote ended while it loaded what it was asked to: signal 6"),
    "thread": ("import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()", "threads are left"),
    "child": ("import os, time\nif os.fork() == 0: time.sleep(99); os._exit(0)\nraise ImportError('has a child')", "has a child"),
    "long": ("raise ImportError('x' * 100000)", "xxx"),
    "lines": ("raise ImportError('one\\ntwo\\x1b[31m')", "one two"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_zygote_that_cannot_load_makes_runs_cold(spoiled: Spoiled, wrong: str) -> None:
    text, said = WRONG[wrong]
    # What the program itself finds is what a cold run finds: here only the reason is looked at.
    (outcome,) = spoiled.run(text, "--start", "hot", program="if 0: import numpy\nprint('ran')")
    reason = cold_reason(outcome)
    assert reason.startswith("the zygote of numpy failed: ") and said in reason and len(reason) < 600, reason
    assert outcome["status"] == "ok" and outcome["stdout"]["text"] == "ran\n" and outcome["stderr"]["text"] == ""


def test_the_program_meets_the_broken_import_itself(spoiled: Spoiled) -> None:
    (outcome,) = spoiled.run("raise ImportError('libblas is broken')", "--start", "hot")
    assert outcome["status"] == "ok" and outcome["stdout"]["text"] == "no numpy: libblas is broken\n"


def test_repeated_runs_go_on_cold_and_say_why(spoiled: Spoiled) -> None:
    """`auto` never waits for a zygote; from the second run on the reason is there."""
    outcomes = spoiled.run(
        "raise ImportError('libblas is broken')",
        "--repeat",
        "5",
        program=f"if 0: import numpy\nimport time; time.sleep({0.3 * SLOW})",
    )
    assert [outcome["status"] for outcome in outcomes] == ["ok"] * 5
    assert "libblas is broken" in cold_reason(outcomes[-1])


def test_an_import_that_never_ends_has_a_deadline(spoiled: Spoiled) -> None:
    (outcome,) = spoiled.run(
        "import time; time.sleep(10000)", "--start", "hot", program="if 0: import numpy\nprint('ran')"
    )
    assert "did not start within" in cold_reason(outcome) and outcome["stdout"]["text"] == "ran\n"


def test_an_import_that_eats_memory_ends_its_zygote(spoiled: Spoiled) -> None:
    text = "hoard = []\nwhile True: hoard.append(bytearray(1 << 24))"
    (outcome,) = spoiled.run(text, "--start", "hot", program="if 0: import numpy\nprint('ran')")
    reason = cold_reason(outcome)
    assert "it ran out of the memory of its nest" in reason, reason
    assert outcome["status"] == "ok" and outcome["stdout"]["text"] == "ran\n"


PRINTS = """
import ctypes, io, os, sys
sys.stdout.write("1:buffered"); sys.stderr.write("2:error"); sys.__stdout__.write("3:own")
libc = ctypes.CDLL(None)
libc.printf(b"4:libc"); libc.puts(b"5:libc")
os.write(1, b"6:written"); os.write(2, b"7:written")
kept = io.TextIOWrapper(open(1, "wb", closefd=False), write_through=False); kept.write("8:kept")
raw = open(1, "wb", buffering=1 << 16, closefd=False); raw.write(b"9:raw")
sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False)); print("10:replaced")
"""


def test_what_an_import_prints_is_in_no_run(spoiled: Spoiled) -> None:
    """Not even what was left in a buffer when the slot was forked."""
    program = "import numpy, sys\nprint('ran'); sys.stdout.flush()\nimport ctypes; ctypes.CDLL(None).fflush(None)"
    for program in (
        program,
        program + "\nimport gc; del sys.modules['numpy'], numpy; gc.collect()",
        "import numpy\nimport os; os._exit(3)",
        "import numpy\nraise SystemExit(2)",
    ):
        (outcome,) = spoiled.run(PRINTS, "--start", "hot", program=program)
        assert outcome["record"]["level"] == "hot", outcome["record"]["cold_reason"]
        assert outcome["stdout"]["text"] == ("ran\n" if "ran" in program else "") and outcome["stderr"]["text"] == ""


@pytest.fixture
def bare_store(casemate: Casemate, tmp_path: Path) -> Iterator[Path]:
    """A store with an image that has a shell's name and no Python."""
    from oci_archive import Archive, Layer

    store = tmp_path / "store"
    archive = Archive([Layer().add("usr/bin/sh", b"#!", mode=0o755).add("etc/x", b"")]).write(tmp_path / "bare.tar")
    assert casemate.call("image", "import", str(archive), "--store", str(store)).exit_code == 0
    yield store


@pytest.mark.parametrize("start", ["auto", "hot", "cold"])
@pytest.mark.parametrize("repeat", ["1", "3"])
def test_an_image_without_python_is_said_to_be_that(
    casemate: Casemate, bare_store: Path, start: str, repeat: str
) -> None:
    options = ("--store", str(bare_store), "--image", "bare", "--start", start, "--repeat", repeat)
    ended = casemate.call(*TRUSTED, *options, "-c", "print(1)", timeout=20)
    (outcome,) = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.exit_code == 4 and outcome["status"] == "unavailable"
    assert outcome["reason"]["code"] == "image_unavailable" and "no Python" in outcome["reason"]["message"]
    assert "record" not in outcome and outcome["teardown"]["verdict"] == "destroyed"


def test_a_python_that_is_a_link_out_of_the_image_is_none(casemate: Casemate, bare_store: Path) -> None:
    """It is looked for as a box will see it: where a link leads is inside the image."""
    (root,) = bare_store.glob("sha256/*/rootfs")
    (root / "usr/bin/python3").symlink_to("/usr/bin/python3.11")
    ended = casemate.call(*TRUSTED, "--store", str(bare_store), "--image", "bare", "-c", "print(1)")
    assert "no Python" in ended.outcome["reason"]["message"]


def test_a_set_over_the_memory_budget_is_cold_and_says_so(casemate: Casemate) -> None:
    """The budget of a release is far above every set: a test build can have a smaller one."""
    binary = casemate.binary.with_name("casemate-test")
    if not binary.exists():
        pytest.skip("needs casemate-test beside casemate")
    hooked = Casemate(binary, casemate.runtime, casemate.folder)
    options = ("--start", "hot", "--test-pool-memory", "100MiB")
    outcome = hooked.call(*TRUSTED, *options, "-c", "if 0: import pandas\nprint('ran')", timeout=30).outcome
    assert "preload set over the memory budget: pandas" in cold_reason(outcome) and "100 MiB" in cold_reason(outcome)
    assert outcome["stdout"]["text"] == "ran\n"
    fits = hooked.call(*TRUSTED, *options, "-c", "print('ran')", timeout=60).outcome
    assert fits["record"]["level"] == "hot", fits["record"]["cold_reason"]
