"""Whether stated confidence can be believed: reliability by bin, ECE, Brier score and log loss.

Every task counts once: a trial of a task with n trials weighs 1/n. Unknown outcomes are taken both ways.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, Floats
from seatrial.estimate.draws import defined_interval, drawn_sums
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, Values, count_unknown, measured, scope_notes

BINS = 10
METHOD = "mean over tasks, bootstrap over tasks, percentile"


class ReliabilityBin(msgspec.Struct, frozen=True, kw_only=True):
    """Trials whose confidence lies in [low, high); the last bin holds 1 too.

    Attributes:
        low, high: edges k/bins, compared exactly.
        confidence: mean stated confidence; null in an empty bin.
        success: rate of success of its trials, with counts; its value is null in an empty bin.
        gap: confidence − success; null where either is.
    """

    low: float
    high: float
    confidence: float | None
    success: Estimate
    gap: float | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How stated confidence and outcomes go together; lower is better for all four numbers.

    Attributes:
        bins: every bin, empty ones too.
        ece: expected calibration error, Σ share of bin · |confidence − success|, in [0, 1].
        mce: largest |confidence − success| of a bin, in [0, 1]; null where an outcome is unknown.
        brier: mean (confidence − outcome)², in [0, 1].
        log_loss: mean −ln of the chance given to what happened, in nats; infinite where certainty was wrong.
        unstated: trials without a stated confidence, which say nothing here.
    """

    bins: list[ReliabilityBin]
    ece: Estimate
    mce: float | None
    brier: Estimate
    log_loss: Estimate
    unstated: int


class _Rows(NamedTuple):
    """One entry a trial with a stated confidence: its task's number, weight, bin and both outcomes."""

    task: Floats
    weight: Floats
    confidence: Floats
    worst: Floats
    best: Floats
    bin: Floats


