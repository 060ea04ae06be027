"""Hot slots: a run in a box that was made before it is the run that it would have been in a new one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW, Casemate, descendants, wait_for

TRUSTED = ("run", "--trust", "trusted", "--json")
# Longer than a zygote takes to get ready, so that the runs after the first are hot.
PAUSE = f"import time; time.sleep({1.0 * SLOW})\n"


def outcomes(casemate: Casemate, code: str, count: int, *options: str) -> list[dict[str, Any]]:
    """The outcomes of a program that is run `count` times in one process, each time in a hot slot."""
    ended = casemate.call(*TRUSTED, "--start", "hot", "--repeat", str(count), *options, "-c", code, timeout=120)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) == count and ended.stderr == "", ended
    for one in found:
        assert one["timing"]["start"] == "hot" and one["teardown"]["verdict"] == "destroyed", one
    return found


def test_repeat_runs_so_often_and_becomes_hot(casemate: Casemate) -> None:
    ended = casemate.call(*TRUSTED, "--repeat", "4", "-c", PAUSE + "print('ran')", timeout=120)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [one["stdout"]["text"] for one in found] == ["ran\n"] * 4
    assert found[0]["timing"]["start"] == "cold" and found[-1]["timing"]["start"] == "hot"
    assert len({one["volume"]["id"] for one in found}) == 4
    assert len({one["run_id"] for one in found}) == 4


@pytest.mark.parametrize(("given", "said"), [("0", "1 to"), ("-1", "1 to"), ("x", "a number"), ("2000000", "1 to")])
def test_a_wrong_count_is_one_line(casemate: Casemate, given: str, said: str) -> None:
    ended = casemate.call("run", "--repeat", given, "-c", "1")
    assert ended.exit_code == 2 and ended.stderr.count("\n") == 1 and "--repeat" in ended.stderr and said in ended.stderr


def test_what_cannot_have_a_slot_is_cold_and_says_why(casemate: Casemate, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("its input")
    cases = {("--stdin", str(given)): "its standard input is there at its birth"}
    if os.geteuid() != 0:  # root has a range of ids all the same
        cases[("--weaken", "single-id")] = "boxes that share one user id are made one by one"
    for options, reason in cases.items():
        timing = casemate.call(*TRUSTED, "--start", "hot", *options, "-c", "print(1)").outcome["timing"]
        assert (timing["start"], timing.get("cold_reason")) == ("cold", reason), options
    told = casemate.call("run", "--trust", "trusted", "--start", "hot", "--stdin", str(given), "-c", "print(1)").stderr
    assert "0 hot, 0 warm, 1 cold (its standard input is there at its birth)" in told


def test_slots_of_one_zygote_share_no_randomness(casemate: Casemate) -> None:
    code = """
import os, random, secrets, tempfile, uuid, ssl, json
import numpy
print(json.dumps([random.random(), secrets.token_hex(8), str(uuid.uuid4()), ssl.RAND_bytes(8).hex(), tempfile.mktemp(),
                  float(numpy.random.random()), float(numpy.random.default_rng().random()), os.urandom(8).hex()]))
"""
    found = [json.loads(one["stdout"]["text"]) for one in outcomes(casemate, code, 4)]
    for values in zip(*found, strict=True):
        assert len(set(values)) == len(found), values


def test_nothing_of_a_slot_is_there_for_the_next(casemate: Casemate) -> None:
    code = """
import builtins, os, pathlib, sys
seen = [getattr(builtins, "token", None), os.environ.get("token"), os.path.exists("/tmp/token"), "qtoken" in sys.modules,
        sorted(os.listdir("/work")), sorted(os.listdir("/tmp")), os.getcwd(), oct(os.umask(0))]
builtins.token = os.environ["token"] = "1"; sys.modules["qtoken"] = sys
pathlib.Path("/tmp/token").write_text("1"); pathlib.Path("/work/token").write_text("1"); os.chdir("/")
print(seen)
"""
    expected = "[None, None, False, False, ['out'], [], '/vol/work', '0o22']\n"
    assert [one["stdout"]["text"] for one in outcomes(casemate, code, 3)] == [expected] * 3


def test_the_walls_are_those_of_a_cold_box(casemate: Casemate) -> None:
    code = """
