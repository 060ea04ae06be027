"""Rows of reference kind `files`: files go in and are found, disks are bounded and say so."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import START, Casemate, weigh

MIB = 1 << 20


def met(outcome: dict[str, Any]) -> dict[str, int]:
    """The limits that the program met, with their ceilings."""
    return {entry["name"]: entry["ceiling"] for entry in outcome["limits_met"]}


@pytest.mark.parametrize("size", [0, 1, 17 << 10, 19 << 10, 64 << 10, (64 << 10) + 1, MIB, 20 * MIB])
def test_B059_files_of_every_size_arrive_and_come_back(casemate: Casemate, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "data.bin").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    code = (
        "import casemate, hashlib, shutil\nprint(hashlib.sha256(open('data.bin', 'rb').read()).hexdigest())\n"
        "shutil.copy('data.bin', 'back.bin')\ncasemate.artifact('back.bin')"
    )
    ended = casemate.python(code, f"--file={tmp_path}/data.bin", f"--out={tmp_path}/out")
    assert ended.outcome["stdout"]["text"].strip() == digest
    (artifact,) = ended.outcome["artifacts"]
    assert (artifact["state"], artifact["bytes"], artifact["sha256"]) == ("stored", size, digest)
    assert (tmp_path / "out" / "back.bin").read_bytes() == data


def test_B059_many_files_arrive(casemate: Casemate, tmp_path: Path) -> None:
    options = []
    for number in range(300):
        (tmp_path / f"f{number}").write_text(str(number))
        options.append(f"--file={tmp_path}/f{number}:many/of/them/f{number}")
    code = "import os\nprint(sum(int(open('many/of/them/' + n).read()) for n in os.listdir('many/of/them')))"
    assert casemate.python(code, *options).outcome["stdout"]["text"] == f"{sum(range(300))}\n"


@pytest.mark.parametrize(
    ("size", "options"),
    [(300 * MIB, []), (5 * MIB, ["--disk", "4MiB"]), (5 * MIB, ["--file-size", "4MiB"]), (3 * MIB, ["--disk", "4MiB"])],
)
def test_B059_what_does_not_fit_is_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, size: int, options: list[str]
) -> None:
    for name in ("a", "b"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(size)
    ended = casemate.call(
        "run", "--trust", "trusted", *options, f"--file={tmp_path}/a", f"--file={tmp_path}/b", "-c", "print('ran')"
    )
    assert ended.exit_code == 2 and ended.stdout == b""
    assert re.fullmatch(r"casemate run: the input file.* MiB.*\n", ended.stderr)


def test_B061_two_files_of_one_name_are_refused(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    ended = casemate.call(
        "run", "--trust", "trusted", f"--file={tmp_path}/a:image.png", f"--file={tmp_path}/b:image.png", "-c", "1"
    )
    assert ended.exit_code == 2 and "image.png" in ended.stderr and "twice" in ended.stderr
    later = casemate.python("print(open('image.png').read())", f"--file={tmp_path}/b:image.png")
    assert later.outcome["stdout"]["text"] == "B\n"


def test_B062_a_run_without_a_task_keeps_nothing(casemate: Casemate) -> None:
    first = casemate.python("open('data.txt', 'w').write('kept?')").outcome
    second = casemate.python("import os\nprint(os.path.exists('data.txt'))").outcome
    assert second["stdout"]["text"] == "False\n"
    assert first["volume"]["state"] == second["volume"]["state"] == "fresh"
    assert first["volume"]["id"] != second["volume"]["id"]
    told = casemate.call("run", "--help").stdout.decode()
    assert "artifact" in told, "how something is kept"


def test_B064_each_name_is_one_entry(casemate: Casemate, tmp_path: Path) -> None:
    code = (
        "import casemate\nfor n in ('a b.png', 'c  d.png', 'e\\nf.txt', 'tab\\there.txt'):\n"
        "    open(n, 'w').write(n)\n    casemate.artifact(n)"
    )
    outcome = casemate.python(code, f"--out={tmp_path}").outcome
    assert [artifact["name"] for artifact in outcome["artifacts"]] == [
        "a b.png",
        "c  d.png",
        "e\\nf.txt",
        "tab\\there.txt",
    ]
    contents = [Path(artifact["uri"]).read_text() for artifact in outcome["artifacts"]]
    assert contents == ["a b.png", "c  d.png", "e\nf.txt", "tab\there.txt"]
    assert len({artifact["id"] for artifact in outcome["artifacts"]}) == 4


def test_B065_a_big_file_is_not_held_in_memory(casemate: Casemate, tmp_path: Path) -> None:
    with open(tmp_path / "big", "wb") as file:
        file.truncate(200 * MIB)
    code = "import casemate, os, shutil\nprint(os.path.getsize('big'))\ncasemate.artifact('big')"
    process = casemate.start("run", "--trust", "trusted", f"--file={tmp_path}/big", f"--out={tmp_path}/out", "-c", code)
    out, err, peak = weigh(process)
    assert process.returncode == 0, err
    assert out == f"{200 * MIB}\n".encode()
    assert casemate.sanitized or 0 < peak < 32 * MIB


FULL = """
import os
try:
    for number in range(100):
        with open(f"{place}/fill{{number}}", "wb", buffering=0) as f:
            while f.tell() < 1 << 20: f.write(b"x" * (1 << 16))
