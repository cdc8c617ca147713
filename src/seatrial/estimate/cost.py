"""Cost per success: what all attempts cost, failed ones too, over the successes among them."""

import math

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, Floats, percentile_interval, task_weights
from seatrial.estimate.clustered import ROUNDING
from seatrial.estimate.estimate import NO_ENDS, Estimate, Said, say
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.student import t_quantile
from seatrial.estimate.trials import (
    ONE_TASK,
    Outcomes,
    Values,
    completed,
    count_trials,
    count_unknown,
    measured,
    refuse_what_is_no_number,
    scope_notes,
)

CHUNK = 1_000_000
EndsBy = tuple[float | None, float | None, str]  # low, high and the method that gave them

BY_FIELLER = "ratio of totals, Fieller's over tasks"
BY_DRAWS = "ratio of totals, bootstrap over tasks, percentile"
BY_RATE = "ratio of totals, ends from the success rate's interval, mean cost taken as known"


class CostPerSuccess(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio of totals with two intervals.

    Attributes:
        estimate: the ratio; its interval is Fieller's while ``instability`` is below 1, which covers better
            with few tasks (.95 against .89 of a stated .95 at 10), else the bootstrap's, infinite where
            samples hold no success.
        fieller: Fieller's interval; null with one task, or where nothing varies.
        bootstrap: the percentile interval over tasks; null with one task, or where draws agree.
        instability: Fieller's g; from 1 on, the mean number of successes is not told apart from zero and
            the interval has no upper end. Null without Fieller's interval.
        draws, draws_without_success: bootstrap samples, and those whose ratio is infinite.
    """

    estimate: Estimate
    fieller: tuple[float, float] | None = None
    bootstrap: tuple[float, float] | None = None
    instability: float | None = None
    draws: int = 0
    draws_without_success: int = 0

    @property
    def wider(self) -> Estimate:
        """The ratio with the outer ends of both intervals, for decisions that must not rest on the choice."""
        told, ends = self.estimate, (self.fieller, self.bootstrap)
        if told.low is None or told.high is None or not any(ends):
            return told
        low = min(told.low, *(end[0] for end in ends if end))
        high = max(told.high, *(end[1] for end in ends if end))
        if (low, high) == (told.low, told.high):
            return told
        method = "ratio of totals, over tasks: the outer ends of Fieller's interval and the bootstrap's"
        return msgspec.structs.replace(told, low=low, high=high, method=method)


def cost_per_success(
    costs: Values,
    successes: Outcomes,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> CostPerSuccess:
    """Total cost over total successes, with Fieller's interval and a bootstrap over tasks.

    Args:
        costs: task to the cost of every attempt, failed and repeated ones included, each at least 0.
        successes: task to the outcomes of its valid trials, of the same tasks; empty for a task without any,
            whose costs are paid all the same. Unknown outcomes are taken both ways, and the value is then
            null.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Returns:
        Infinite, with the reason, where no trial succeeded; its low end is then the cost of all attempts to a
        valid trial over the highest success rate the trials allow.

    Raises:
        ValueError: the two are of different tasks, or a cost is negative, NaN or infinite.
    """
    if set(costs) != set(successes):
        other = sorted(set(costs) ^ set(successes))
        raise ValueError(f"cost per success: {other[0]} has costs or outcomes only; give both for every task")
    refuse_what_is_no_number(costs, "cost per success")
    if any(cost is not None and cost < 0 for trials in costs.values() for cost in trials):
        raise ValueError("cost per success: a cost is below 0")
    judged = measured(successes)
    if reason := _no_ratio(costs, judged):
        notes = [f"No ratio: {reason}.", *scope_notes(successes)]
        tasks = len(measured(costs))
        return CostPerSuccess(estimate=say(None, NO_ENDS, "none", _said(tasks, judged, level), notes))
    # Tasks without a valid trial come last: they are paid for and hold no success.
    paid = [costs[task] for task in [*judged, *(t for t in measured(costs) if t not in judged)]]
    totals = np.array([math.fsum(sorted(c for c in trials if c is not None)) for trials in paid])
    ways = [_ratio(totals, completed(judged, way), rng, level, draws) for way in (False, True)]
    notes = scope_notes(successes)
    if lost := len(totals) - len(judged):
        amount, whole = math.fsum(totals[-lost:]), math.fsum(totals)
        notes.append(
            f"{lost} {'task' if lost == 1 else 'tasks'} without a valid trial cost {amount:g} of {whole:g}; "
            "that is paid for, with no success."
        )
    if not count_unknown(judged):
        return msgspec.structs.replace(ways[0], estimate=_with_notes(ways[0].estimate, notes))
    worst, best = ways
    notes.append(f"{count_unknown(judged)} unknown outcomes, taken both ways.")
    between = msgspec.structs.replace(best.estimate, value=None, high=worst.estimate.high)
    outer = [
        _outer(one, other)
        for one, other in ((worst.fieller, best.fieller), (worst.bootstrap, best.bootstrap))
    ]
    return CostPerSuccess(
        estimate=_with_notes(between, [*worst.estimate.notes, *notes]),
        fieller=outer[0],
        instability=worst.instability if outer[0] else None,
        bootstrap=outer[1],
        draws=worst.draws,
        draws_without_success=worst.draws_without_success,
    )


def _outer(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    """The least interval that holds both; null unless there are both."""
    if one is None or other is None:
        return None
    return min(one[0], other[0]), max(one[1], other[1])


def ratio_draws(totals: Floats, counts: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Bootstrap distribution, over tasks, of total cost over total successes.

    Args:
        totals, counts: each task's cost and successes, shape (tasks,).
        rng: source of all randomness.
        draws: bootstrap samples, at least 1.

    Returns:
        Shape (draws,); infinite, never dropped, where a sample holds no success.

    Raises:
        ValueError: shapes differ, there is no task, or no draw.
    """
    if totals.shape != counts.shape or not len(totals) or draws < 1:
        raise ValueError(f"ratio_draws: shapes {totals.shape} and {counts.shape}, {draws} draws")
    found, step = np.full(draws, np.inf), max(1, CHUNK // len(totals))
    for start in range(0, draws, step):
        part = found[start : start + step]
        weights = task_weights(len(totals), len(part), rng)
        successes = weights @ counts
        np.divide(weights @ totals, successes, out=part, where=successes > 0)
    return found


def fieller(totals: Floats, counts: Floats, level: float = 0.95) -> tuple[tuple[float, float], float] | None:
    """Fieller's interval (1954) for the ratio of the means of ``totals`` and ``counts``, and its g.

    The ratios R for which (x̄ − R·ȳ)² <= t²·(s_xx − 2R·s_xy + R²·s_yy)/m, with t of m − 1 degrees; and
    g = t²·s_yy/(m·ȳ²). From g = 1 on the set has no upper end; the part that holds the estimate is given.

    Args:
        totals, counts: each task's cost and successes, shape (tasks,), at least 0.
        level: confidence level, in (0, 1).

    Returns:
        (low, high) and g; null with fewer than two tasks, without success, or where nothing varies.
    """
    tasks = len(totals)
    if tasks < 2 or counts.sum() == 0:
        return None
    spread = t_quantile(level, tasks - 1) ** 2 * np.cov(totals, counts) / tasks
    x, y = float(totals.mean()), float(counts.mean())
    a, b, c = y * y - spread[1, 1], x * y - spread[0, 1], x * x - spread[0, 0]
    g, root = float(spread[1, 1] / (y * y)), float(np.sqrt(max(0.0, b * b - a * c)))
    if g >= 1:
        low = (b - root) / a if a < 0 and b * b > a * c else 0.0
        return (max(0.0, float(low)) if low <= x / y else 0.0, math.inf), g
    ends = max(0.0, float((b - root) / a)), float((b + root) / a)
    return (ends, g) if ends[1] > ends[0] * (1 + ROUNDING) else None


def _no_ratio(costs: Values, judged: Outcomes) -> str | None:
    """Why there is no ratio; null when there is one."""
    if not judged:
        return "there is no valid trial"
    if unknown := count_unknown(costs):
        return f"a cost is unknown ({unknown} of {count_trials(costs)} attempts)"
    if missing := [task for task in judged if not len(costs[task])]:
        return f"a cost is unknown (none is given for {missing[0]})"
    return None


def _ratio(
    totals: Floats, outcomes: dict[str, list[bool]], rng: np.random.Generator, level: float, draws: int
) -> CostPerSuccess:
    """The ratio where every outcome is known; totals of tasks without outcomes come after the others."""
    counts = np.zeros(len(totals))
    counts[: len(outcomes)] = [sum(trials) for trials in outcomes.values()]
    value = float(totals.sum() / counts.sum()) if counts.any() else math.inf
    said = _said(len(totals), outcomes, level)
    by_rate = _ends_by_rate(float(totals.sum()), value, outcomes, level)
    if not counts.any():
        notes = ["No trial succeeded, so the ratio is infinite."]
        return CostPerSuccess(estimate=say(value, by_rate[:2], by_rate[2], said, notes))
    sample = ratio_draws(totals, counts, rng, draws)
    low, high = percentile_interval(sample, level)
    empty = int(np.isinf(sample).sum())
    notes = (
        [f"{empty} of {draws} bootstrap samples hold no success; their ratio is infinite."] if empty else []
    )
    around = fieller(totals, counts, level)
    ends: EndsBy = (low, high, BY_DRAWS)
    alike = len(totals) == 1 or high <= low * (1 + ROUNDING)
    if around is not None and around[1] < 1:
        ends = (*around[0], BY_FIELLER)
    elif alike:
        ends = by_rate
        notes.append("The bootstrap shows no spread: ends from the success rate are given instead.")
    return CostPerSuccess(
        estimate=say(value, ends[:2], ends[2], said, notes),
        fieller=around[0] if around else None,
        bootstrap=None if alike else (low, high),
        instability=around[1] if around else None,
        draws=draws,
        draws_without_success=empty,
    )


def _ends_by_rate(total: float, value: float, outcomes: Outcomes, level: float) -> EndsBy:
    """Cost per valid trial over each end of the success rate's default interval."""
    rate = rate_over_tasks(outcomes, level)
    cost = total / count_trials(outcomes)
    low = min(value, cost / rate.high) if rate.high else math.inf
    high = max(value, cost / rate.low) if rate.low else math.inf
    return low, high, BY_RATE


def _said(tasks: int, outcomes: Outcomes, level: float) -> Said:
    return Said(level, "tasks" if tasks != 1 else f"trials, {ONE_TASK}", tasks, count_trials(outcomes))


def _with_notes(estimate: Estimate, notes: list[str]) -> Estimate:
    return msgspec.structs.replace(estimate, notes=[*estimate.notes, *notes])