import os
print(os.getuid(), os.getgid(), os.getgroups(), os.getpid(), os.getppid() in (0, 1), os.uname().nodename)
print([line.split()[1] for line in open('/proc/self/status') if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:'))])
print(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.readlink('/proc/self/ns/user') != '')
print(sorted(os.listdir('/proc/self/fd')), open('/proc/self/cgroup').read().count(':/\\n'), os.sched_getaffinity(0).__len__())
print(sorted(l.split()[4] + ' ' + l.split()[5] for l in open('/proc/self/mountinfo')))
for path in ('/usr/x', '/etc/x', '/x'):
    try: open(path, 'w'); print('written')
    except OSError as e: print(e.errno)
import socket
for family in (socket.AF_NETLINK, socket.AF_PACKET):
    try: socket.socket(family); print('made')
    except OSError as e: print(e.errno)
"""
    hot = outcomes(casemate, code, 1)[0]
    cold = casemate.call(*TRUSTED, "--start", "cold", "-c", code).outcome
    assert cold["timing"]["start"] == "cold"
    assert hot["stdout"]["text"] == cold["stdout"]["text"]
    assert hot["limits"] == cold["limits"]


ENDS = ["raise SystemExit(3)", "import os; os._exit(4)", "1 / 0", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os; os.abort()", "x = bytearray(1 << 30)", "while True: pass", "import time; time.sleep(99)",
        "import os\nwhile True: os.write(1, b'x' * 65536)", "import ctypes; ctypes.string_at(0)",
        "import subprocess; subprocess.Popen(['sleep', '60'])", "raise KeyboardInterrupt"]  # fmt: skip


@pytest.mark.parametrize("code", ENDS, ids=[code.splitlines()[-1][:30] for code in ENDS])
def test_an_end_is_that_of_a_cold_box(casemate: Casemate, code: str) -> None:
    options = ["--memory", "256MiB", "--wall", "6s", "--cpu-time", "1s"]  # of this machine: conftest.scaled
    hot = outcomes(casemate, code, 1, *options)[0]
    cold = casemate.call(*TRUSTED, "--start", "cold", *options, "-c", code).outcome
    for what in ("status", "exit_code", "signal", "reason"):
        assert hot.get(what) == cold.get(what), (hot, cold)
    assert (hot.get("limit") or {}).get("name") == (cold.get("limit") or {}).get("name")
    assert (hot.get("exception") or {}).get("type") == (cold.get("exception") or {}).get("type")


@pytest.mark.parametrize("code", ENDS, ids=[code.splitlines()[-1][:30] for code in ENDS])
def test_an_end_is_the_same_on_the_engines_own_processor(casemate: Casemate, code: str) -> None:
    """Where the engine sleeps at once instead of looking on, so that the guest may run."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        test_an_end_is_that_of_a_cold_box(casemate, code)
    finally:
        os.sched_setaffinity(0, processors)


def test_a_product_comes_out_of_a_slot(casemate: Casemate, tmp_path: Path) -> None:
    code = "import casemate; open('a.txt', 'w').write('kept'); casemate.artifact('a.txt', summary='s')"
    (found,) = outcomes(casemate, code, 1, "--out", str(tmp_path / "out"))
    assert [one["state"] for one in found["artifacts"]] == ["stored"]
    assert (tmp_path / "out/a.txt").read_text() == "kept"


def _role(pid: int) -> str:
    """What one of our processes is: warden, zygote, init of a nest or slot, guest."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])
        above = Path(f"/proc/{parent}/cmdline").read_bytes().decode()
        spaces = Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].splitlines()[0].split()
    except (OSError, ValueError, IndexError):
        return ""
    if "_zygote" in line:
        return "zygote" if len(spaces) == 2 else "guest"
    if "warden" in line:
        return "init" if "warden" in above else "warden"
    return ""


@pytest.mark.parametrize("role", ["zygote", "init", "warden", "guest"])
@pytest.mark.parametrize("seed", range(3))
def test_a_kill_leaves_nothing_and_hurts_only_what_it_must(casemate: Casemate, role: str, seed: int) -> None:
    """A zygote's end costs its slots to come, never a run; the others end runs, which say so."""
    process = casemate.start(*TRUSTED, "--repeat", "8", "-c", "import time; time.sleep(0.2); print('ran')")
    assert wait_for(lambda: "zygote" in {_role(pid) for pid in descendants(process.pid)}, 20 * SLOW)
    time.sleep(0.15 * seed)
    victims = [pid for pid in descendants(process.pid) if _role(pid) == role]
    for pid in victims[:1]:
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=60 * SLOW)
    found = [json.loads(line) for line in out.splitlines()]
    assert found, err
    for one in found:
        assert one["status"] in ("ok", "error", "unavailable"), one
        assert one["status"] != "ok" or one["stdout"]["text"] == "ran\n", one
        assert one["teardown"]["verdict"] == "destroyed" or one["status"] == "unavailable", one
    if role == "warden":  # what it left is removed by the next
        assert casemate.run("-c", "print(1)").outcome["status"] == "ok"
    if role == "zygote":
        assert [one["status"] for one in found] == ["ok"] * 8, found


def test_a_slot_yields_the_processors_until_it_is_parked(casemate: Casemate) -> None:
    """Its share is whole again when the program runs, as in a cold box."""
    if not Path("/sys/fs/cgroup/cpu/cpu.shares").exists() or os.geteuid() != 0:
        pytest.skip("needs root and version 1 of the processor group")
    process = subprocess.Popen(
        [casemate.binary, *TRUSTED, "--start", "hot", "-c", "import time; time.sleep(3)"],
        stdout=subprocess.PIPE, env=os.environ | {"XDG_RUNTIME_DIR": str(casemate.runtime)}, cwd=casemate.folder,
    )  # fmt: skip
    seen: dict[str, list[str]] = {}
    while process.poll() is None:
        for group in box_groups(Path("/sys/fs/cgroup/cpu")):
            try:
                share = (group / "cpu.shares").read_text().strip()
            except OSError:
                continue
            kept = seen.setdefault(group.name, [])
            if kept[-1:] != [share]:
                kept.append(share)
        time.sleep(0.002)
    assert process.wait() == 0
    assert any(kept[-2:] == ["102", "1024"] for kept in seen.values()), seen


def held_by(process: subprocess.Popen[bytes]) -> dict[str, int]:
    """What the engine, its warden and the boxes have of the host now."""
    family = descendants(process.pid)
    ours = [process.pid, *(pid for pid in family if _role(pid) == "warden")]
    instances = _instances(family)
    return {
        "descriptors": sum(map(_descriptors, ours)),
        "pages": sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in ours),
        "mounts": sum(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()) for pid in ours),
        "networks": len(set(filter(None, (_network(pid) for pid in family)))),
        "groups": sum(group.name.split(".")[1] in instances for group in box_groups(Path("/sys/fs/cgroup"))),
    }


