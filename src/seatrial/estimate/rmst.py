"""Restricted mean survival time: mean place of the end, every trial stopped at one declared place."""

import math

import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.clustered import Weigh
from seatrial.estimate.endings import (
    DRAWS,
    Endings,
    LifeTable,
    drawn,
    life_table,
    one_sample,
    survival_curves,
)
from seatrial.estimate.survival import beyond
from seatrial.estimate.timed import Reading, Timed, no_trials, normal_quantile, timed

METHOD = "area under Kaplan–Meier's curve"


def restricted_mean(
    endings: Endings,
    until: float,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Timed:
    """Area under the survival curve from 0 to ``until``, in the axis' unit; shorter ends sooner.

    The analytic variance is Σ A²·d/(n(n − d)) over the events up to there, A the area from each of them on.

    Args:
        endings: task to the end of every valid trial; an end by any cause is an end.
        until: above 0; null, with the reason, where it lies beyond the longest watched trial.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each.

    Raises:
        ValueError: ``until`` or a place is out of range, or there is no draw.
    """
    table = _table(endings, until, weigh)
    if not table.tasks:
        return no_trials(endings, level)
    method = f"{METHOD} up to {until:g}"
    if reason := _unknown(table, until):
        return timed(table, endings, level, Reading(value=None, method=method, notes=[reason]))
    value = float(areas(table, one_sample(table), until)[0])
    error = _error(table, until) if table.equal_shares and len(table.places) else None
    half = 0.0 if error is None else normal_quantile(level) * error
    reading = Reading(
        value=value,
        sample=drawn(table, rng, draws, lambda w: areas(table, w, until)),
        analytic=(max(0.0, value - half), min(until, value + half)) if half > 0 else None,
        standard_error=error,
        method=method,
    )
    return timed(table, endings, level, reading)


def restricted_mean_difference(
    first: Endings,
    second: Endings,
    until: float,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Timed:
    """The second system's restricted mean less the first's, paired by task; every task counts once.

    Args:
        first, second: task to the end of every valid trial, of the same tasks.
        until: above 0.
        rng: source of all randomness; both systems share the drawn tasks.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.

    Raises:
        ValueError: the tasks differ, ``until`` or a place is out of range, or there is no draw.
    """
    tables = [_table(first, until, "tasks"), _table(second, until, "tasks")]
    if tables[0].tasks != tables[1].tasks:
        other = sorted(set(tables[0].tasks) ^ set(tables[1].tasks))
        raise ValueError(f"restricted_mean_difference: only one system has trials of {other[0]}; pair them")
    if not tables[0].tasks:
        return no_trials(first, level)
    method = f"difference of {METHOD} up to {until:g}, paired by task"
    both = tables[0]._replace(trials=tables[0].trials + tables[1].trials)
    if reasons := [reason for table in tables if (reason := _unknown(table, until))]:
        return timed(both, first, level, Reading(value=None, method=method, notes=reasons))

    def difference(weights: Floats) -> Floats:
        return areas(tables[1], weights, until) - areas(tables[0], weights, until)

    reading = Reading(
        value=float(difference(one_sample(both))[0]),
        sample=drawn(both, rng, draws, difference),
        method=method,
    )
    return timed(both, first, level, reading)


def areas(table: LifeTable, weights: Floats, until: float) -> Floats:
    """Area under each survival curve from 0 to ``until``, shape (rows,); a curve stays at its last value."""
    inside = table.places < until
    steps = np.diff(np.concatenate([[0.0], table.places[inside], [until]]))
    curves = survival_curves(table, weights)[:, inside]
    return np.asarray(steps[0] + curves @ steps[1:], float)


def _table(endings: Endings, until: float, weigh: Weigh) -> LifeTable:
    if not 0 < until < math.inf:
        raise ValueError(f"restricted mean: until {until}; give a finite number above 0")
    return life_table(endings, "restricted mean", weigh)


def _unknown(table: LifeTable, until: float) -> str | None:
    """Why there is no area up to there, if there is none."""
    curve = survival_curves(table, one_sample(table))
    left = float(curve[0, -1]) if curve.size else 1.0
    return None if table.known_at(until, left) else beyond(table, until)


def _error(table: LifeTable, until: float) -> float:
    """Standard error of the area, trials taken as independent."""
    inside = table.places < until
    at_risk, events = table.at_risk.sum(axis=0)[inside], table.of(None).sum(axis=0)[inside]
    steps = np.diff(np.concatenate([table.places[inside], [until]]))
    rest = np.cumsum((survival_curves(table, one_sample(table))[0, inside] * steps)[::-1])[::-1]
    # Where all at risk end, the area from there on is none.
    spread = np.divide(
        events, at_risk * (at_risk - events), out=np.zeros_like(events), where=at_risk > events
    )
    return float(np.sqrt((rest**2 * spread).sum()))
