"""When a perturbation fires: the ``when`` of ``task.toml`` as one trigger."""

from dataclasses import dataclass, field
from typing import Any, Literal

from seatrial.spec.patterns import Pattern, compile_pattern

Kind = Literal["action", "checkpoint", "compaction", "effect_attempted", "file_read", "subgoal_verified"]
TRIGGERS: tuple[Kind, ...] = (
    "action", "checkpoint", "compaction", "effect_attempted", "file_read", "subgoal_verified",
)  # fmt: skip
# They are met by an action that has not run yet, so that its own execution or answer can be altered.
BEFORE: frozenset[Kind] = frozenset({"action", "effect_attempted"})


@dataclass(frozen=True)
class Trigger:
    """One trigger; only what belongs to its kind is set.

    Attributes:
        subgoal: whose first pass it waits for.
        pattern: of the file whose reading it waits for.
        call: ``{tool, where}`` of the action it waits for; without a tool any will do.
    """

    kind: Kind
    subgoal: str | None = None
    pattern: Pattern | None = None
    call: dict[str, Any] = field(default_factory=dict)

    @property
    def tool(self) -> str | None:
        """The tool it waits for; null for any."""
        return self.call.get("tool")


def trigger_of(when: dict[str, Any]) -> Trigger:
    """The trigger that a checked ``when`` declares."""
    ((key, value),) = when.items()
    kind = next(known for known in TRIGGERS if known == key)
    if kind == "subgoal_verified":
        return Trigger(kind, subgoal=value)
    if kind == "file_read":
        return Trigger(kind, pattern=compile_pattern(value))
    return Trigger(kind, call=value if isinstance(value, dict) else {})
