"""casemate.tools: the granted capabilities as functions.

    from casemate import tools, ToolDenied, ToolError

    rows = tools.ledger.read(tenant="acme")                       # waits
    rows = await tools.ledger.read.aio(tenant="acme")             # asyncio; gather() runs them in parallel
    rows = tools["ledger.read"](tenant="acme")                    # by its exact name
    tools.search("invoice")                                       # what there is; help(tools.ledger.read) tells more

Names are looked up on the other side when they are called or looked at, so a catalogue of thousands costs
nothing until then. A name that Python does not take is spelled with _ for each character that it minds, and
a keyword with _ after it, as argument as well: mail.send(from_=...).
"""

from keyword import iskeyword

# What calls need is here once and for all: an import that a signal's handler interrupts may leave its lock held.
from casemate import _bridge, _values, _wire
from casemate._errors import ToolDenied, ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the other side answers about its catalogue itself. No capability's name begins like this.
_SEARCH, _DESCRIBE, _NAMES = "casemate.search", "casemate.describe", "casemate.names"


class Capability:
    """A capability, or what its name begins with. Calling it calls the capability."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "Any":
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "aio":
            return _Aio(self._name)
        return Capability(f"{self._name}.{name}")

    def __call__(self, *positional: object, **arguments: object) -> "Any":
        if positional:
            raise TypeError(f"{self._name}() takes named arguments only: {self._name}(name=value)")
        return call(self._name, arguments)

    def __dir__(self) -> "list[str]":
        return _beneath(self._name + ".") + ["aio"]

    def __repr__(self) -> str:
        return f"<capability {self._name}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        try:
            return str(call(_DESCRIBE, {"name": self._name}))
        except ToolError as error:
            return str(error)

    @property
    def __name__(self) -> str:
        return self._name


class Tools:
    """See the module."""

    def __getattr__(self, name: str) -> Capability:
        if name.startswith("__"):
            raise AttributeError(name)
        return Capability(name)

    def __getitem__(self, name: str) -> Capability:
        return Capability(name)

    def __dir__(self) -> "list[str]":
        return [*_beneath(""), "call", "describe", "search"]

    def __repr__(self) -> str:
        return "<the capabilities of this run: tools.search('...'), dir(tools)>"

    @staticmethod
    def call(name: str, arguments: "dict[str, Any]") -> "Any":
        """Calls a capability by its exact name."""
        return call(name, arguments)

    @staticmethod
    def search(query: str = "", limit: int = 20) -> "list[dict[str, str]]":
        """The capabilities that fit best, each with `name`, `signature` and `summary`. All of them, with no query."""
        found: "list[dict[str, str]]" = call(_SEARCH, {"query": query, "limit": limit})
        return found

    @staticmethod
    def describe(name: str) -> str:
        """A capability's whole description, with the types of its arguments and of its result."""
        return str(call(_DESCRIBE, {"name": name}))


class _Aio:
    """A capability for asyncio."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    async def __call__(self, **arguments: object) -> "Any":
        from casemate import _aio

        return await _aio.call(self._name, arguments)

    def __repr__(self) -> str:
        return f"<capability {self._name}, for asyncio>"


def call(name: str, arguments: "dict[str, Any]") -> "Any":
    """Calls and waits. Raises ToolDenied, ToolError."""
    bridge = _bridge.bridge()
    text = encoded(name, arguments)
    pending = _bridge.Pending()
    bridge.call(name, text, pending)
    return result(name, pending)


def encoded(name: str, arguments: "dict[str, Any]") -> bytes:
    """The arguments as they are sent. Raises ToolError for what cannot be."""
    for key in arguments:
        if key[-1:] == "_":
            arguments = _without_marks(arguments)
            break
    try:
        return _values.encode(arguments)
    except (TypeError, ValueError) as error:
        raise ToolError(name, "invalid", str(error)) from None


def _without_marks(arguments: "dict[str, Any]") -> "dict[str, Any]":
    return {key[:-1] if key[-1:] == "_" and iskeyword(key[:-1]) else key: value for key, value in arguments.items()}


def result(name: str, pending: "_bridge.Pending") -> "Any":
    """The value of an answer, or the exception that it is."""
    if pending.lost:
        raise ToolError(name, "lost", pending.lost, None)
    text = b"".join(pending.pieces.values())
    pending.pieces.clear()
    if pending.status == _wire.REPLY_VALUE:
        try:
            return _values.decode(text, pending.typed)
        except ValueError as error:
            raise ToolError(name, "result", f"the result cannot be held: {error}", None) from None
    told = _values.decode(text, [])
    name = told.get("capability", name)
    if pending.status == _wire.REPLY_DENIED:
        raise ToolDenied(name, told.get("message", ""), told.get("rule", ""), told.get("reason", ""))
    raise ToolError(name, told.get("code", ""), told.get("message", ""), told.get("effect"), told.get("data"))


def _beneath(prefix: str) -> "list[str]":
    try:
        return [str(name) for name in call(_NAMES, {"prefix": prefix})]
    except ToolError:
        return []


tools = Tools()
__all__ = ["ToolDenied", "ToolError", "tools"]