def calibration(
    confidences: Values,
    outcomes: Outcomes,
    rng: np.random.Generator,
    bins: int = BINS,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Calibration:
    """Reliability of confidences of one kind (of completion, or of one step: never both in one call).

    Args:
        confidences: task to the stated probability of success of each trial, in [0, 1]; null where none was
            stated. Such trials are counted and left out.
        outcomes: task to the outcome of each trial, in the same order; null is unknown.
        rng: source of all randomness.
        bins: bins of equal width, at least 1.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: tasks or numbers of trials differ, a confidence is outside [0, 1], or bins < 1.
    """
    _refuse(confidences, outcomes, bins)
    stated = {
        task: [(p, outcomes[task][i]) for i, p in enumerate(trials) if p is not None]
        for task, trials in measured(confidences).items()
    }
    unstated = count_unknown(confidences)
    kept = {task: pairs for task, pairs in stated.items() if pairs}
    notes = scope_notes(kept)
    notes += [f"{unstated} trials state no confidence and are left out."] if unstated else []
    edges = np.array([k / bins for k in range(bins + 1)])
    rows = _rows(kept, edges)
    unknown = sum(won is None for pairs in kept.values() for _, won in pairs)
    notes += [f"{unknown} unknown outcomes, taken both ways."] if unknown else []
    places = _bins(kept, rows, edges, level)
    gaps = [abs(place.gap) for place in places if place.gap is not None]
    shape = (len(kept), sum(map(len, kept.values())), level, notes)
    return Calibration(
        bins=places,
        ece=_ece(rows, len(kept), bins, shape, rng, draws),
        mce=None if unknown or not gaps else max(gaps),
        brier=_mean_loss(rows, _squares(rows), shape, rng, draws),
        log_loss=_mean_loss(rows, _logs(rows), shape, rng, draws),
        unstated=unstated,
    )


def calibration_by_stratum(
    confidences: Values,
    outcomes: Outcomes,
    strata: Mapping[str, str],
    rng: np.random.Generator,
    bins: int = BINS,
    level: float = 0.95,
    draws: int = DRAWS,
) -> dict[str, Calibration]:
    """Calibration within each stratum of tasks (by depth, by disturbance), by name of stratum.

    Args:
        strata: stratum of every task; the others as for ``calibration``.

    Raises:
        ValueError: a task has no stratum, or as for ``calibration``.
    """
    if lost := sorted(set(confidences) - set(strata)):
        raise ValueError(f"calibration: {lost[0]} has no stratum")
    found = {}
    for name in sorted({strata[task] for task in confidences}):
        tasks = [task for task in confidences if strata[task] == name]
        own = ({t: confidences[t] for t in tasks}, {t: outcomes.get(t, ()) for t in tasks})
        found[name] = calibration(*own, rng, bins, level, draws)
    return found


Shape = tuple[int, int, float, list[str]]  # tasks, trials, level, notes
Pairs = Mapping[str, list[tuple[float, bool | None]]]  # task to confidence and outcome of its trials


def _refuse(confidences: Values, outcomes: Outcomes, bins: int) -> None:
    if bins < 1:
        raise ValueError(f"calibration: {bins} bins; give at least 1")
    if other := sorted(set(confidences) ^ set(outcomes)):
        raise ValueError(f"calibration: {other[0]} has confidences or outcomes only")
    for task, trials in confidences.items():
        if len(trials) != len(outcomes[task]):
            raise ValueError(
                f"calibration: {task} has {len(trials)} confidences, {len(outcomes[task])} outcomes"
            )
        if bad := [p for p in trials if p is not None and not 0 <= p <= 1]:
            raise ValueError(f"calibration: confidence {bad[0]} of {task} is not in [0, 1]")


def _rows(kept: Pairs, edges: Floats) -> _Rows:
    flat = [
        (place, 1 / len(pairs), p, won is True, won is not False)
        for place, pairs in enumerate(kept.values())
        for p, won in pairs
    ]
    task, weight, confidence, worst, best = np.array(flat, float).reshape(-1, 5).T
    return _Rows(task, weight, confidence, worst, best, _bin_of(confidence, edges))


def _bin_of(confidence: Floats, edges: Floats) -> Floats:
    """Bins by comparison with the edges themselves: p·bins rounds .29·100 down to 28."""
    place = np.searchsorted(edges, confidence, side="right") - 1
    return np.asarray(np.minimum(place, len(edges) - 2), float)


def _bins(kept: Pairs, rows: _Rows, edges: Floats, level: float) -> list[ReliabilityBin]:
    inside: list[dict[str, list[bool | None]]] = [{} for _ in edges[1:]]
    flat = [(task, won) for task, pairs in kept.items() for _, won in pairs]
    for (task, won), place in zip(flat, rows.bin.astype(int), strict=True):
        inside[place].setdefault(task, []).append(won)
    # Trials weigh what they do in the whole table, so that the bins' gaps add up to the ECE.
    sums = [
        np.bincount(rows.bin.astype(int), weights=rows.weight * values, minlength=len(inside))
        for values in (np.ones(len(flat)), rows.confidence, rows.worst, rows.best)
    ]
    found = []
    for place, outcomes in enumerate(inside):
        total, stated, worst, best = (float(column[place]) for column in sums)
        mean = stated / total if outcomes else None
        rate = worst / total if outcomes and worst == best else None
        found.append(
            ReliabilityBin(
                low=float(edges[place]),
                high=float(edges[place + 1]),
                confidence=mean,
                success=rate_over_tasks(outcomes, level),
                gap=None if mean is None or rate is None else mean - rate,
            )
        )
    return found


def _by_task(rows: _Rows, tasks: int, values: Floats) -> Floats:
    """Weighted sums by task, shape (tasks,)."""
    sums = np.bincount(rows.task.astype(int), weights=rows.weight * values, minlength=tasks)
    return np.asarray(sums, float)


def _ece(rows: _Rows, tasks: int, bins: int, shape: Shape, rng: np.random.Generator, draws: int) -> Estimate:
    if not tasks:
        return _nothing(shape)
    cell = (rows.task * bins + rows.bin).astype(int)
    table = np.stack(
        [
            np.bincount(cell, weights=rows.weight * (rows.confidence - won), minlength=tasks * bins)
            for won in (rows.worst, rows.best)
        ]
    ).reshape(2, tasks, bins)
    columns = np.concatenate([table[0], table[1]], axis=1)

    def least_and_most(sums: Floats) -> tuple[Floats, Floats]:
        high, low = sums[:, :bins], sums[:, bins:]  # the gap is highest where unknown ones failed
        most = np.maximum(np.abs(high), np.abs(low))
        least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(high), np.abs(low)))
        return least.sum(axis=1) / tasks, most.sum(axis=1) / tasks

    ends = least_and_most(columns.sum(axis=0, keepdims=True))
    sample = least_and_most(drawn_sums(columns, rng, draws)) if tasks > 1 else None
    notes = [*shape[3], "Bins with few trials raise the ECE above 0 even where confidence is exact."]
    return _between((float(ends[0][0]), float(ends[1][0])), sample, (*shape[:3], notes))


