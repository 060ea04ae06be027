"""Where the program is that the tests here run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

Policy = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def policy() -> Policy:
    """`casemate policy` with these words; `text` is its standard input."""

    def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        program = [os.environ["CASEMATE_BIN"], "policy", *words]
        return subprocess.run(program, input=text, capture_output=True, text=True, timeout=600, check=False)

    return run
