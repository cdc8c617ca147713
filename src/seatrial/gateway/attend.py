"""What stands at the door beside the policy: whoever may answer, alter or follow up an action."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from seatrial.environment.delta import Delta, Result
from seatrial.journal.events import ActionFinished, Outcome


class Observation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the agent is shown. ``done`` says that no further action will be taken.

    ``compact`` asks the agent to make its context shorter before it acts again; see ``agents.runtime``.
    """

    text: str
    outcome: Outcome
    exit_code: int | None = None
    done: bool = False
    compact: dict[str, Any] | None = None


@dataclass
class Asked:
    """One request under way.

    Attributes:
        step: its number.
        arguments: checked against the tool; whoever edits them says so in the journal.
        key: idempotency key; null without one.
    """

    step: int
    tool: str
    arguments: dict[str, Any]
    key: str | None = None


@dataclass
class Window:
    """What executing one action gave, before it is written down.

    Attributes:
        text: what is shown.
        result: of the sandbox; null for tools that run elsewhere.
        delta: what changed; null where nothing can have.
        notes: for ``action.finished``.
        tool_us: of a handler, where there is no ``result``.
        approval_us: waited for a person, on the trial clock.
        away_us: the part of that in which somebody really waited.
        recovery_us: put back what was prevented; ``undone`` counts the paths.
        windows: constraints that could not be watched.
        calls: tool and arguments of requests that the action sent to services by HTTP.
    """

    outcome: Outcome
    text: str
    exit_code: int | None = None
    result: Result | None = None
    delta: Delta | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    tool_us: int = 0
    approval_us: int = 0
    away_us: int = 0
    recovery_us: int = 0
    undone: int = 0
    windows: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


# Runs a tool that is none of the sandbox's; ``delta`` of its window is filled in by the gateway.
Handler = Callable[[Asked], Window]


class Attendant(Protocol):
    """Called synchronously for each action, in the order a trial lists its attendants."""

    def admit(self, asked: Asked) -> Window | None:
        """After the policy, before execution: a window is the answer in place of executing."""

    def executed(self, asked: Asked, window: Window) -> None:
        """After execution, before anything is written: may alter what is shown and the outcome."""

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """After ``action.finished`` is written: triggers, changes of the world and of the goal."""

    def shown(self, asked: Asked, observation: Observation) -> Observation:
        """The last word on what the agent is told; what is added here must be in the journal."""


class Idle:
    """An attendant that does nothing; others override what they need."""

    def admit(self, asked: Asked) -> Window | None:
        """See ``Attendant``."""

    def executed(self, asked: Asked, window: Window) -> None:
        """See ``Attendant``."""

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """See ``Attendant``."""

    def shown(self, asked: Asked, observation: Observation) -> Observation:
        """See ``Attendant``."""
        return observation
