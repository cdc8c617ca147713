"""The Estimate: a number that says how sure it is, by what method, and over what it was taken."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

Ends = tuple[float | None, float | None]
NO_ENDS: Ends = (None, None)


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


class Said(NamedTuple):
    """What every estimate of one table says of itself; see ``Estimate``."""

    level: float
    unit: str
    n_tasks: int
    n_trials: int
    notes: Sequence[str] = ()


def say(value: float | None, ends: Ends, method: str, said: Said, more: Sequence[str] = ()) -> Estimate:
    """One estimate of a table, with notes of its own behind the table's."""
    return Estimate(
        value=value,
        low=ends[0],
        high=ends[1],
        level=said.level,
        method=method,
        unit=said.unit,
        n_tasks=said.n_tasks,
        n_trials=said.n_trials,
        notes=[*said.notes, *more],
    )
