"""What casemate offers to a program that runs in one of its boxes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from casemate._artifacts import artifact as artifact

__all__ = ["artifact"]


def __getattr__(name: str) -> object:
    # Loaded on first use: every run imports this package, few declare an artifact.
    if name == "artifact":
        from casemate._artifacts import artifact

        globals()[name] = artifact
        return artifact
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted(__all__)
