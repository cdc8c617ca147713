"""The Estimate: a number that says how sure it is, by what method, and over what it was taken."""

import msgspec


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """One estimated quantity; null is unknown and is printed so.

    Attributes:
        value: point estimate; null when unknown outcomes could move it.
        low, high: interval at ``level``; null when no interval is offered. Where outcomes are unknown the
            interval covers both extremes.
        level: confidence level, in (0, 1).
        method: how value and interval were computed, in a few words.
        unit: what was sampled: the interval speaks of repeating that.
        n_tasks, n_trials: how many of each the value rests on.
        notes: what a reader must know beside the number, as whole sentences.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str
    unit: str
    n_tasks: int
    n_trials: int
    notes: list[str] = []
