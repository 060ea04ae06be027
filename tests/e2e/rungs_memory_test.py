"""A program's limit of memory ends it as in a jail where its machine is its own: at the limit, soon, and whole."""

from __future__ import annotations

import json
import shutil

import pytest
from conftest import Casemate

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="needs qemu-system-x86_64")

FILL = "pieces = []\nwhile True: pieces.append(bytearray(1 << 22))"
# The parent would go on if its child alone were ended, which is the first that is.
CHILD = f"""import os, time
if (pid := os.fork()) == 0:
    {FILL.replace(chr(10), chr(10) + '    ')}
os.waitpid(pid, 0)
time.sleep(3)
print('went on', flush=True)"""


@pytest.mark.parametrize("memory_mib", [128, 512])
@pytest.mark.parametrize("code", [FILL, CHILD], ids=["fill", "child"])
@pytest.mark.parametrize("isolation", ["jail", "microvm"])
def test_memory_that_is_full_ends_the_program(casemate: Casemate, isolation: str, code: str, memory_mib: int) -> None:
    """A machine too small for the limit would be busy with its own memory until the wall clock ends it."""
    how = ["--isolation", isolation, "--trust", "trusted", "--start", "cold", "--memory", f"{memory_mib}MiB"]
    ended = casemate.call("run", "--json", *how, "--wall", "60s", "--cpu-time", "60s", "-c", code, timeout=120)
    outcome = json.loads(ended.stdout)
    assert outcome["status"] == "limit" and outcome["limit"]["name"] == "memory", outcome
    assert outcome["limit"]["used"] == outcome["limit"]["ceiling"] == memory_mib << 20
    assert outcome["stdout"]["text"] == ""
