"""What a call of a capability can raise. A run that is ended (time, memory, cancelled) raises nothing: it ends."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


class ToolError(Exception):
    """A call that has no result.

    `capability` is its name; `code` one word: `not_granted`, `invalid` (the arguments), `failed` (the tool
    says so), `timeout`, `unavailable`, `exhausted`, `lost`; `message` what is wrong, for whoever reads it.
    `effect` is False when it is sure that nothing was done, None when it is not known: do not simply call
    again then.
    """

    def __init__(
        self, capability: str, code: str, message: str, effect: "Optional[bool]" = False, data: object = None
    ) -> None:
        super().__init__(capability, code, message)
        self.capability = capability
        self.code = code
        self.message = message
        self.effect = effect
        self.data = data

    def __reduce__(self) -> "Any":
        return _again, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return f"{self.capability}: {self.message}" if self.capability else self.message


class ToolDenied(ToolError):
    """A call that policy did not allow. Nothing was done. `rule` is the rule that decided, `reason` its reason."""

    def __init__(self, capability: str, message: str, rule: str, reason: str) -> None:
        super().__init__(capability, "denied", message)
        self.rule = rule
        self.reason = reason


def _again(kind: "type[ToolError]", arguments: "Any", content: "dict[str, Any]") -> "ToolError":
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(content)
    return error
