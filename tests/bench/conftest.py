"""`casemate bench` as a whole, with the same proof that nothing is left."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.conftest import casemate, nothing_left, runtime  # noqa: E402

__all__ = ["casemate", "nothing_left", "runtime"]
