"""A reader that does not read must not keep Ctrl-C from ending the run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import remains

FLOOD = "import sys\nfor _ in range(40): sys.stdout.write('x' * 65536)\nimport time; time.sleep(60)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_whose_reader_sleeps_can_be_cancelled(binaries: Path, number: int) -> None:
    before = remains.look(binaries)
    reading, writing = os.pipe()
    command = [binaries / "casemate", "run", "--trust", "trusted", "--output", "16MiB", "--wall", "50s", "-c", FLOOD]
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    time.sleep(1.5)  # by now it waits in the full pipe; earlier, the signal is an ordinary one
    run.send_signal(number)
    assert run.wait(20) == 6
    os.close(reading)
    assert remains.left(before, remains.look(binaries)) == {}
