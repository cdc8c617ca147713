"""Success by human length, without a curve's assumptions."""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, measured

BIN_EDGES = (1.0, 4.0, 15.0, 60.0, 240.0, 960.0)


class LengthBin(msgspec.Struct, frozen=True, kw_only=True):
    """Success on tasks of ``low <= minutes < high``, beside what the fitted curve says of them (or null)."""

    low: float
    high: float
    rate: Estimate
    fitted: float | None


def length_bins(
    outcomes: Outcomes,
    minutes: Mapping[str, float],
    level: float = 0.95,
    edges: Sequence[float] = BIN_EDGES,
    curve: tuple[float, float] | None = None,
) -> list[LengthBin]:
    """Success by length, with counts and the default interval for a rate; every bin, empty ones too.

    Args:
        outcomes: task to the outcomes of its valid trials.
        minutes: human minutes of every task with a trial.
        level: confidence level, in (0, 1).
        edges: rising inner edges; the first bin starts at 0 and the last has no end.
        curve: intercept and slope of a fit against log2 minutes, for its mean chance over the bin's tasks.

    Raises:
        ValueError: a task without minutes, minutes not above 0 or infinite, or edges that do not rise.
    """
    refuse_minutes(list(measured(outcomes)), minutes)
    if list(edges) != sorted(set(edges)) or not all(0 < edge < math.inf for edge in edges):
        raise ValueError(f"length_bins: edges {list(edges)}; give finite, rising minutes above 0")
    bounds = [0.0, *edges, math.inf]
    found = []
    for low, high in itertools.pairwise(bounds):
        inside = {task: outcomes[task] for task in measured(outcomes) if low <= minutes[task] < high}
        fitted = None
        if curve and inside:
            odds = curve[0] + curve[1] * np.log2([minutes[task] for task in inside])
            fitted = float((1 / (1 + np.exp(-np.clip(odds, -700, 700)))).mean())
        rate = rate_over_tasks(inside, level)
        found.append(LengthBin(low=low, high=high, rate=rate, fitted=fitted))
    return found


def refuse_minutes(tasks: Sequence[str], minutes: Mapping[str, float]) -> None:
    """Refuse tasks whose human time is no length.

    Raises:
        ValueError: naming the first such task.
    """
    for task in tasks:
        if task not in minutes:
            raise ValueError(f"horizon: no human minutes of {task}. Give them, or leave the task out.")
        if not 0 < minutes[task] < math.inf:
            raise ValueError(f"horizon: {minutes[task]} minutes of {task}. Give a finite number above 0.")
