"""Trials lost to the infrastructure: how many, whether hard tasks lose more, what it does to the rate."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import CELLS, DRAWS, Floats
from seatrial.estimate.draws import defined_interval, drawn_statistic
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, count_trials, count_unknown, measured, scope_notes

SHUFFLES = 10_000
FEWEST_TASKS = 4


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the share of lost trials goes with difficulty.

    Attributes:
        correlation: Spearman's rank correlation over tasks of difficulty and share lost, in [−1, 1]; above
            0, harder tasks lose more. Null where either does not vary.
        p: two-sided, by shuffling difficulties among tasks; null likewise.
        n_tasks: tasks it rests on.
        by: what stood for difficulty.
    """

    correlation: float | None
    p: float | None
    n_tasks: int
    by: str


class Missingness(msgspec.Struct, frozen=True, kw_only=True):
    """What invalid trials do to a success rate.

    Attributes:
        invalid: rate of trials lost, over tasks.
        limit: the preregistered one.
        void: whether the rate passes it; the headline then has no value.
        headline: success over tasks on the valid trials; void where ``void`` is.
        weighted: the same rate over tasks with every valid trial weighed by 1/P(valid) of its stratum, so
            that each planned task counts once; tasks without a valid trial are stood for by their stratum.
        bounds: the rate over tasks if all lost and unknown trials had failed, and if all had succeeded.
        related: the test.
    """

    invalid: Estimate
    limit: float
    void: bool
    headline: Estimate
    weighted: Estimate
    bounds: tuple[float, float] | None
    related: Related


