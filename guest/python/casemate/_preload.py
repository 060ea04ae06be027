"""What a slot has imported before its program comes: the preload sets."""

import gc
from io import IOBase

import _casemate_slot

from casemate import _ending, _slot

# What programs import often and what costs little to have: some 30 ms and 2 MiB in all. Each page
# counts at every fork, which is why asyncio (11 ms alone), logging and their like are not here.
_BARE = (
    "_strptime base64 bisect calendar collections collections.abc contextlib copy csv dataclasses datetime"
    " decimal enum fractions functools glob hashlib heapq inspect io itertools json math numbers operator os"
    " pathlib pickle pprint random re secrets shutil statistics string struct tempfile textwrap time"
    " traceback types typing unicodedata urllib.parse uuid zlib"
).split()
_NUMPY = ["numpy", "numpy.random", "numpy.linalg"]
SETS = {"bare": _BARE, "numpy": _BARE + _NUMPY, "pandas": _BARE + _NUMPY + ["pandas"]}
# What the runner loads when a program ends otherwise than by reaching its end.
_OWN = ("_artifacts", "_hints", "_report", "_result")


def load(preload: str) -> None:
    """Imports the set `preload`, and what the runner itself may come to need."""
    _slot.note_start()
    for name in SETS[preload]:
        __import__(name)
    if preload == "pandas":
        from casemate import _preload_figures

        _preload_figures.load()
    for name in _OWN:
        __import__("casemate." + name)
    _empty_buffers()
    _slot.note_preloaded()
    _ending.note_preloaded()


def _empty_buffers() -> None:
    """Writes what imports have printed to where descriptors 1 and 2 lead here, which is nowhere.

    In a slot they are a run's output, and what a buffer still holds would be flushed into it. Before
    anything is frozen, or the collector does not know of all.
    """
    for held in gc.get_objects():
        if issubclass(type(held), IOBase):
            try:
                held.flush()
            except Exception:
                pass  # It is closed, or nobody writes to it.
    _casemate_slot.empty_buffers()
