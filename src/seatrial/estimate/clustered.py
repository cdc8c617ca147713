"""Means whose trials come in clusters: the t interval with clusters as the sampling unit."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.student import t_quantile
from seatrial.estimate.trials import Values, all_known, count_trials, scope_notes

Weigh = Literal["tasks", "trials"]
# Below this share of the values' size a spread is what rounding left of zero.
ROUNDING = 1e-12
NO_SPREAD = "No interval: all tasks agree, so nothing shows how much tasks differ."


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over tasks and its standard error.

    Attributes:
        mean: in the values' unit.
        error: standard error of the mean, CR1; null with one task, which shows no spread between tasks.
        n_tasks, n_trials: how many of each.
    """

    mean: float
    error: float | None
    n_tasks: int
    n_trials: int


def clustered_spread(values: Values, weigh: Weigh = "tasks") -> Spread:
    """Mean and cluster-robust standard error (CR1; Miller 2024, "Adding error bars to evals").

    se² = C/(C − 1) · Σ_g (Σ_i w_gi (x_gi − x̄))², over C tasks g, with w = 1/(C·n_g) where tasks count once
    each (then se = sd of the task means / √C) and w = 1/n where every trial does.

    Args:
        values: task to the values of its trials; tasks without any are left out.
        weigh: what counts once each.

    Raises:
        ValueError: a value is unknown or no finite number, or there is no trial.
    """
    known = all_known(values, "clustered_spread")
    tasks, trials = len(known), count_trials(known)
    means = [fmean(group) for group in known.values()]
    shares = [1 / tasks if weigh == "tasks" else len(group) / trials for group in known.values()]
    mean = math.fsum(share * value for share, value in zip(shares, means, strict=True))
    error = None
    if tasks > 1:
        parts = [share * (value - mean) for share, value in zip(shares, means, strict=True)]
        error = math.sqrt(tasks / (tasks - 1) * math.fsum(part * part for part in parts))
        if negligible(error, means):
            error = 0.0
    return Spread(mean=mean, error=error, n_tasks=tasks, n_trials=trials)


def clustered_t(
    values: Values,
    level: float = 0.95,
    weigh: Weigh = "tasks",
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Mean with the t interval over tasks: mean ± t(level, tasks − 1) · CR1 standard error.

    Args:
        values: task to the values of its trials; tasks without any are left out and noted.
        level: confidence level, in (0, 1).
        weigh: what counts once each.
        limits: least and greatest possible value; the interval is cut there.

    Returns:
        Without an interval, and with the reason, where there is one task or all tasks agree.

    Raises:
        ValueError: a value is unknown or no finite number, or there is no trial.
    """
    spread = clustered_spread(values, weigh)
    low = high = None
    notes = scope_notes(values)
    if spread.error is None:
        notes.append("No interval: one task shows no spread between tasks.")
    elif spread.error == 0:
        notes.append(NO_SPREAD)
    else:
        half = t_quantile(level, spread.n_tasks - 1) * spread.error
        low, high = max(limits[0], spread.mean - half), min(limits[1], spread.mean + half)
    return Estimate(
        value=spread.mean,
        low=low,
        high=high,
        level=level,
        method=f"clustered t (CR1, {spread.n_tasks - 1} degrees of freedom), {weigh} count once each",
        unit="tasks",
        n_tasks=spread.n_tasks,
        n_trials=spread.n_trials,
        notes=notes,
    )


def negligible(spread: float, values: Sequence[float]) -> bool:
    """Whether a spread is no more than what rounding makes of equal values."""
    return spread <= ROUNDING * max(map(abs, values), default=0.0)


def design_effect(trials_per_task: float, icc: float) -> float:
    """By how much clustering multiplies the variance of a mean: 1 + (m − 1)·ICC (Kish 1965).

    Args:
        trials_per_task: m, at least 1.
        icc: correlation of two trials of one task, in [−1, 1].

    Raises:
        ValueError: an argument is out of range.
    """
    if not trials_per_task >= 1 or not -1 <= icc <= 1:
        raise ValueError(f"design_effect({trials_per_task}, {icc}): needs m >= 1 and -1 <= icc <= 1")
    return 1 + (trials_per_task - 1) * icc
