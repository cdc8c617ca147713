"""Means of measured quantities over trials. Tasks are the sampling unit."""

import math
from collections.abc import Sequence
from statistics import fmean

from seatrial.estimate.clustered import NO_SPREAD, clustered_t
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import (
    ONE_TASK,
    Values,
    count_trials,
    count_unknown,
    measured,
    refuse_what_is_no_number,
    scope_notes,
)
from seatrial.estimate.ways import over_ways

ANYTHING = (-math.inf, math.inf)


def mean_over_tasks(
    values: Values, quantity: str, level: float = 0.95, limits: tuple[float, float] = ANYTHING
) -> Estimate:
    """Mean of the tasks' own means, every task counting once, with the t interval over tasks.

    With one task the interval is over its trials and labelled as speaking of that task only. There is none
    where nothing varies. Where values are unknown the mean is null; between finite limits the interval then
    covers every way they may have come out, else there is none.

    Args:
        values: task to the values of its valid trials; null is unknown.
        quantity: what the value counts, for errors, for example "actions" or "seconds".
        level: confidence level, in (0, 1).
        limits: least and greatest possible value; the interval is cut there.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    refuse_what_is_no_number(values, quantity)
    unknown = count_unknown(values)
    if unknown and all(map(math.isfinite, limits)):
        return over_ways(values, limits, lambda known: mean_over_tasks(known, quantity, level, limits))
    known = measured(values)
    n_trials = count_trials(known)
    notes = scope_notes(values)
    low = high = None
    if unknown or not known:
        notes += [f"Unknown in {unknown} of {n_trials} trials."] if unknown else []
        value, method = None, "none"
    else:
        # The trials of one task stand as its sample; of several tasks, the tasks do.
        alone = {str(i): [v] for i, v in enumerate(next(iter(known.values())))} if len(known) == 1 else None
        over = clustered_t(known if alone is None else alone, level, limits=limits)
        value, low, high = over.value, over.low, over.high
        method = f"t over trials, {ONE_TASK}" if alone else "mean of task means, t over tasks"
        notes += [f"The mean speaks of {ONE_TASK}."] if alone else []
        notes += [nothing_varies(len(alone or known), bool(alone))] if low is None else []
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method=method,
        unit="tasks" if len(known) != 1 else "trials of one task",
        n_tasks=len(known),
        n_trials=n_trials,
        notes=notes,
    )


def nothing_varies(n: int, within: bool) -> str:
    """Why there is no interval over ``n`` trials or tasks."""
    if not within:
        return NO_SPREAD
    if n == 1:
        return "No interval: one trial shows no spread."
    return "No interval: all trials agree, so nothing shows how much they differ."


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product, as METR averages human times.

    Args:
        values: all above 0, for example minutes.

    Raises:
        ValueError: there is none, or one is zero, negative, NaN or infinite.
    """
    if not values or not all(0 < value < math.inf for value in values):
        raise ValueError(f"geometric_mean({list(values)}): needs finite values above 0")
    return math.exp(fmean(map(math.log, values)))
