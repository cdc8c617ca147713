"""Three means of one table: every task alike (macro), every trial alike (micro), as a population weighs."""

import math
from collections.abc import Mapping
from statistics import NormalDist, fmean, variance

import msgspec

from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import Values, all_known, count_trials


class ThreeMeans(msgspec.Struct, frozen=True, kw_only=True):
    """They answer different questions; where they differ, say which one was asked.

    Attributes:
        macro: mean of task means.
        micro: mean over trials; tasks with more trials weigh more.
        population: strata weighed as declared; null without weights.
    """

    macro: Estimate
    micro: Estimate
    population: Estimate | None


def three_means(
    values: Values,
    strata: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    level: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> ThreeMeans:
    """Macro, micro and, with weights, population-weighted mean; tasks are the sampling unit of all three.

    Args:
        values: task to the values of its trials, all known.
        strata: task to its stratum; with ``weights`` only.
        weights: stratum to its share of the population, above 0; they are scaled to sum to 1.
        level: confidence level, in (0, 1).
        limits: least and greatest possible value; intervals are cut there.

    Raises:
        ValueError: a value is unknown or not finite, no trial, or as ``population_weighted`` says.
    """
    return ThreeMeans(
        macro=clustered_t(values, level, "tasks", limits),
        micro=clustered_t(values, level, "trials", limits),
        population=population_weighted(values, strata or {}, weights, level, limits) if weights else None,
    )


def population_weighted(
    values: Values,
    strata: Mapping[str, str],
    weights: Mapping[str, float],
    level: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Post-stratified mean Σ W·x̄ over strata, tasks counting alike inside one; error √Σ W²·s²/m.

    With one yes-or-no trial a task, s²/m is p(1 − p)/(m − 1). Normal interval, cut to the limits.

    Args:
        values: task to the values of its trials, all known.
        strata: task to its stratum.
        weights: stratum to its share of the population, above 0; they are scaled to sum to 1.
        level: confidence level, in (0, 1).
        limits: least and greatest possible value.

    Returns:
        Without an interval, and with the reason, where a stratum has one task or its tasks agree.

    Raises:
        ValueError: a task without stratum, a stratum without weight or without tasks, or a bad weight.
    """
    known = all_known(values, "population_weighted")
    if lost := sorted(task for task in known if task not in strata):
        raise ValueError(f"population_weighted: {lost[0]} has no stratum")
    means: dict[str, list[float]] = {}
    for task, trials in known.items():
        means.setdefault(strata[task], []).append(fmean(trials))
    if other := sorted(set(means) ^ set(weights)):
        raise ValueError(f"population_weighted: stratum {other[0]} has tasks or a weight only; it needs both")
    if bad := sorted(name for name, weight in weights.items() if not 0 < weight < math.inf):
        raise ValueError(f"population_weighted: weight {weights[bad[0]]} of {bad[0]}; give one above 0")
    whole = math.fsum(weights.values())
    shares = {name: weights[name] / whole for name in means}
    value = math.fsum(shares[name] * fmean(group) for name, group in means.items())
    blind = sorted(name for name, group in means.items() if len(group) < 2 or max(group) == min(group))
    low = high = None
    notes = ["Weights: " + ", ".join(f"{name} {share:.3g}" for name, share in sorted(shares.items())) + "."]
    if blind:
        notes.append(f"No interval: the tasks of {blind[0]} show no spread.")
    else:
        error = math.sqrt(
            math.fsum(shares[name] ** 2 * variance(group) / len(group) for name, group in means.items())
        )
        half = NormalDist().inv_cdf((1 + level) / 2) * error
        low, high = max(limits[0], value - half), min(limits[1], value + half)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method="post-stratified mean of task means, normal",
        unit="tasks, by stratum",
        n_tasks=len(known),
        n_trials=count_trials(known),
        notes=notes,
    )
