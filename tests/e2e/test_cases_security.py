"""Rows of reference kind `security` (and `tool-callback`) that concern one run of one program."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, SLOW, Casemate, descendants

MIB = 1 << 20
DOCUMENTED = {
    "CASEMATE_MEMORY_BYTES", "HOME", "LANG", "LOGNAME", "MPLBACKEND", "MPLCONFIGDIR", "PATH", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH", "SHELL", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME",
}  # fmt: skip


def test_B117_safety_does_not_rest_on_the_language(casemate: Casemate) -> None:
    code = """
subs = ().__class__.__base__.__subclasses__()
P = [c for c in subs if c.__name__ == "Popen"] or [__import__("subprocess").Popen]
P[0](["id"]).wait()
try: print(open("/etc/shadow").read()[:20])
except OSError as e: print(type(e).__name__)
"""
    outcome = casemate.python(code).outcome
    identity, shadow = outcome["stdout"]["text"].splitlines()
    assert re.match(r"uid=1000(\(\w+\))? gid=1000", identity) and "root" not in identity
    assert shadow in ("FileNotFoundError", "PermissionError")


@pytest.mark.parametrize(
    "act",
    [
        "os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.chroot('/')", "os.chown('f', 0, 0)", "os.mknod('d', 0o20666, 259)",
        "os.unshare(0)", "os.sethostname('x')", "os.nice(-5)", "os.kill(1, 9)", "open('/usr/bin/x', 'w')",
        "open('/usr/lib/casemate/python/casemate/_runner.py', 'w')", "open('/proc/1/environ').read()", "open('/proc/1/mem')",
        "open('/dev/kmsg')", "open('/proc/sys/kernel/core_pattern', 'w')", "os.listdir('/sys')", "open('/proc/kcore', 'rb')",
        "os.link('/etc/passwd', 'l')", "os.symlink('x', '/etc/x')",
    ],
)  # fmt: skip
def test_B117_what_needs_privilege_is_refused(casemate: Casemate, act: str) -> None:
    call = act if not act.startswith(("os.unshare", "os.sethostname")) else {
        "os.unshare(0)": "ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0 or fail()",
        "os.sethostname('x')": "__import__('socket').sethostname('x')",
    }[act]  # fmt: skip
    code = (
        "import ctypes, os\nopen('f', 'w').close()\ndef fail(): raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"
        f"try: {call}\nexcept OSError as e: print('refused')\nelse: print('allowed')"
    )
    assert casemate.python(code).outcome["stdout"]["text"] == "refused\n"


SECRETS = {
    "APP_API_KEY": "k-3141",
    "SERVICE_TOKEN": "t-2718",
    "DATABASE_URL": "postgres://u:pw-1618@h/db",
    "MY_PASSWORD": "pw-1414",
}


def test_B119_the_environment_is_built_and_not_inherited(casemate: Casemate) -> None:
    script = (
        "printenv | grep -Ei 'key|token|secret|passw|redis|postgres|database'; tr '\\0' '\\n' < /proc/1/environ 2>/dev/null | head;"
        " cat /proc/self/mountinfo | grep -Ei 'docker' | head -3; tr '\\0' '\\n' < /proc/self/environ | grep -c ="
    )
    outcome = casemate.bash(script, env=SECRETS).outcome
    assert re.fullmatch(r"\d+\n", outcome["stdout"]["text"]), outcome["stdout"]["text"]
    code = "import os, pathlib\nprint(*sorted(os.environ))\nprint([p.read_bytes() for p in pathlib.Path('/proc').glob('*/environ')])"
    text = casemate.python(code, env=SECRETS).outcome["stdout"]["text"]
    assert set(text.splitlines()[0].split()) == DOCUMENTED
    for secret in ("3141", "2718", "1618", "1414", str(casemate.runtime)):
        assert secret not in text


def test_B119_no_path_of_the_host_is_seen(casemate: Casemate) -> None:
    code = (
        "import pathlib\nfor name in ('mountinfo', 'maps', 'cgroup', 'cmdline', 'status', 'environ', 'mounts'):\n"
        "    try: print(name, pathlib.Path('/proc/self/' + name).read_bytes().decode(errors='replace'))\n"
        "    except OSError as e: print(name, e)\n"
    )
    text = casemate.python(code).outcome["stdout"]["text"]
    for trace in (
        "/var/lib/casemate",
        str(ROOT),
        str(casemate.binary.parent),
        os.uname().nodename,
        str(casemate.folder),
    ):
        assert trace not in text, trace
    assert not re.search(r"overlay .*(?:lowerdir=/|upperdir=/)", text)


def test_B120_no_secret_on_any_command_line(casemate: Casemate) -> None:
    token = "token-" + os.urandom(6).hex()
    code = (
        "import os, pathlib, time\nprint([p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')])\n"
        f"print(len([n for n in os.listdir('/proc') if n.isdigit()]))\nprint('ready', flush=True)\ntime.sleep(20)  # {token}"
    )
    process = casemate.start("run", "--trust", "trusted", "--env", f"KEY={token}", "-")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(code.encode())
    process.stdin.close()
    lines: list[bytes] = []
    while not lines or lines[-1] != b"ready\n":
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read() if process.stderr else ""
    inside, count = lines[0].decode(), int(lines[1])
    children = {pid: command for pid, command in descendants().items() if pid != process.pid}
    environs = [Path(f"/proc/{pid}/environ").read_bytes() for pid in children]
    process.terminate()
    process.stdout.close()
    process.wait(20 * SLOW)
    if process.stderr:
        process.stderr.close()
    assert token not in inside and count <= 2
    assert children and not any(token in command for command in children.values())
    assert not any(token.encode() in environ for environ in environs)


LIMITS: list[tuple[str, str, str, float, str, str]] = [
    ("--memory", "64MiB", "memory_bytes", 64 * MIB, "os.environ['CASEMATE_MEMORY_BYTES']", "67108864"),
    ("--cpus", "0.5", "cpus", 0.5, "len(os.sched_getaffinity(0))", "1"),
    ("--wall", "7s", "wall_ms", 7000 * SLOW, "0", "0"),
    ("--cpu-time", "6s", "cpu_time_ms", 6000 * SLOW, "0", "0"),
    ("--disk", "8MiB", "disk_bytes", 8 * MIB, "os.statvfs('/work').f_blocks * os.statvfs('/work').f_frsize", "8388608"),
    ("--file-size", "2MiB", "file_size_bytes", 2 * MIB, "resource.getrlimit(resource.RLIMIT_FSIZE)[1]", "2097152"),
    ("--pids", "20", "pids", 20, "0", "0"),
    ("--open-files", "40", "open_files", 40, "resource.getrlimit(resource.RLIMIT_NOFILE)[1]", "40"),
    ("--output", "4KiB", "output_bytes", 4096, "0", "0"),
]


@pytest.mark.parametrize(("option", "value", "field", "number", "probe", "seen"), LIMITS)
def test_B123_B140_a_setting_has_the_effect_that_is_told(
    casemate: Casemate, option: str, value: str, field: str, number: float, probe: str, seen: str
) -> None:
    outcome = casemate.python(f"import os, resource\nprint({probe})", option, value).outcome
    assert outcome["status"] == "ok", outcome["report"]
    assert outcome["limits"]["requested"][field] == outcome["limits"]["effective"][field] == number
    if SLOW == 1:
        assert list(outcome["limits"]["requested"]) == [field]
    assert outcome["stdout"]["text"] == seen + "\n"


@pytest.mark.parametrize(
    "option",
    ["--memroy=64MiB", "--isolaton=jail", "--no-network", "--network=none", "--mem=64MiB", "--cpu=1", "--tools=x", "--trust=TRUSTED",
     "--isolation=micro-vm", "--isolation=none", "--weaken=everything", "--weaken=below-floor"],
)  # fmt: skip
def test_B123_a_misspelt_setting_is_an_error(casemate: Casemate, option: str) -> None:
    ended = casemate.call("run", "--trust", "trusted", option, "-c", "print('ran')")
    assert ended.exit_code == 2
    assert ended.stdout == b"" and "ran" not in ended.stderr


def test_B124_without_any_option_a_run_has_a_kernel_of_its_own_and_nothing_is_open(casemate: Casemate) -> None:
    code = "import os, socket\nprint(os.environ.get('HOME'), os.listdir('/work'))\nsocket.create_connection(('192.0.2.1', 80), 3)"
    ended = casemate.call("run", "--json", "-c", code)
    if shutil.which("runsc") is None:
        assert ended.exit_code == 3 and ended.outcome["stdout"]["text"] == ""
        return
    assert ended.outcome["isolation"] == "gvisor" and "below_floor" not in ended.outcome
    assert ended.outcome["stdout"]["text"] == "/vol/home ['out']\n"
    assert ended.outcome["exception"]["type"] == "OSError"


def test_B125_no_tool_is_granted_unless_it_is_named(casemate: Casemate) -> None:
    code = "import os\nprint(sorted(k for k in os.environ if 'TOOL' in k), os.path.exists('/tools'))"
    assert casemate.python(code).outcome["stdout"]["text"] == "[] False\n"
    outcome = casemate.python("from casemate import tools\ntools.ledger.read()").outcome
    (call,) = outcome["calls"]
    assert (outcome["status"], call["verdict"], call["status"]) == ("error", "", "not_granted")


ENDINGS: dict[str, tuple[str, list[str], tuple[str, int | str | None]]] = {
    "ok": ("pass", [], ("ok", 0)),
    "exit 3": ("raise SystemExit(3)", [], ("error", 3)),
    "exception": ("1/0", [], ("error", 1)),
    "signal": ("import os; os.abort()", [], ("error", None)),
    "wall": ("import time; time.sleep(60)", ["--wall", "1s"], ("limit", "wall")),
    "cpu": ("while True: pass", ["--cpu-time", "300ms"], ("limit", "cpu_time")),
    "memory": ("x = bytearray(300 << 20)", ["--memory", "64MiB"], ("limit", "memory")),
    "output": ("while True: print('x' * 999)", ["--output", "1KiB"], ("limit", "output")),
    "disk": ("open('f', 'wb').write(bytes(9 << 20))", ["--disk", "4MiB"], ("error", 1)),
    "refused": ("pass", ["--trust", "hostile"], ("refused", "isolation_unavailable")),
}


def test_B134_each_ending_has_words_of_its_own(casemate: Casemate) -> None:
    seen = set()
    for name, (code, options, (status, detail)) in ENDINGS.items():
        outcome = casemate.run(*options, "-c", code).outcome
        assert outcome["status"] == status, (name, outcome["report"])
        first = outcome["report"].splitlines()[0]
        assert first.startswith(f"status: {status}")
        if status == "limit":
            assert outcome["limit"]["name"] == detail and f"({detail})" in first.replace(", ", ")(")
        elif status == "refused":
            assert outcome["reason"]["code"] == detail
        else:
            assert outcome.get("exit_code") == detail
        met = [entry["name"] for entry in outcome["limits_met"]]
        assert met == (["disk"] if name == "disk" else []), name
        seen.add((status, outcome.get("exit_code"), outcome.get("signal"), str(detail), str(met)))
    assert len(seen) == len(ENDINGS)