def missingness(
    outcomes: Outcomes,
    lost: Mapping[str, int],
    limit: float,
    rng: np.random.Generator,
    *,
    difficulty: Mapping[str, float] | None = None,
    strata: Mapping[str, str] | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Missingness:
    """Examine the trials that ended by the infrastructure's fault.

    What the agent caused, resource exhaustion above all, is a failure and belongs among the outcomes.

    Args:
        outcomes: task to the outcomes of its valid trials.
        lost: task to its invalid trials, at least 0; none for a task it does not name.
        limit: preregistered highest share of lost trials, in [0, 1].
        rng: source of all randomness.
        difficulty: task to its difficulty, higher is harder, declared beforehand; without it the failure
            rate of the valid trials stands in, which a system's own luck moves.
        strata: task to the stratum whose trials it is like; without it every task is its own.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: a count below 0, a limit out of range, or a task without difficulty or stratum.
    """
    tasks = sorted(set(outcomes) | set(lost))
    _refuse(tasks, lost, limit, difficulty, strata)
    gone = {task: lost.get(task, 0) for task in tasks}
    valid = {task: outcomes.get(task, ()) for task in tasks}
    planned = {task: [True] * gone[task] + [False] * len(valid[task]) for task in tasks}
    invalid = rate_over_tasks(planned, level)
    # A rate over tasks may be small where one large task lost everything: the pooled share counts too.
    total, all_gone = count_trials(planned), sum(gone.values())
    void = total > 0 and max(invalid.value or 0.0, all_gone / total) > limit
    headline = rate_over_tasks(valid, level)
    if void:
        why = f"Void: {all_gone} of {total} trials were lost, above the preregistered limit of {limit:g}."
        headline = msgspec.structs.replace(
            headline, value=None, low=None, high=None, method="none", notes=[why, *headline.notes]
        )
    return Missingness(
        invalid=invalid,
        limit=limit,
        void=void,
        headline=headline,
        weighted=_weighted(valid, gone, strata, rng, level, draws),
        bounds=_bounds(valid, gone),
        related=_related(valid, gone, difficulty, rng),
    )


def _refuse(
    tasks: Sequence[str],
    lost: Mapping[str, int],
    limit: float,
    difficulty: Mapping[str, float] | None,
    strata: Mapping[str, str] | None,
) -> None:
    if not 0 <= limit <= 1 or min(lost.values(), default=0) < 0:
        raise ValueError(f"missingness: limit {limit}; it lies in [0, 1], and lost trials number at least 0")
    for what, given in (("difficulty", difficulty), ("stratum", strata)):
        if given is not None and (without := [task for task in tasks if task not in given]):
            raise ValueError(f"missingness: {without[0]} has no {what}")
    if difficulty is not None and not all(map(math.isfinite, difficulty.values())):
        raise ValueError("missingness: a difficulty is not finite")


def _bounds(valid: Outcomes, gone: Mapping[str, int]) -> tuple[float, float] | None:
    """Over planned tasks, all lost and unknown trials taken both ways."""
    planned = {task: len(trials) + gone[task] for task, trials in valid.items()}
    judged = [task for task, trials in planned.items() if trials]
    if not judged:
        return None
    least = [valid[task].count(True) / planned[task] for task in judged]
    most = [1 - valid[task].count(False) / planned[task] for task in judged]
    return fmean(least), fmean(most)


def _weighted(
    valid: Outcomes,
    gone: Mapping[str, int],
    strata: Mapping[str, str] | None,
    rng: np.random.Generator,
    level: float,
    draws: int,
) -> Estimate:
    """Σ over strata of planned tasks times the valid trials' success, over all tasks that are stood for.

    A trial weighs 1/(planned trials of its task), so without losses it is the plain rate over tasks.
    """
    tasks = list(valid)
    notes = scope_notes(valid)
    names = [strata[task] if strata else task for task in tasks]
    order = {name: place for place, name in enumerate(sorted(set(names)))}
    unknown, n_valid = count_unknown(valid), count_trials(valid)
    unsaid = Estimate(
        value=None, level=level, method="none", unit="tasks", n_tasks=len(measured(valid)), n_trials=n_valid
    )
    method = "inverse probability of being valid, by stratum, bootstrap over tasks"
    if unknown or not n_valid:
        notes.append(
            f"No weighted rate: {f'{unknown} outcomes are unknown' if unknown else 'no valid trial'}."
        )
        return msgspec.structs.replace(unsaid, notes=notes)
    table = np.zeros((len(tasks), 3, len(order)))
    for row, task in enumerate(tasks):
        trials, places = valid[task], len(valid[task]) + gone[task]
        if places:
            table[row, :, order[names[row]]] = trials.count(True) / places, len(trials) / places, 1

    def rates(sums: Floats) -> Floats:
        won, kept, planned = np.moveaxis(sums.reshape(-1, 3, len(order)), 1, 0)
        has = kept > 0
        rate = np.divide(won, kept, out=np.zeros_like(won), where=has)
        stood_for = (planned * has).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray((planned * rate).sum(axis=1) / stood_for, float)

    flat = table.reshape(len(tasks), -1)
    kept = table.sum(axis=0)[1]
    if blind := sum(gone[task] for task, name in zip(tasks, names, strict=True) if kept[order[name]] == 0):
        notes.append(f"{blind} lost trials have no valid one in their stratum to stand for them.")
    ends: tuple[float | None, float | None, list[str]] = (None, None, ["No interval: there is one task."])
    if len(tasks) > 1:
        ends = defined_interval(drawn_statistic(flat, rates, rng, draws), level)
    value = float(rates(flat.sum(axis=0, keepdims=True))[0])
    return msgspec.structs.replace(
        unsaid, value=value, low=ends[0], high=ends[1], method=method, notes=notes + ends[2]
    )


def _related(
    valid: Outcomes, gone: Mapping[str, int], difficulty: Mapping[str, float] | None, rng: np.random.Generator
) -> Related:
    """Spearman's correlation and its p value under shuffling (exact labels, sampled shuffles)."""
    by = "declared difficulty" if difficulty is not None else "failure rate of the valid trials"
    usable = [task for task in valid if len(valid[task]) + gone[task]]
    if difficulty is None:
        usable = [task for task in usable if len(valid[task]) and None not in valid[task]]
    if len(usable) < FEWEST_TASKS:
        return Related(correlation=None, p=None, n_tasks=len(usable), by=by)
    hard = [
        difficulty[task] if difficulty is not None else valid[task].count(False) / len(valid[task])
        for task in usable
    ]
    share = [gone[task] / (len(valid[task]) + gone[task]) for task in usable]
    one, other = _ranks(hard), _ranks(share)
    norm = math.sqrt(float(one @ one) * float(other @ other))
    if norm == 0:
        return Related(correlation=None, p=None, n_tasks=len(usable), by=by)
    correlation = float(one @ other) / norm
    far, step = 0, max(1, CELLS // len(usable))
    for start in range(0, SHUFFLES, step):
        shuffled = rng.permuted(np.tile(one, (min(step, SHUFFLES - start), 1)), axis=1)
        far += int((np.abs(shuffled @ other) / norm >= abs(correlation) - 1e-9).sum())
    return Related(correlation=correlation, p=(1 + far) / (1 + SHUFFLES), n_tasks=len(usable), by=by)


def _ranks(values: Sequence[float]) -> Floats:
    """Centred mid ranks."""
    _, place, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    ranks = middle[place]
    return np.asarray(ranks - ranks.mean(), float)