def _instances(family: dict[int, str]) -> set[str]:
    """The instances whose groups these processes are in: i3 of casemate.i3.b17. Others may run beside us."""
    found: set[str] = set()
    for pid in family:
        try:
            found |= set(re.findall(r"/casemate\.(i\d+)\.b", Path(f"/proc/{pid}/cgroup").read_text()))
        except OSError:
            pass  # It has just ended.
    return found


def box_groups(top: Path) -> list[Path]:
    """Our groups below `top`. Others come and go during the walk, which a glob of pathlib's does not survive."""
    return [Path(at, name) for at, names, _ in os.walk(top) for name in names if name.startswith("casemate.i")]


def _network(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def _descriptors(pid: int) -> int:
    """How many a process holds. The warden lets nobody but root look into it: 0 for others."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return 0


def test_soak_leaves_no_growth(casemate: Casemate) -> None:
    """Thousands of slots in one process: it holds no more at the end than when it was warm."""
    count = int(os.environ.get("CASEMATE_SOAK_SLOTS", "2000" if SLOW == 1 else "200"))
    process = subprocess.Popen(
        [casemate.binary, *TRUSTED, "--start", "hot", "--repeat", str(count), "-c", "print(1)"],
        stdout=subprocess.PIPE, env=os.environ | {"XDG_RUNTIME_DIR": str(casemate.runtime)}, cwd=casemate.folder,
    )  # fmt: skip
    assert process.stdout
    # Some slots more or less may be there at the moment; a zygote is replaced after 500.
    room = {"descriptors": 60, "pages": 600, "mounts": 4, "networks": 6, "groups": 40}
    # What is kept of the last 16,384 slots (kDestroyedVolumesMax) takes 2.5 MB; from then on nothing may grow.
    full = 20_000
    early: dict[str, int] = {}
    for number, line in enumerate(process.stdout, 1):
        outcome = json.loads(line)
        assert outcome["status"] == "ok" and outcome["teardown"]["verdict"] == "destroyed", outcome
        early = held_by(process) if number in (100, full) else early
        if number == count - 5 or number % 10_000 == 0:
            late = held_by(process)
            print(f"{number} slots: {late}, before {early}", flush=True)
            assert all(late[name] <= early[name] + room[name] for name in room), (number, early, late)
            assert late["networks"] > 0 and late["groups"] > 0, late
    assert process.wait(60 * SLOW) == 0