def _squares(rows: _Rows) -> tuple[Floats, Floats]:
    """Squared error at its least and most."""
    one, other = (rows.confidence - rows.worst) ** 2, (rows.confidence - rows.best) ** 2
    return np.minimum(one, other), np.maximum(one, other)


def _logs(rows: _Rows) -> tuple[Floats, Floats]:
    """Log loss at its least and most; infinite where certainty was wrong."""
    with np.errstate(divide="ignore"):
        won, lost = -np.log(rows.confidence), -np.log1p(-rows.confidence)
    one, other = np.where(rows.worst > 0, won, lost), np.where(rows.best > 0, won, lost)
    return np.minimum(one, other) + 0.0, np.maximum(one, other) + 0.0


def _mean_loss(
    rows: _Rows, losses: tuple[Floats, Floats], shape: Shape, rng: np.random.Generator, draws: int
) -> Estimate:
    tasks = shape[0]
    if not tasks:
        return _nothing(shape)
    sums = []
    for loss in losses:
        infinite = np.isinf(loss)
        sums += [_by_task(rows, tasks, np.where(infinite, 0.0, loss)), _by_task(rows, tasks, infinite * 1.0)]
    columns = np.stack(sums, axis=1)

    def means(found: Floats) -> tuple[Floats, Floats]:
        least, most = (np.where(found[:, at + 1] > 0, np.inf, found[:, at] / tasks) for at in (0, 2))
        return least, most

    ends = means(columns.sum(axis=0, keepdims=True))
    sample = means(drawn_sums(columns, rng, draws)) if tasks > 1 else None
    wrong = int(np.isinf(losses[1]).sum())
    said = (
        [f"{wrong} trials were certain (0 or 1) and wrong, or may have been: an infinite loss."]
        if wrong
        else []
    )
    return _between((float(ends[0][0]), float(ends[1][0])), sample, (*shape[:3], [*shape[3], *said]))


def _between(ends: tuple[float, float], sample: tuple[Floats, Floats] | None, shape: Shape) -> Estimate:
    """The value where both ways agree, with an interval that covers both."""
    tasks, trials, level, notes = shape
    low = high = None
    if sample is None:
        notes = [*notes, "No interval: there are no several tasks to draw."]
    else:
        low, least_high, one = defined_interval(sample[0], level)
        most_low, high, other = defined_interval(sample[1], level)
        if least_high is None or most_low is None:
            low = high = None
        notes = [*notes, *dict.fromkeys(one + other)]
    return Estimate(
        value=ends[0] if ends[0] == ends[1] else None,
        low=low,
        high=high,
        level=level,
        method=METHOD,
        unit="tasks",
        n_tasks=tasks,
        n_trials=trials,
        notes=notes,
    )


def _nothing(shape: Shape) -> Estimate:
    notes = [*shape[3], "No trial states a confidence."]
    return Estimate(
        value=None, level=shape[2], method="none", unit="tasks", n_tasks=0, n_trials=0, notes=notes
    )
