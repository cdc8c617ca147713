"""What a budget buys: area under the success curve over a declared range, and the least budget for a target.

The curve is F(b) of ``incidence.success_within``, on one resource axis at a time: seconds, tokens, actions,
money. The endings of an axis say under which stop rule they were made; curves of differing rules, or of
differing budgets in force, answer differing questions and are not to be laid over each other.
"""

import math
from typing import Literal

import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.clustered import Weigh
from seatrial.estimate.endings import (
    DRAWS,
    SUCCESS,
    Endings,
    LifeTable,
    drawn,
    first_reaching,
    incidence_curves,
    life_table,
    one_sample,
    survival_curves,
)
from seatrial.estimate.incidence import METHOD
from seatrial.estimate.survival import beyond
from seatrial.estimate.timed import Reading, Timed, both_ways, no_trials, timed

Scale = Literal["linear", "log"]


def budget_area(
    endings: Endings,
    between: tuple[float, float],
    rng: np.random.Generator,
    scale: Scale = "linear",
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Timed:
    """Mean success over a declared range of budgets: area under F(b) over the range's width, in [0, 1].

    Args:
        endings: task to the end of every valid trial, on the resource axis.
        between: the practical range, declared before the results; low < high, and low above 0 for "log".
        rng: source of all randomness.
        scale: "log" counts every doubling of the budget alike.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each.

    Returns:
        A null value, with the reason, where the range runs beyond the longest watched trial.

    Raises:
        ValueError: the range or a place is out of range, or there is no draw.
    """
    low, high = between
    if scale not in ("linear", "log"):
        raise ValueError(f"budget_area: scale {scale!r}; give linear or log")
    if not 0 <= low < high < math.inf or (scale == "log" and low == 0):
        raise ValueError(
            f"budget_area: range {low} to {high} ({scale}); give 0 <= low < high, above 0 for log"
        )

    def read(ends: Endings, chance: np.random.Generator) -> list[Timed]:
        return [
            _area(life_table(ends, "budget_area", weigh), ends, (low, high, scale), chance, (level, draws))
        ]

    return both_ways(endings, rng, read)[0]


def _area(
    table: LifeTable,
    endings: Endings,
    over: tuple[float, float, Scale],
    rng: np.random.Generator,
    how: tuple[float, int],
) -> Timed:
    """The area where all causes are known; ``how`` is the level and the number of draws."""
    (low, high, scale), (level, draws) = over, how
    if not table.tasks:
        return no_trials(endings, level)
    method = f"{METHOD}, mean of success over {low:g} to {high:g} ({scale})"
    if not table.known_at(high, _left(table)):
        return timed(table, endings, level, Reading(value=None, method=method, notes=[beyond(table, high)]))

    def area(weights: Floats) -> Floats:
        inside = (table.places > low) & (table.places < high)
        ends = np.concatenate([[low], table.places[inside], [high]])
        widths = np.diff(np.log(ends) if scale == "log" else ends)
        curves = incidence_curves(table, weights, SUCCESS)
        started = np.concatenate([np.zeros((len(curves), 1)), curves], axis=1)
        steps = started[:, np.searchsorted(table.places, ends[:-1], side="right")]
        return np.asarray(steps @ widths / widths.sum(), float)

    value = float(area(one_sample(table))[0])
    return timed(
        table, endings, level, Reading(value=value, sample=drawn(table, rng, draws, area), method=method)
    )


def least_budget(
    endings: Endings,
    target: float,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Timed:
    """The least budget by which at least the target share succeeds: min {b: F(b) >= target}.

    Args:
        endings: task to the end of every valid trial, on the resource axis.
        target: share of successes, in (0, 1].
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1; one that never gets there is infinite, and counted.
        weigh: what counts once each.

    Returns:
        A null value where no budget gets there: unreachable where no trial is left that might still succeed,
        else unreached within the budgets watched.

    Raises:
        ValueError: the target or a place is out of range, or there is no draw.
    """
    if not 0 < target <= 1:
        raise ValueError(f"least_budget: target {target}; give a share in (0, 1]")

    def read(ends: Endings, chance: np.random.Generator) -> list[Timed]:
        return [_least(life_table(ends, "least_budget", weigh), ends, target, chance, (level, draws))]

    return both_ways(endings, rng, read)[0]


def _least(
    table: LifeTable, endings: Endings, target: float, rng: np.random.Generator, how: tuple[float, int]
) -> Timed:
    """The least budget where all causes are known; ``how`` is the level and the number of draws."""
    level, draws = how
    if not table.tasks:
        return no_trials(endings, level)

    def least(weights: Floats) -> Floats:
        return first_reaching(incidence_curves(table, weights, SUCCESS), table.places, target)

    value, sample = float(least(one_sample(table))[0]), drawn(table, rng, draws, least)
    notes = [] if math.isfinite(value) else [_why_not(table, target)]
    if unreached := int(np.isinf(sample).sum()):
        notes.append(f"{unreached} of {draws} bootstrap samples never get there: infinite.")
    reading = Reading(
        value=value if math.isfinite(value) else None,
        sample=sample,
        method=f"{METHOD}, least budget for {target:g} successes",
        notes=notes,
    )
    return timed(table, endings, level, reading)


def _left(table: LifeTable) -> float:
    """Share that has not ended at the last event."""
    return float(survival_curves(table, one_sample(table))[0, -1]) if len(table.places) else 1.0


def _why_not(table: LifeTable, target: float) -> str:
    """Why no budget gets to the target."""
    curve = incidence_curves(table, one_sample(table), SUCCESS)
    most = float(curve[0, -1]) if curve.size else 0.0
    if most + _left(table) < target:
        return f"Unreachable: {most:.3g} succeed, and too few of the rest might still: not {target:g}."
    return f"Unreached: {most:.3g} succeed within {table.watched_until:g}, the largest budget watched."