except OSError as e:
    print(e.errno, e.strerror)
"""


@pytest.mark.parametrize("place", ["/tmp", "/work", "/vol/work/out", "/vol/home", "/dev/shm"])
def test_B066_a_full_disk_is_an_error_and_is_told(casemate: Casemate, place: str) -> None:
    outcome = casemate.python(FULL.format(place=place), "--disk", "4MiB").outcome
    assert outcome["status"] == "ok"
    assert outcome["stdout"]["text"] == "28 No space left on device\n"
    if place != "/dev/shm":  # a file system of its own, which is not measured
        assert met(outcome) == {"disk": 4 * MIB}
        assert outcome["usage"]["disk_peak_bytes"] > 3.9 * MIB
        assert "disk: the limit of 4 MiB was met" in outcome["report"]
    assert casemate.python("open('x', 'w').write('y')").outcome["status"] == "ok"


@pytest.mark.parametrize(
    ("code", "options", "name", "ceiling", "error"),
    [
        ("open('f', 'wb').write(bytes(5 << 20))", ["--disk", "4MiB"], "disk", 4 * MIB, "OSError"),
        ("open('f', 'wb').write(bytes(5 << 20))", ["--file-size", "4MiB"], "file_size", 4 * MIB, "OSError"),
        ("open('f', 'wb').truncate(50 << 30)", [], "file_size", 256 * MIB, "OSError"),
        ("for i in range(20000): open(str(i), 'w')", [], "inodes", 16384, "OSError"),
        ("for i in range(20000): os.mkdir(str(i))", [], "inodes", 16384, "OSError"),
        ("a = [open('f', 'w') for _ in range(300)]", [], "open_files", 256, "OSError"),
        ("a = [open('f', 'w') for _ in range(300)]", ["--open-files", "32"], "open_files", 32, "OSError"),
        ("a = [socket.socket() for _ in range(300)]", [], "open_files", 256, "OSError"),
        ("for _ in range(99): os.fork() or time.sleep(99)", ["--pids", "9"], "pids", 9, "BlockingIOError"),
    ],
)
def test_B066_an_uncaught_limit_is_explained_by_the_first_hint(
    casemate: Casemate, code: str, options: list[str], name: str, ceiling: int, error: str
) -> None:
    outcome = casemate.python(f"import os, socket, time\n{code}", *options).outcome
    assert outcome["status"] == "error"
    assert outcome["exception"]["type"] == error and outcome["exception"]["line"] == 2
    assert outcome["exception"]["hints"][0].startswith(f"limit {name} ("), outcome["exception"]["hints"]
    assert met(outcome) == {name: ceiling}


def test_B068_names_that_look_like_options_are_only_names(casemate: Casemate, tmp_path: Path) -> None:
    script = (
        "echo data > ./--checkpoint-action=exec=true; echo data > ./-rf; echo data > './;id'; ls -1A\n"
        "python3 -B -c \"import os; [print(n) for n in sorted(os.listdir('.'))]\"; rm -- -rf; ls -1A | wc -l"
    )
    wanted = [f"--artifact={name}" for name in ("--checkpoint-action=exec=true", ";id")]
    outcome = casemate.bash(script, *wanted, f"--out={tmp_path}").outcome
    assert outcome["stderr"]["text"] == ""
    assert outcome["stdout"]["text"].count("--checkpoint-action=exec=true\n") == 2
    assert [artifact["name"] for artifact in outcome["artifacts"]] == ["--checkpoint-action=exec=true", ";id"]
    for artifact in outcome["artifacts"]:
        assert Path(artifact["uri"]).read_text() == "data\n"
        assert not Path(artifact["uri"]).name.startswith("-"), "no option to somebody's next command"


CSV = """
import pandas as pd
with open("big.csv", "w") as f:
    for i in range({rows}): f.write(f"{{i}},abcdefghij\\n")
print("written", flush=True)
print(len(pd.read_csv("big.csv")))
"""


def test_B069_a_large_table_that_does_not_fit_the_disk(casemate: Casemate) -> None:
    outcome = casemate.python(CSV.format(rows=20_000_000), "--disk", "16MiB").outcome
    assert outcome["status"] == "error"
    assert outcome["exception"]["hints"][0].startswith("limit disk (16 MiB): ")


def test_B069_a_large_table_that_does_not_fit_the_memory(casemate: Casemate) -> None:
    # A slot finds pandas loaded, in memory that is its zygote's.
    limit = 64 if START == "hot" else 96
    outcome = casemate.python(CSV.format(rows=1_500_000), "--memory", f"{limit}MiB").outcome
    assert outcome["status"] == "limit" and outcome["limit"]["name"] == "memory", outcome["report"]
    assert outcome["stdout"]["text"] == "written\n"
    assert outcome["limit"]["used"] > (limit - 6) * MIB
    assert "smaller pieces" in outcome["report"]
