"""Three means of one table: every task alike (macro), every trial alike (micro), as a population weighs."""

import math
from collections.abc import Mapping
from statistics import fmean, variance

import msgspec

from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import wilson_effective
from seatrial.estimate.student import t_quantile
from seatrial.estimate.trials import (
    Values,
    all_known,
    all_yes_or_no,
    count_trials,
    count_unknown,
    measured,
    refuse_what_is_no_number,
)
from seatrial.estimate.ways import YES_NO, over_ways


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

    Unknown values between finite limits are taken in every way they may have come out; without such limits
    they leave all three unknown.

    Args:
        values: task to the values of its trials; null is unknown.
        strata: task to its stratum; with ``weights`` only.
        weights: stratum to its share of the population, above 0; they are scaled to sum to 1.
        level: confidence level, in (0, 1).
        limits: least and greatest possible value; intervals are cut there.

    Raises:
        ValueError: a value is not finite, there is no trial, or as ``population_weighted`` says.
    """

    def population(known: Values) -> Estimate:
        return population_weighted(known, strata or {}, weights or {}, level, limits)

    refuse_what_is_no_number(values, "three_means")
    unknown, bounded = count_unknown(values), all(map(math.isfinite, limits))
    if unknown and not bounded:
        known = measured(values)
        nothing = Estimate(
            value=None,
            level=level,
            method="none",
            unit="tasks",
            n_tasks=len(known),
            n_trials=count_trials(known),
            notes=[f"{unknown} values are unknown, and nothing says how large they can be."],
        )
        return ThreeMeans(macro=nothing, micro=nothing, population=nothing if weights else None)
    ends = YES_NO if all_yes_or_no(values) else limits
    return ThreeMeans(
        macro=over_ways(values, ends, lambda known: clustered_t(known, level, "tasks", limits)),
        micro=over_ways(values, ends, lambda known: clustered_t(known, level, "trials", limits)),
        population=over_ways(values, ends, population, strata) if weights else None,
    )


class Stratified(msgspec.Struct, frozen=True, kw_only=True):
    """A mean Σ W·x̄ over strata.

    Attributes:
        mean: in the values' unit.
        error: √Σ W²·s²/m over strata of m tasks; null where no stratum shows a spread.
        freedom: Satterthwaite's degrees of freedom of the error, (Σ v)²/Σ v²/(m − 1) with v = W²·s²/m; null
            likewise.
        pooled: strata of one task, or whose tasks agree, for which the others' pooled variance stands.
        shares: stratum to its weight; they sum to 1.
        means: stratum to the means of its tasks.
        trials: stratum to the numbers of their trials.
    """

    mean: float
    error: float | None
    freedom: float | None
    pooled: list[str]
    shares: dict[str, float]
    means: dict[str, list[float]]
    trials: dict[str, list[int]]


def stratified(values: Values, strata: Mapping[str, str], weights: Mapping[str, float]) -> Stratified:
    """Post-stratified mean and its error, tasks counting alike inside a stratum.

    Args:
        values: task to the values of its trials, all known.
        strata: task to its stratum.
        weights: stratum to its share of the population, above 0; they are scaled to sum to 1.

    Raises:
        ValueError: a task without stratum, a stratum without weight or without tasks, or a bad weight.
    """
    known = all_known(values, "population_weighted")
    if lost := sorted(task for task in known if task not in strata):
        raise ValueError(f"population_weighted: {lost[0]} has no stratum")
    means: dict[str, list[float]] = {}
    sizes: dict[str, list[int]] = {}
    for task, trials in known.items():
        means.setdefault(strata[task], []).append(fmean(trials))
        sizes.setdefault(strata[task], []).append(len(trials))
    if other := sorted(set(means) ^ set(weights)):
        raise ValueError(f"population_weighted: stratum {other[0]} has tasks or a weight only; it needs both")
    if bad := sorted(name for name, weight in weights.items() if not 0 < weight < math.inf):
        raise ValueError(f"population_weighted: weight {weights[bad[0]]} of {bad[0]}; give one above 0")
    whole = math.fsum(weights.values())
    shares = {name: weights[name] / whole for name in means}
    seeing = {name: group for name, group in means.items() if len(group) > 1 and max(group) > min(group)}
    error = freedom = None
    if seeing:
        degrees = {name: len(group) - 1 for name, group in seeing.items()}
        pooled = sum(degrees[name] * variance(group) for name, group in seeing.items()) / sum(
            degrees.values()
        )
        parts = {
            name: shares[name] ** 2 * (variance(group) if name in seeing else pooled) / len(group)
            for name, group in means.items()
        }
        # What is pooled is as sure as all that it was pooled from.
        lost_by = [part**2 / degrees.get(name, sum(degrees.values())) for name, part in parts.items()]
        total = math.fsum(parts.values())
        error, freedom = math.sqrt(total), total**2 / math.fsum(lost_by)
    return Stratified(
        mean=math.fsum(shares[name] * fmean(group) for name, group in means.items()),
        error=error,
        freedom=freedom,
        pooled=sorted(set(means) - set(seeing)),
        shares=shares,
        means=means,
        trials=sizes,
    )


def population_weighted(
    values: Values,
    strata: Mapping[str, str],
    weights: Mapping[str, float],
    level: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Post-stratified mean Σ W·x̄ over strata with an interval that holds with few tasks in each.

    Outcomes: the strata's own intervals (Wilson on the effective number of trials), combined by the squares
    of their arms: ends Σ W·p̂ ∓ √Σ W²(p̂ − end)² (MOVER; Zou and Donner 2008, after Newcombe 1998). A stratum
    of one task, or whose tasks agree, has such an interval too.
    Other values: t with Satterthwaite's degrees of freedom (see ``Stratified``).

    Args:
        values: task to the values of its trials, all known.
        strata: task to its stratum.
        weights: stratum to its share of the population, above 0; they are scaled to sum to 1.
        level: confidence level, in (0, 1).
        limits: least and greatest possible value; the interval is cut there.

    Returns:
        Without an interval, and with the reason, where no stratum of measured values shows a spread.

    Raises:
        ValueError: as ``stratified``.
    """
    found = stratified(values, strata, weights)
    listed = ", ".join(f"{name} {share:.3g}" for name, share in sorted(found.shares.items()))
    notes = [f"Weights: {listed}."]
    low = high = None
    if all_yes_or_no(values):
        method = "post-stratified mean of task means, Wilson by stratum, arms combined (MOVER)"
        below = above = 0.0
        for name, group in found.means.items():
            ends = wilson_effective(group, found.trials[name], level)
            below = math.hypot(below, found.shares[name] * (fmean(group) - ends[0]))
            above = math.hypot(above, found.shares[name] * (ends[1] - fmean(group)))
        low, high = found.mean - below, found.mean + above
    else:
        method = "post-stratified mean of task means, t (Satterthwaite)"
        if found.error is None or found.freedom is None:
            notes.append("No interval: the tasks of no stratum show a spread.")
        else:
            half = t_quantile(level, found.freedom) * found.error
            low, high = found.mean - half, found.mean + half
            notes += [f"{name} shows no spread: the other strata's stands for it." for name in found.pooled]
    return Estimate(
        value=found.mean,
        low=None if low is None else max(limits[0], low),
        high=None if high is None else min(limits[1], high),
        level=level,
        method=method,
        unit="tasks, by stratum",
        n_tasks=sum(map(len, found.means.values())),
        n_trials=count_trials(measured(values)),
        notes=notes,
    )
