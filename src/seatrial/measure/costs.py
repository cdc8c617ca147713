"""What the trial spent, in raw units; a sum is null when one of its parts was not metered (C5, C14)."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from seatrial.journal.events import ActionFinished, ActionRequested, Event, TrialEnded
from seatrial.measure.models import count_model_calls
from seatrial.measure.violations import TALK, never_finished


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns. Actions count gateway requests; ``*_us`` are microseconds.

    Attributes:
        unknown_actions: outcome unknown, or requested and never finished.
        elapsed_us, model_us, queue_us: null also where the journal breaks off, for it lacks the turn that
            was under way then.
        semantic_units: one per file a tool wrote, at least one per action.
    """

    actions: int
    shell_actions: int
    failed_actions: int
    partial_actions: int
    denied_actions: int
    unknown_actions: int
    malformed_actions: int
    semantic_units: int | None
    elapsed_us: int | None
    model_us: int | None
    queue_us: int | None
    tool_us: int | None
    approval_us: int | None
    recovery_us: int | None
    cpu_us: int | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    model_calls: int | None
    model_retries: int | None
    model_failures: int | None
    money: float | None
    currency: str | None


def count_costs(events: Sequence[Event]) -> Costs:
    """Add up the actions of one journal."""
    asked = [event for event in events if isinstance(event, ActionRequested)]
    finished = [event for event in events if isinstance(event, ActionFinished)]
    outcomes = Counter(event.outcome for event in finished)
    lost = len(never_finished(events))
    talk = {event.step for event in asked if event.tool in TALK}
    idle = [event.step in talk or ran_nothing(event) for event in finished]
    end = next((event for event in reversed(events) if isinstance(event, TrialEnded)), None)

    def spent(part: str) -> int | None:
        return metered([getattr(event.cost, part) for event in finished], idle, lost)

    def in_turns(part: str) -> int | None:
        # The last turn led to no action: the last line says what it took.
        known, last = spent(part), end.last_turn if end is not None else None
        after = getattr(last, part) if last is not None else None
        return None if known is None or after is None else known + after

    return Costs(
        actions=len(asked),
        shell_actions=sum(event.tool == "shell" for event in asked),
        failed_actions=outcomes["failed"],
        partial_actions=outcomes["partial"],
        denied_actions=outcomes["denied"],
        unknown_actions=outcomes["unknown"] + lost,
        malformed_actions=sum(bool(event.notes.get("malformed")) for event in finished),
        semantic_units=None if lost else sum(event.cost.units for event in finished),
        elapsed_us=None if end is None else max(event.elapsed for event in events),
        model_us=in_turns("model_us"),
        queue_us=in_turns("queue_us"),
        tool_us=spent("tool_us"),
        approval_us=spent("approval_us"),
        recovery_us=spent("recovery_us"),
        cpu_us=spent("cpu_us"),
        **msgspec.structs.asdict(count_model_calls(events)),
    )


def ran_nothing(event: ActionFinished) -> bool:
    """Whether the request was turned away: a part of the cost it lacks was then not spent."""
    return event.outcome == "denied" or bool(event.notes.get("malformed"))


def metered(parts: Sequence[int | None], idle: Sequence[bool], lost: int) -> int | None:
    """Sum of one part of the cost; null when an action that ran lacks it or an action's cost was lost."""
    if lost or any(part is None and not nothing for part, nothing in zip(parts, idle, strict=True)):
        return None
    return sum(part or 0 for part in parts)
