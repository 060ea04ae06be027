"""Hostile guests run against the same program, with the same proof that nothing is left."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from e2e.conftest import casemate, nothing_left, runtime  # noqa: E402

__all__ = ["casemate", "nothing_left", "runtime"]
