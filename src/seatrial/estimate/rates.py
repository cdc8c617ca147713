"""Rates of yes-or-no outcomes. Tasks are the sampling unit; trials of one task speak of that task only.

The default interval over tasks is Wilson's on the effective number of trials: with rates near an end and few
tasks the t interval covers too little (.86 at a mean of .9 over 10 tasks, stated .95) and may have no width,
and Wilson's on the pooled trials ignores that trials of one task are alike (.70 to .81).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import ONE_TASK, Outcomes, count_trials, count_unknown, measured, scope_notes
from seatrial.estimate.ways import YES_NO, Ways, bounds_note, fillings, task_ways

DEFAULT_METHOD = "Wilson on the effective number of trials"


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a binomial rate (Wilson 1927).

    With p = successes/n and z the normal quantile of (1 + level)/2:
    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n).

    Args:
        successes: 0 … n; need not be whole, since an effective number of trials is not.
        n: independent trials, at least 1.
        level: confidence level, in (0, 1).

    Returns:
        Low and high, in [0, 1]; low is exactly 0 without successes, high exactly 1 without failures.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= successes <= n or not 1 <= n < math.inf or not 0 < level < 1:
        raise ValueError(
            f"wilson({successes}, {n}, {level}): needs 0 <= successes <= n, n >= 1, 0 < level < 1"
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate, spread = successes / n, z * z / n
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else min(rate, max(0.0, middle - half))
    high = 1.0 if successes == n else max(rate, min(1.0, middle + half))
    return low, high


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval for a binomial rate (Clopper and Pearson 1934): never covers less than ``level``.

    The beta quantiles B((1 − level)/2; s, n − s + 1) and B((1 + level)/2; s + 1, n − s).

    Args:
        successes: 0 … n.
        n: independent trials, at least 1.
        level: confidence level, in (0, 1).

    Returns:
        Low and high, in [0, 1].

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= successes <= n or n < 1 or not 0 < level < 1:
        raise ValueError(
            f"clopper_pearson({successes}, {n}, {level}): needs 0 <= successes <= n, n >= 1, 0 < level < 1"
        )
    # Loaded here, since the commands that need no exact interval should not wait for it.
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def jeffreys(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Equal-tailed interval of a rate under Jeffreys' prior Beta(½, ½).

    The beta quantiles B((1 ∓ level)/2; s + ½, n − s + ½), but 0 without successes and 1 without failures
    (Brown, Cai and DasGupta 2001).

    Args:
        successes: 0 … n; need not be whole.
        n: independent trials, at least 1.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= successes <= n or not 1 <= n < math.inf or not 0 < level < 1:
        raise ValueError(
            f"jeffreys({successes}, {n}, {level}): needs 0 <= successes <= n, n >= 1, 0 < level < 1"
        )
    # Loaded here for the same reason.
    from scipy.special import betaincinv

    tail, one, other = (1 - level) / 2, successes + 0.5, n - successes + 0.5
    low = 0.0 if successes == 0 else float(betaincinv(one, other, tail))
    high = 1.0 if successes == n else float(betaincinv(one, other, 1 - tail))
    return low, high


def effective_trials(rates: Sequence[float], counts: Sequence[int]) -> float:
    """How many independent trials would say as much about the mean of the tasks' rates.

    p(1 − p) / (s²/m), with p the mean and s² the sample variance of the m tasks' rates: trials over Kish's
    design effect. At least m, since a task says no less than one trial does; at most m²/Σ(1/nᵢ), which is
    the number of trials where every task has as many. With all successes or all failures it is m: nothing is
    then known of how alike the trials of one task are.

    Args:
        rates: each task's rate, in [0, 1].
        counts: each task's trials, at least 1.

    Raises:
        ValueError: no task, a rate out of range, or a task without trials.
    """
    if not rates or len(rates) != len(counts):
        raise ValueError(f"effective_trials: {len(rates)} rates and {len(counts)} counts; one of each a task")
    if min(counts) < 1 or not all(0 <= rate <= 1 for rate in rates):
        raise ValueError("effective_trials: rates lie in [0, 1] and every task has a trial")
    tasks, mean = len(rates), fmean(rates)
    most = tasks**2 / math.fsum(1 / count for count in counts)
    if tasks == 1 or mean in (0.0, 1.0):
        return float(tasks)
    error = variance(rates) / tasks
    return most if error == 0 else max(tasks, min(most, mean * (1 - mean) / error))


def wilson_effective(
    rates: Sequence[float], counts: Sequence[int], level: float = 0.95
) -> tuple[float, float]:
    """Wilson's interval for the mean of the tasks' rates, on the effective number of trials.

    Args:
        rates: each task's rate, in [0, 1]; their order does not matter.
        counts: each task's trials, at least 1.
        level: confidence level, in (0, 1).

    Returns:
        Low and high, in [0, 1], never of zero width.

    Raises:
        ValueError: an argument is out of range.
    """
    n = effective_trials(rates, counts)
    return wilson(min(n, fmean(rates) * n), n, level)


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
        notes += bounds_note([successes / n, (successes + unknown) / n], unknown)
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


def rate_over_tasks(outcomes: Outcomes, level: float = 0.95) -> Estimate:
    """Success rate over tasks, every task counting once, with the default interval.

    With one task this is ``rate_of_trials``. Unknown outcomes stay in the denominator; the interval then
    covers every way they may have come out, and the value is null.

    Args:
        outcomes: task to the outcomes of its valid trials; tasks without any are left out and noted.
        level: confidence level, in (0, 1).
    """
    judged = measured(outcomes)
    if len(judged) <= 1:
        alone = rate_of_trials(next(iter(judged.values()), []), level)
        fields = {field: getattr(alone, field) for field in alone.__struct_fields__}
        return Estimate(**{**fields, "notes": alone.notes + scope_notes(outcomes)})
    counts = [len(trials) for trials in judged.values()]
    ways = rate_ways(judged)
    ends = [wilson_effective(rates, counts, level) for rates in ways.found]
    means = [fmean(rates) for rates in ways.found]
    unknown = count_unknown(judged)
    effective = min(effective_trials(rates, counts) for rates in ways.found)
    notes = [f"Worth {effective:.3g} independent trials of the {count_trials(judged)}."]
    if unknown:
        notes += [*bounds_note(means, unknown), *ways.note]
    return Estimate(
        value=None if unknown else means[0],
        low=min(low for low, _ in ends),
        high=max(high for _, high in ends),
        level=level,
        method=DEFAULT_METHOD,
        unit="tasks",
        n_tasks=len(judged),
        n_trials=count_trials(judged),
        notes=notes + scope_notes(outcomes),
    )


def rate_ways(judged: Outcomes) -> Ways[float]:
    """The tasks' rates in the ways unknown outcomes may have come out; one way where none is unknown."""
    choices = [[fmean(way) for way in fillings(trials, YES_NO)] for trials in judged.values()]
    # Tasks of as many trials only: others weigh otherwise in the effective number.
    return task_ways(choices, float, [str(len(trials)) for trials in judged.values()])
