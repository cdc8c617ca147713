"""Aalen and Johansen (1978): how many have ended by one cause, where others end trials too.

F(b), the share that has succeeded within budget b, is the incidence of success: a trial that gave up counts
against it for ever, one whose budget ran out only until then. One minus Kaplan and Meier's curve would treat
those that gave up as if they might still succeed, and say too much.
"""

from collections.abc import Sequence

import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.clustered import Weigh
from seatrial.estimate.endings import (
    DRAWS,
    SUCCESS,
    UNKNOWN,
    Endings,
    LifeTable,
    drawn,
    incidence_curves,
    life_table,
    one_sample,
    survival_curves,
    unknown_ends,
    value_at,
)
from seatrial.estimate.survival import Band, Curve, beyond, step_curve
from seatrial.estimate.timed import Reading, Timed, both_ways, log_log, no_trials, timed

METHOD = "Aalen–Johansen"


def cumulative_incidence(
    endings: Endings,
    rng: np.random.Generator,
    cause: str = SUCCESS,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Curve:
    """Share of trials that have ended by one cause, after each place of the axis.

    Args:
        endings: task to the end of every valid trial; all causes are told apart.
        rng: source of all randomness.
        cause: the cause asked for.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each: a task or a trial.

    Returns:
        It steps at the events of any cause, so the curves of all causes and of survival share their places.

    Raises:
        ValueError: a place is negative, NaN or infinite, or there is no draw.
    """
    table = life_table(endings, "cumulative_incidence", weigh)
    values = incidence_curves(table, one_sample(table), cause)[0]
    sample = (
        drawn(table, rng, draws, lambda w: incidence_curves(table, w, cause))
        if len(table.tasks) > 1
        else None
    )
    unknown = unknown_ends(endings) if cause != UNKNOWN else 0
    notes = (
        [f"{unknown} endings of unknown cause count as by another: the curve is a least one."]
        if unknown
        else []
    )
    computed = (values, sample, incidence_band(table, cause, level))
    return step_curve(table, endings, cause, computed, (level, f"{METHOD}, cause {cause}", notes))


def success_within(
    endings: Endings,
    budgets: Sequence[float],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> list[Timed]:
    """F(b): the share of trials that succeed within each budget, on whatever axis the endings are.

    Args:
        endings: task to the end of every valid trial; the cause "success" is the one asked for.
        budgets: each at least 0. Beyond the longest watched trial the share is unknown, so null.
        rng: source of all randomness; all budgets share their draws.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each.

    Raises:
        ValueError: a place or budget is negative, NaN or infinite, or there is no draw.
    """
    if bad := [budget for budget in budgets if not 0 <= budget < np.inf]:
        raise ValueError(f"success_within: budget {bad[0]}; give finite numbers of at least 0")

    def read(ends: Endings, chance: np.random.Generator) -> list[Timed]:
        return _within(life_table(ends, "success_within", weigh), ends, budgets, chance, (level, draws))

    return both_ways(endings, rng, read)


def _within(
    table: LifeTable,
    endings: Endings,
    budgets: Sequence[float],
    rng: np.random.Generator,
    how: tuple[float, int],
) -> list[Timed]:
    """F at each budget where all causes are known; ``how`` is the level and the number of draws."""
    level, draws = how
    if not table.tasks:
        return [no_trials(endings, level) for _ in budgets]
    curve = incidence_curves(table, one_sample(table), SUCCESS)

    def read(weights: Floats) -> Floats:
        curves = incidence_curves(table, weights, SUCCESS)
        return np.stack([value_at(curves, table.places, budget, 0.0) for budget in budgets], axis=1)

    sample = drawn(table, rng, draws, read) if budgets else np.empty((draws, 0))
    error = incidence_error(table, SUCCESS) if table.equal_shares else None
    left = survival_curves(table, one_sample(table))[0, -1] if len(table.places) else 1.0
    found = []
    for column, budget in enumerate(budgets):
        if not table.known_at(budget, float(left)):
            reading = Reading(value=None, method=METHOD, notes=[beyond(table, budget)])
        else:
            # Rounding may leave a sum of all trials a little above 1.
            value = min(1.0, float(value_at(curve, table.places, budget, 0.0)[0]))
            step = int(np.searchsorted(table.places, budget, side="right")) - 1
            own = float(error[step]) if error is not None and step >= 0 else None
            reading = Reading(
                value=value,
                sample=sample[:, column],
                analytic=None if own is None else log_log(value, own, level),
                standard_error=own,
                method=METHOD,
                settled_tasks=_settled_tasks(endings, budget),
            )
        found.append(timed(table, endings, level, reading))
    return found


def _settled_tasks(endings: Endings, budget: float) -> int:
    """Tasks with a trial that had ended, or was still watched, at the budget."""
    return sum(any(end.cause is not None or end.at >= budget for end in ends) for ends in endings.values())


def incidence_error(table: LifeTable, cause: str) -> Floats:
    """Standard error of the incidence after each place, trials independent; shape (places,).

    The delta-method variance (Marubini and Valsecchi 1995, eq. 10.12), with S before and F after each place:
    Σ (F(t) − Fᵢ)²·dᵢ/(nᵢ(nᵢ − dᵢ)) + Σ Sᵢ²·dₖᵢ(nᵢ − dₖᵢ)/nᵢ³ − 2·Σ (F(t) − Fᵢ)·Sᵢ·dₖᵢ/nᵢ². Without
    censoring it is F(1 − F)/n, and with one cause it is Greenwood's.
    """
    even = table._replace(share=np.ones(len(table.tasks)))
    n, every, own = table.at_risk.sum(axis=0), table.of(None).sum(axis=0), table.of(cause).sum(axis=0)
    reached = incidence_curves(even, one_sample(table), cause)[0]
    left = survival_curves(even, one_sample(table))[0]
    before = np.concatenate([[1.0], left[:-1]])[: len(left)]
    # Where all at risk end, nothing can be reached later, so the first sum has no term.
    spread = np.divide(every, n * (n - every), out=np.zeros_like(n), where=n > every)
    joint = before * own / n**2
    first = reached**2 * np.cumsum(spread) - 2 * reached * np.cumsum(reached * spread)
    first += np.cumsum(reached**2 * spread)
    second = np.cumsum(before**2 * own * (n - own) / n**3)
    third = reached * np.cumsum(joint) - np.cumsum(reached * joint)
    return np.asarray(np.sqrt(np.maximum(first + second - 2 * third, 0.0)), float)


def incidence_band(table: LifeTable, cause: str, level: float) -> Band:
    """Standard errors and log-log interval by place; nulls where trials do not count alike, at 0 and at 1."""
    if not table.equal_shares:
        nothing: list[float | None] = [None] * len(table.places)
        return Band(errors=nothing, lows=nothing, highs=nothing)
    errors = incidence_error(table, cause)
    reached = incidence_curves(table, one_sample(table), cause)[0]
    ends = [log_log(float(share), float(error), level) for share, error in zip(reached, errors, strict=True)]
    return Band(
        errors=errors.tolist(),
        lows=[None if end is None else end[0] for end in ends],
        highs=[None if end is None else end[1] for end in ends],
    )
