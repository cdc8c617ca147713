"""Rates of yes-or-no outcomes. Tasks are the sampling unit; trials of one task speak of that task only."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean

from seatrial.estimate.estimate import Estimate

ONE_TASK = "this task only"


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a binomial rate (Wilson 1927).

    With p = successes/n and z the normal quantile of (1 + level)/2:
    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n).

    Args:
        successes: 0 … n.
        n: independent trials, at least 1.
        level: confidence level, in (0, 1).

    Returns:
        Low and high, in [0, 1]; low is exactly 0 without successes, high exactly 1 without failures.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= successes <= n or n < 1 or not 0 < level < 1:
        raise ValueError(
            f"wilson({successes}, {n}, {level}): needs 0 <= successes <= n, n >= 1, 0 < level < 1"
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate, spread = successes / n, z * z / n
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return low, high


def rate_of_trials(outcomes: Sequence[bool | None], level: float = 0.95) -> Estimate:
    """Success rate of repeated trials of ONE task, labelled as speaking of that task only.

    Unknown outcomes stay in the denominator: the interval runs from the low end with all of them failures
    to the high end with all of them successes, and the value is then null.

    Args:
        outcomes: one per valid trial; null is unknown.
        level: confidence level, in (0, 1).
    """
    n, successes, unknown = len(outcomes), outcomes.count(True), outcomes.count(None)
    if n == 0:
        return Estimate(
            value=None,
            level=level,
            method="none",
            unit="trials",
            n_tasks=0,
            n_trials=0,
            notes=["No valid trial."],
        )
    notes = [f"The interval speaks of {ONE_TASK}."]
    if unknown:
        notes.append(bounds_note(successes / n, (successes + unknown) / n, unknown))
    return Estimate(
        value=None if unknown else successes / n,
        low=wilson(successes, n, level)[0],
        high=wilson(successes + unknown, n, level)[1],
        level=level,
        method=f"Wilson, {ONE_TASK}",
        unit="trials of one task",
        n_tasks=1,
        n_trials=n,
        notes=notes,
    )


def rate_over_tasks(outcomes: Mapping[str, Sequence[bool | None]], level: float = 0.95) -> Estimate:
    """Success rate over tasks: the mean of the tasks' own rates, every task counting once.

    With one task this is ``rate_of_trials``. With several no interval is given: pooling their trials would
    be too narrow under clustering (coverage .70 to .81 at a stated .95), and intervals over tasks are not
    built yet.

    Args:
        outcomes: task to the outcomes of its valid trials; tasks without any are left out and noted.
        level: confidence level, in (0, 1).
    """
    judged = {task: trials for task, trials in outcomes.items() if trials}
    empty = [f"No valid trial of {task}." for task in outcomes if not outcomes[task]]
    if len(judged) <= 1:
        alone = rate_of_trials(next(iter(judged.values()), []), level)
        return Estimate(
            **{**{f: getattr(alone, f) for f in alone.__struct_fields__}, "notes": alone.notes + empty}
        )
    low = fmean(trials.count(True) / len(trials) for trials in judged.values())
    high = fmean(1 - trials.count(False) / len(trials) for trials in judged.values())
    unknown = sum(trials.count(None) for trials in judged.values())
    notes = ["No interval over tasks in this release; one over pooled trials would be too narrow."]
    if unknown:
        notes.append(bounds_note(low, high, unknown))
    return Estimate(
        value=None if unknown else low,
        level=level,
        method="mean of task rates",
        unit="tasks",
        n_tasks=len(judged),
        n_trials=sum(len(trials) for trials in judged.values()),
        notes=notes + empty,
    )


def bounds_note(low: float, high: float, unknown: int) -> str:
    """The range the rate may take, in words."""
    return f"Between {low:.3g} and {high:.3g}: {unknown} unknown {'outcome' if unknown == 1 else 'outcomes'}."
