"""What the trial spent, in raw units; a sum is null when one of its parts was not metered (C5, C14)."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.journal.events import ActionFinished, ActionRequested, Event
from seatrial.measure.violations import TALK, never_finished


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns. Actions count gateway requests; ``*_us`` are microseconds.

    Attributes:
        unknown_actions: outcome unknown, or requested and never finished.
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
    elapsed_us: int
    model_us: int | None
    queue_us: int | None
    tool_us: int | None
    approval_us: int | None
    recovery_us: int | None
    cpu_us: int | None


def count_costs(events: Sequence[Event]) -> Costs:
    """Add up the actions of one journal."""
    asked = [event for event in events if isinstance(event, ActionRequested)]
    finished = [event for event in events if isinstance(event, ActionFinished)]
    outcomes = Counter(event.outcome for event in finished)
    lost = len(never_finished(events))
    talk = {event.step for event in asked if event.tool in TALK}
    # A denied request and the gateway's own tools run nothing, so a part they lack was not spent.
    ran = [event.cost for event in finished if event.outcome != "denied" and event.step not in talk]
    return Costs(
        actions=len(asked),
        shell_actions=sum(event.tool == "shell" for event in asked),
        failed_actions=outcomes["failed"],
        partial_actions=outcomes["partial"],
        denied_actions=outcomes["denied"],
        unknown_actions=outcomes["unknown"] + lost,
        malformed_actions=sum(bool(event.notes.get("malformed")) for event in finished),
        semantic_units=None if lost else sum(event.cost.units for event in finished),
        elapsed_us=max((event.elapsed for event in events), default=0),
        model_us=metered((event.cost.model_us for event in finished), lost),
        queue_us=metered((cost.queue_us for cost in ran), lost),
        tool_us=metered((cost.tool_us for cost in ran), lost),
        approval_us=metered((cost.approval_us for cost in ran), lost),
        recovery_us=metered((cost.recovery_us for cost in ran), lost),
        cpu_us=metered((cost.cpu_us for cost in ran), lost),
    )


def metered(parts: Iterable[int | None], lost: int) -> int | None:
    """Sum of the parts; null when one is null or an action's cost was lost with it."""
    values = list(parts)
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and not lost else None
