"""What looks from outside whether an attack worked. See base.Observer."""

from __future__ import annotations

from observers import files, limits, network, processes, words
from observers.base import Observer

_MODULES = (files, limits, network, processes, words)

__all__ = ["Observer", "named"]


def named(name: str) -> type[Observer]:
    """The observer class of this name (snake_case for the class's CamelCase)."""
    wanted = "".join(part.capitalize() for part in name.split("_"))
    for module in _MODULES:
        found = getattr(module, wanted, None)
        if isinstance(found, type) and issubclass(found, Observer):
            return found
    raise KeyError(f"no observer {wanted}")
