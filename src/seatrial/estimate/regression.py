"""Has a candidate become worse than its baseline? Success, safety, P95 and unit cost, paired by task.

Each is candidate − baseline (or their ratio less 1), with an interval a gate can judge: not worse than a
declared margin, worse, or not enough evidence. Where every sample gives one ratio there is no interval.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, Floats, task_weights
from seatrial.estimate.draws import defined_interval
from seatrial.estimate.estimate import NO_ENDS, Estimate, Said, say
from seatrial.estimate.gate import OVERALL, GateRule
from seatrial.estimate.paired import paired_difference, refuse_other_tasks
from seatrial.estimate.permutation import sign_flip_p
from seatrial.estimate.trials import (
    Outcomes,
    Values,
    all_known,
    count_trials,
    count_unknown,
    measured,
    scope_notes,
)

# Log of the farthest ratio that is looked at, either way from the one found: a billion.
FARTHEST_RATIO = math.log(1e9)
_NAMES = ("candidate", "baseline")


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
        draws: bootstrap samples and sign patterns, at least 1.

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
    alpha = 1 - level
    success = paired_difference(candidate.success, baseline.success, rng, alpha=alpha, names=_NAMES)
    broken = paired_difference(candidate.violations, baseline.violations, rng, alpha=alpha, names=_NAMES)
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
    """A quantile's ratio less 1, with an interval by task-level sign flips, inverted; tasks weigh the same.

    For each ratio r the candidate's values are divided by it. If r is the truth a task's two sides may
    change places, so that d, its share of values below the pooled quantile on one side less the other's, is
    as likely to be −d. The interval holds all r that this test (``sign_flip_p``) does not reject.
    It rests on the tasks about and beyond the quantile, as order statistics do, and keeps the pairing; a
    bootstrap never draws beyond the greatest trial seen, so of few tasks its high end says too little.

    Args:
        candidate, baseline: task to the values of its trials, at least 0; timeouts at the cap.
        share: which quantile, in (0, 1).
        rng: source of the flips.
        level: confidence level, in (0, 1).
        draws: sampled sign patterns, at least 1.

    Raises:
        ValueError: different tasks, a value below 0 or not finite, or a share out of range.
    """
    refuse_other_tasks(measured(candidate), measured(baseline))
    if not 0 < share < 1 or draws < 1:
        raise ValueError(f"quantile_change: share {share}, {draws} draws; needs (0, 1) and 1 at least")
    said = _said((measured(candidate), measured(baseline)), level)
    what = f"P{100 * share:g} of candidate over baseline, less 1; sign flips of tasks, inverted"
    both = (measured(candidate), measured(baseline))
    if any(map(count_unknown, both)) or not both[0]:
        return say(None, NO_ENDS, what, said, [_unknown_change(both)])
    sides = [_Side(all_known(side, "quantile_change")) for side in both]
    one, other = (side.quantile(share) for side in sides)
    value = float(_ratio(np.array(one), np.array(other)))
    if math.isnan(value):
        return say(None, NO_ENDS, what, said, ["The change is undefined: both quantiles are 0."])
    if len(both[0]) < 2:
        return say(value, NO_ENDS, what, said, ["No interval: there are no several tasks."])
    seed = int(rng.integers(2**63))

    def kept(log_ratio: float) -> bool:
        scaled = sides[0].divided(math.exp(log_ratio))
        at = scaled.with_(sides[1]).quantile(share)
        apart = scaled.below(at) - sides[1].below(at)
        return sign_flip_p(apart.tolist(), np.random.default_rng(seed), draws) >= 1 - level

    middle = math.log(one / other) if one > 0 and other > 0 else 0.0
    high, low = (_last(kept, middle, way * FARTHEST_RATIO) for way in (1, -1))
    ends = (-1.0 if math.isinf(low) else math.expm1(low), math.expm1(high))
    notes = []
    if math.isinf(high):
        notes = [
            f"No high end: too few of {len(both[0])} tasks lie beyond the quantile to bound it from above."
        ]
    return say(value, (min(value, ends[0]), max(value, ends[1])), what, said, notes)


def _last(kept: Callable[[float], bool], start: float, far: float) -> float:
    """The last log-ratio from ``start`` to ``start + far`` that is kept, to 1e-4; infinite if all are."""
    if kept(start + far):
        return math.copysign(math.inf, far)
    near, away = start, start + far
    while abs(away - near) > 1e-4:
        middle = (near + away) / 2
        near, away = (middle, away) if kept(middle) else (near, middle)
    return near


def unit_cost_change(
    candidate: Side, baseline: Side, rng: np.random.Generator, level: float, draws: int = DRAWS
) -> Estimate:
    """Ratio of the costs per success less 1; samples in which only one has successes are infinite or −1.

    Raises:
        ValueError: different tasks, or a cost below 0 or not finite.
    """
    refuse_other_tasks(measured(candidate.success), measured(baseline.success))
    both = (measured(candidate.success), measured(baseline.success))
    said = _said(both, level)
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
        return say(None, NO_ENDS, what, said, ["The change is unknown: a cost or an outcome of a trial is."])
    table = np.array(columns)
    value = _cost_ratio(table.sum(axis=1)[:, None])[0]
    weights = task_weights(len(both[0]), draws, rng)
    ends = defined_interval(_cost_ratio((weights @ table.T).T), level)
    return say(None if math.isnan(value) else float(value), ends[:2], what, said, ends[2])


def _unknown_change(sides: tuple[Values, Values]) -> str:
    """Why a change of candidate against baseline is unknown."""
    told = [
        f"{lost} of {count_trials(side)} values of the {name}"
        for name, side in zip(_NAMES, sides, strict=True)
        if (lost := count_unknown(side))
    ]
    return f"The change is unknown: {' and '.join(told)} are unknown." if told else "No valid trial."


class _Side:
    """One side's values, with the task each belongs to and its share of it."""

    def __init__(self, known: dict[str, list[float]]) -> None:
        if any(value < 0 for trials in known.values() for value in trials):
            raise ValueError("quantile_change: a value is below 0")
        sizes = np.array([len(trials) for trials in known.values()])
        self.values = np.concatenate([np.asarray(trials) for trials in known.values()])
        self.task = np.repeat(np.arange(len(sizes)), sizes)
        self.share = (1 / sizes)[self.task]

    def divided(self, ratio: float) -> "_Side":
        """The same with every value over ``ratio``."""
        found = copy(self)
        found.values = self.values / ratio
        return found

    def with_(self, other: "_Side") -> "_Side":
        """Both sides' values together."""
        found = copy(self)
        for name in ("values", "task", "share"):
            setattr(found, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        return found

    def quantile(self, share: float) -> float:
        """The least value with at least ``share`` of the weight at or below it."""
        order = np.argsort(self.values, kind="stable")
        reached = np.cumsum(self.share[order])
        at = int((reached < share * reached[-1] * (1 - 1e-12)).sum())
        return float(self.values[order][at])

    def below(self, place: float) -> Floats:
        """Each task's share of values below a place, those right there counting half, shape (tasks,)."""
        passed = (self.values < place) / 2 + (self.values <= place) / 2
        return np.asarray(np.bincount(self.task, weights=self.share * passed), float)


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


def _said(both: tuple[Values, Values], level: float) -> Said:
    trials = count_trials(both[0]) + count_trials(both[1])
    return Said(level, "tasks, paired", len(both[0]), trials, scope_notes(both[0]))
