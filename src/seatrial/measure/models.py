"""What a trial's model calls used: counts of the endpoint, summed; null when one of them is unknown (C5)."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from seatrial.journal.calls import turned_away, used_money, used_tokens
from seatrial.journal.events import AgentStarted, Event, ModelCalled, TrialEnded

ANSWERED = frozenset({"ok", "bad_tool_call"})
N = TypeVar("N", int, float)


class ModelCosts(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; see there."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    model_calls: int | None = None
    model_retries: int | None = None
    model_failures: int | None = None
    money: float | None = None
    currency: str | None = None


def count_model_calls(events: Sequence[Event]) -> ModelCosts:
    """Add up the model calls of one journal; all null where a call could have been made unseen.

    A call is written down when it is over. A journal that breaks off may therefore lack one, unless its agent
    had no way to a model. ``cached_tokens`` is null when an answered call does not say how many were, and
    ``money`` when calls were made and none had a price, not even a refused one; neither is a zero.
    """
    agents = [event.details.get("model_calls") for event in events if isinstance(event, AgentStarted)]
    if not agents or any(seen not in ("proxy", "none") for seen in agents):
        return ModelCosts()
    if "proxy" in agents and not any(isinstance(event, TrialEnded) for event in events):
        return ModelCosts()
    calls = [event for event in events if isinstance(event, ModelCalled)]
    tokens = [used_tokens(call) for call in calls]
    priced = any(call.currency is not None or call.money is not None for call in calls)
    cached = [0 if turned_away(call) else call.cached_tokens for call in calls]
    return ModelCosts(
        input_tokens=whole_sum((None if used is None else used[0] for used in tokens), 0),
        output_tokens=whole_sum((None if used is None else used[1] for used in tokens), 0),
        cached_tokens=whole_sum(cached, 0),
        model_calls=len(calls),
        model_retries=sum(call.attempt > 1 for call in calls),
        model_failures=sum(call.call_class not in ANSWERED for call in calls),
        money=whole_sum((used_money(call) for call in calls), 0.0) if priced or not calls else None,
        currency=next((call.currency for call in calls if call.currency is not None), None),
    )


def whole_sum(parts: Iterable[N | None], nothing: N) -> N | None:
    """The sum, or null when a part is unknown."""
    total = nothing
    for part in parts:
        if part is None:
            return None
        total += part
    return total
