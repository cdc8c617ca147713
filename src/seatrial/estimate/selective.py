"""Risk and coverage: how often a system errs if only its most confident trials are taken."""

from collections.abc import Sequence
from itertools import groupby

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import CELLS, DRAWS, Floats, task_weights
from seatrial.estimate.confidence import Stated, refuse_confidences, stated_trials
from seatrial.estimate.draws import defined_interval
from seatrial.estimate.estimate import Estimate, Said, say
from seatrial.estimate.trials import Outcomes, Values, count_unknown, measured, scope_notes


class RiskCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The curve, one point for each number of trials taken from the most confident on.

    Attributes:
        coverage: share of trials taken, rising to 1.
        risk: error rate among them; of trials of equal confidence, the mean over their orders.
        aurc: area under it, the mean of ``risk`` (Geifman and El-Yaniv 2017); lower is better.
        best_aurc: the same if confidence put every error last.
        excess: aurc − best_aurc, at least 0; 0 for a perfect order, whatever the error rate.
    """

    coverage: list[float]
    risk: list[float]
    aurc: float
    best_aurc: float
    excess: float


def risk_coverage(confidence: Sequence[float], error: Sequence[bool]) -> RiskCoverage:
    """Selective risk at every coverage.

    Args:
        confidence: of each trial; any finite scale, higher is more confident.
        error: whether each trial failed.

    Raises:
        ValueError: lengths differ, there is no trial, or a confidence is NaN.
    """
    pairs = sorted(zip(confidence, map(bool, error), strict=True), key=lambda pair: -pair[0])
    if not pairs or any(value != value for value, _ in pairs):
        raise ValueError(f"risk_coverage: {len(pairs)} trials; needs one with a confidence that is a number")
    risk, errors, taken = [], 0.0, 0
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        wrong = [failed for _, failed in group]
        risk += [(errors + i * sum(wrong) / len(wrong)) / (taken + i) for i in range(1, len(wrong) + 1)]
        errors, taken = errors + sum(wrong), taken + len(wrong)
    right = taken - int(errors)
    best = sum((i - right) / i for i in range(right + 1, taken + 1)) / taken
    aurc = sum(risk) / taken
    return RiskCoverage(
        coverage=[i / taken for i in range(1, taken + 1)],
        risk=risk,
        aurc=aurc,
        best_aurc=best,
        excess=max(0.0, aurc - best),
    )


def area_under_risk(
    confidences: Values,
    outcomes: Outcomes,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """AURC over tasks, every task counting once, with a bootstrap over tasks; lower is better.

    With one trial a task it is ``risk_coverage``'s. Unknown outcomes are taken both ways.

    Args:
        confidences: task to the stated probability of success of each trial, in [0, 1]; null where none was
            stated. Such trials are counted and left out.
        outcomes: task to the outcome of each trial, in the same order.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: tasks or numbers of trials differ, or a confidence is outside [0, 1].
    """
    refuse_confidences(confidences, outcomes, 1)
    stated = {
        task: [(p, outcomes[task][i]) for i, p in enumerate(trials) if p is not None]
        for task, trials in measured(confidences).items()
    }
    kept = {task: pairs for task, pairs in stated.items() if pairs}
    notes = scope_notes(kept)
    if unstated := count_unknown(confidences):
        notes.append(f"{unstated} trials state no confidence and are left out.")
    said = Said(level, "tasks", len(kept), sum(map(len, kept.values())), notes)
    if not kept:
        return say(None, (None, None), "none", said, ["No trial states a confidence."])
    trials = stated_trials(kept, 1)
    whole = np.ones((1, len(kept)))
    least, most = (float(_areas(trials, won, whole)[0]) for won in (trials.best, trials.worst))
    value = least if least == most else None
    if len(kept) < 2:
        return say(value, (None, None), "none", said, ["No interval: there are no several tasks to draw."])
    samples, step = np.empty((2, draws)), max(1, CELLS // len(trials.weight))
    for start in range(0, draws, step):
        weights = task_weights(len(kept), min(step, draws - start), rng).astype(float)
        for row, won in zip(samples, (trials.best, trials.worst), strict=True):
            row[start : start + len(weights)] = _areas(trials, won, weights)
    below, above = (defined_interval(sample, level) for sample in samples)
    ends = (None, None) if below[0] is None or above[1] is None else (below[0], above[1])
    method = "mean risk over coverage, bootstrap over tasks, percentile"
    return say(value, ends, method, said, list(dict.fromkeys(below[2] + above[2])))


def _areas(trials: Stated, won: Floats, weights: Floats) -> Floats:
    """AURC for every row of task weights; within equal confidence errors are spread evenly."""
    order = np.argsort(-trials.confidence, kind="stable")
    sorted_confidence = trials.confidence[order]
    starts = np.flatnonzero(np.diff(sorted_confidence, prepend=np.inf) != 0)
    group = np.cumsum(np.diff(sorted_confidence, prepend=np.inf) != 0) - 1
    weight = weights[:, trials.task[order]] * trials.weight[order]
    in_group = np.add.reduceat(weight, starts, axis=1)
    wrong = np.add.reduceat(weight * (1 - won[order]), starts, axis=1)
    rate = np.divide(wrong, in_group, out=np.zeros_like(wrong), where=in_group > 0)
    taken = np.cumsum(weight, axis=1)
    errors = np.cumsum(weight * rate[:, group], axis=1)
    risk = np.divide(errors, taken, out=np.zeros_like(errors), where=taken > 0)
    return np.asarray((risk * weight).sum(axis=1) / taken[:, -1], float)
