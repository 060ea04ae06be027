"""What casemate offers to a program that runs in one of its boxes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from casemate._artifacts import artifact as artifact
    from casemate._errors import ToolDenied as ToolDenied
    from casemate._errors import ToolError as ToolError
    from casemate._tools import tools as tools

_WHERE = {"artifact": "_artifacts", "tools": "_tools", "ToolDenied": "_tools", "ToolError": "_tools"}
__all__ = ["ToolDenied", "ToolError", "artifact", "tools"]


def __getattr__(name: str) -> object:
    # Loaded on first use: every run imports this package, few programs use what it has.
    if name in _WHERE:
        found = getattr(__import__("casemate." + _WHERE[name], fromlist=[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted(__all__)
