"""Has a candidate become worse than its baseline? Success, safety, P95 and unit cost, paired by task.

Each is candidate − baseline (or their ratio less 1), with an interval a gate can judge: not worse than a
declared margin, worse, or not enough evidence. Where every sample gives one ratio there is no interval.
"""

import math
from collections.abc import Mapping, Sequence, Set

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import CELLS, DRAWS, Counts, Floats, task_weights
from seatrial.estimate.draws import defined_interval
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.gate import OVERALL, GateRule
from seatrial.estimate.paired import paired_difference, refuse_other_tasks
from seatrial.estimate.trials import (
    Outcomes,
    Values,
    all_known,
    count_trials,
    count_unknown,
    measured,
    scope_notes,
)


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One system's trials, all by task.

    Attributes:
        success: outcomes of valid trials.
        violations: whether each broke a hard constraint.
        seconds: time of each, those that timed out at the cap.
        costs: cost of every attempt, at least 0.
    """

    success: Outcomes
    violations: Outcomes
    seconds: Values
    costs: Values


class Margins(msgspec.Struct, frozen=True, kw_only=True):
    """How much worse a candidate may be.

    Attributes:
        success: rate it may lose, at least 0.
        violations: rate of hard violations it may add, at least 0.
        p95: share by which its P95 of time may grow, at least 0 (0.1: a tenth).
        unit_cost: share by which its cost per success may grow, at least 0.
    """

    success: float
    violations: float
    p95: float
    unit_cost: float


def regression_rules(margins: Margins, strata: Sequence[str] = (OVERALL,)) -> list[GateRule]:
    """The margins as rules on the estimates of ``regressions``, in each stratum by itself.

    Raises:
        ValueError: a margin is negative or not finite.
    """
    for name in margins.__struct_fields__:
        if not 0 <= getattr(margins, name) < math.inf:
            raise ValueError(f"regression margin {name} is {getattr(margins, name)}; give one of at least 0")
    where = tuple(strata)
    return [
        GateRule(measure="success", at_least=-margins.success, strata=where),
        GateRule(measure="violations", at_most=margins.violations, strata=where),
        GateRule(measure="p95", at_most=margins.p95, strata=where),
        GateRule(measure="unit_cost", at_most=margins.unit_cost, strata=where),
    ]


def regressions(
    candidate: Side,
    baseline: Side,
    rng: np.random.Generator,
    strata: Mapping[str, str] | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
) -> dict[str, dict[str, Estimate]]:
    """The four changes over all tasks ("all") and in each stratum, ready for ``gate``.

    Args:
        candidate, baseline: of the same tasks.
        rng: source of all randomness.
        strata: task to its stratum.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: the two are of different tasks, a task has no stratum, or a value is out of range.
    """
    if strata is not None and (lost := sorted(set(candidate.success) - set(strata))):
        raise ValueError(f"regressions: {lost[0]} has no stratum")
    groups = {OVERALL: set(candidate.success) | set(baseline.success)}
    for task, name in sorted((strata or {}).items()):
        groups.setdefault(name, set()).add(task)
    found: dict[str, dict[str, Estimate]] = {"success": {}, "violations": {}, "p95": {}, "unit_cost": {}}
    for name, tasks in groups.items():
        one, other = _only(candidate, tasks), _only(baseline, tasks)
        for measure, change in _changes(one, other, rng, level, draws).items():
            found[measure][name] = change
    return found


def _only(side: Side, tasks: Set[str]) -> Side:
    """The trials of some tasks."""
    return Side(
        success={task: trials for task, trials in side.success.items() if task in tasks},
        violations={task: trials for task, trials in side.violations.items() if task in tasks},
        seconds={task: trials for task, trials in side.seconds.items() if task in tasks},
        costs={task: trials for task, trials in side.costs.items() if task in tasks},
    )


def _changes(
    candidate: Side, baseline: Side, rng: np.random.Generator, level: float, draws: int
) -> dict[str, Estimate]:
    names = ("candidate", "baseline")
    alpha = 1 - level
    success = paired_difference(candidate.success, baseline.success, rng, alpha=alpha, names=names)
    broken = paired_difference(candidate.violations, baseline.violations, rng, alpha=alpha, names=names)
    return {
        "success": success.difference,
        "violations": broken.difference,
        "p95": quantile_change(candidate.seconds, baseline.seconds, 0.95, rng, level, draws),
        "unit_cost": unit_cost_change(candidate, baseline, rng, level, draws),
    }


def quantile_change(
    candidate: Values,
    baseline: Values,
    share: float,
    rng: np.random.Generator,
    level: float,
    draws: int = DRAWS,
) -> Estimate:
    """A quantile's ratio less 1, with a bootstrap over the tasks both share; every task weighs the same.

    Args:
        candidate, baseline: task to the values of its trials, at least 0; timeouts at the cap.
        share: which quantile, in (0, 1).
        rng, level, draws: of the bootstrap.

    Raises:
        ValueError: different tasks, a value below 0 or not finite, or a share out of range.
    """
    refuse_other_tasks(measured(candidate), measured(baseline))
    if not 0 < share < 1 or draws < 1:
        raise ValueError(f"quantile_change: share {share}, {draws} draws; needs (0, 1) and 1 at least")
    what = f"P{100 * share:g} of candidate over baseline, less 1, bootstrap over tasks"
    both = (measured(candidate), measured(baseline))
    if any(map(count_unknown, both)) or not both[0]:
        return _change(
            both, None, (None, None, ["No change: a value is unknown, or there is none."]), level, what
        )
    sides = [_Sorted(all_known(side, "quantile_change")) for side in both]
    value = _ratio(*(side.quantile(np.ones((1, len(both[0]))), share) for side in sides))[0]
    sample, step = np.empty(draws), max(1, CELLS // max(count_trials(side) for side in both))
    for start in range(0, draws, step):
        weights = task_weights(len(both[0]), min(step, draws - start), rng)
        sample[start : start + len(weights)] = _ratio(*(side.quantile(weights, share) for side in sides))
    ends = defined_interval(sample, level)
    beyond = min(math.floor((1 - share) * count_trials(side)) for side in both)
    if beyond < 10:
        ends[2].append(f"About {beyond} trials lie beyond the quantile: such a tail is thin.")
    return _change(both, float(value), ends, level, what)


def unit_cost_change(
    candidate: Side, baseline: Side, rng: np.random.Generator, level: float, draws: int = DRAWS
) -> Estimate:
    """Ratio of the costs per success less 1; samples in which only one has successes are infinite or −1.

    Raises:
        ValueError: different tasks, or a cost below 0 or not finite.
    """
    refuse_other_tasks(measured(candidate.success), measured(baseline.success))
    both = (measured(candidate.success), measured(baseline.success))
    what = "cost per success of candidate over baseline, less 1, bootstrap over tasks"
    columns, unknown = [], not both[0]
    for side, judged in zip((candidate, baseline), both, strict=True):
        costs = {task: side.costs.get(task, ()) for task in judged}
        if any(c is not None and not 0 <= c < math.inf for trials in costs.values() for c in trials):
            raise ValueError("unit_cost_change: a cost is below 0 or not finite")
        unknown = (
            unknown or bool(count_unknown(costs) + count_unknown(judged)) or not all(map(len, costs.values()))
        )
        columns.append([math.fsum(c for c in trials if c is not None) for trials in costs.values()])
        columns.append([float(sum(v is True for v in trials)) for trials in judged.values()])
    if unknown:
        return _change(both, None, (None, None, ["No change: a cost or outcome is unknown."]), level, what)
    table = np.array(columns)
    value = _cost_ratio(table.sum(axis=1)[:, None])[0]
    weights = task_weights(len(both[0]), draws, rng)
    ends = defined_interval(_cost_ratio((weights @ table.T).T), level)
    return _change(both, None if math.isnan(value) else float(value), ends, level, what)


class _Sorted:
    """Trials in order of value, with the task each belongs to."""

    def __init__(self, known: dict[str, list[float]]) -> None:
        if any(value < 0 for trials in known.values() for value in trials):
            raise ValueError("quantile_change: a value is below 0")
        values = np.concatenate([np.asarray(trials) for trials in known.values()])
        sizes = np.array([len(trials) for trials in known.values()])
        order = np.argsort(values, kind="stable")
        self.values = values[order]
        self.task = np.repeat(np.arange(len(sizes)), sizes)[order]
        self.share = (1 / sizes)[self.task]

    def quantile(self, weights: Floats | Counts, share: float) -> Floats:
        """The least value with at least ``share`` of the weight at or below it, by row of task weights."""
        reached = np.cumsum(weights[:, self.task] * self.share, axis=1)
        at = (reached < share * reached[:, -1:] * (1 - 1e-12)).sum(axis=1)
        return np.asarray(self.values[at], float)


def _ratio(one: Floats, other: Floats) -> Floats:
    """Less 1; not defined where both are 0, infinite where only the lower one is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(one / other - 1, float)


def _cost_ratio(sums: Floats) -> Floats:
    """From cost and successes of one, then of the other, each of shape (draws,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = sums[0] / sums[1], sums[2] / sums[3]
    # Nothing paid for no success is no bargain.
    one, other = np.where(sums[1] > 0, one, np.inf), np.where(sums[3] > 0, other, np.inf)
    return _ratio(one, other)


def _change(
    both: tuple[Values, Values],
    value: float | None,
    ends: tuple[float | None, float | None, list[str]],
    level: float,
    method: str,
) -> Estimate:
    return Estimate(
        value=value,
        low=ends[0],
        high=ends[1],
        level=level,
        method=method,
        unit="tasks, paired",
        n_tasks=len(both[0]),
        n_trials=count_trials(both[0]) + count_trials(both[1]),
        notes=[*scope_notes(both[0]), *ends[2]],
    )
