"""Whether stated confidence can be believed: reliability by bin, ECE, Brier score and log loss.

Every task counts once: a trial of a task with n trials weighs 1/n. Unknown outcomes are taken both ways.
"""

from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, Floats
from seatrial.estimate.confidence import Pairs, Stated, refuse_confidences, stated_trials
from seatrial.estimate.draws import defined_interval, drawn_sums
from seatrial.estimate.ece import expected_calibration_error
from seatrial.estimate.estimate import Estimate, Said, say
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
        ece_by_chance: what exact confidence would show on average with these trials; null without any.
        mce: largest |confidence − success| of a bin, in [0, 1]; null where an outcome is unknown.
        brier: mean (confidence − outcome)², in [0, 1].
        log_loss: mean −ln of the chance given to what happened, in nats; infinite where certainty was wrong.
        unstated: trials without a stated confidence, which say nothing here.
    """

    bins: list[ReliabilityBin]
    ece: Estimate
    ece_by_chance: float | None
    mce: float | None
    brier: Estimate
    log_loss: Estimate
    unstated: int


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
    refuse_confidences(confidences, outcomes, bins)
    stated = {
        task: [(p, outcomes[task][i]) for i, p in enumerate(trials) if p is not None]
        for task, trials in measured(confidences).items()
    }
    unstated = count_unknown(confidences)
    kept = {task: pairs for task, pairs in stated.items() if pairs}
    notes = scope_notes(kept)
    notes += [f"{unstated} trials state no confidence and are left out."] if unstated else []
    rows = stated_trials(kept, bins)
    unknown = sum(won is None for pairs in kept.values() for _, won in pairs)
    notes += [f"{unknown} unknown outcomes, taken both ways."] if unknown else []
    places = _bins(kept, rows, level)
    gaps = [abs(place.gap) for place in places if place.gap is not None]
    said = Said(level, "tasks", len(kept), sum(map(len, kept.values())), notes)
    ece, by_chance = expected_calibration_error(rows, said, rng, draws)
    return Calibration(
        bins=places,
        ece=ece,
        ece_by_chance=by_chance,
        mce=None if unknown or not gaps else max(gaps),
        brier=_mean_loss(rows, _squares(rows), said, rng, draws),
        log_loss=_mean_loss(rows, _logs(rows), said, rng, draws),
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


def _bins(kept: Pairs, rows: Stated, level: float) -> list[ReliabilityBin]:
    inside: list[dict[str, list[bool | None]]] = [{} for _ in rows.edges[1:]]
    flat = [(task, won) for task, pairs in kept.items() for _, won in pairs]
    for (task, won), place in zip(flat, rows.bin, strict=True):
        inside[place].setdefault(task, []).append(won)
    # Trials weigh what they do in the whole table, so that the bins' gaps add up to the ECE.
    sums = [
        np.bincount(rows.bin, weights=rows.weight * values, minlength=len(inside))
        for values in (np.ones(len(flat)), rows.confidence, rows.worst, rows.best)
    ]
    found = []
    for place, outcomes in enumerate(inside):
        total, stated, worst, best = (float(column[place]) for column in sums)
        mean = stated / total if outcomes else None
        rate = worst / total if outcomes and worst == best else None
        found.append(
            ReliabilityBin(
                low=float(rows.edges[place]),
                high=float(rows.edges[place + 1]),
                confidence=mean,
                success=rate_over_tasks(outcomes, level),
                gap=None if mean is None or rate is None else mean - rate,
            )
        )
    return found


def _squares(rows: Stated) -> tuple[Floats, Floats]:
    """Squared error at its least and most."""
    one, other = (rows.confidence - rows.worst) ** 2, (rows.confidence - rows.best) ** 2
    return np.minimum(one, other), np.maximum(one, other)


def _logs(rows: Stated) -> tuple[Floats, Floats]:
    """Log loss at its least and most; infinite where certainty was wrong."""
    with np.errstate(divide="ignore"):
        won, lost = -np.log(rows.confidence), -np.log1p(-rows.confidence)
    one, other = np.where(rows.worst > 0, won, lost), np.where(rows.best > 0, won, lost)
    return np.minimum(one, other) + 0.0, np.maximum(one, other) + 0.0


def _mean_loss(
    stated: Stated, losses: tuple[Floats, Floats], said: Said, rng: np.random.Generator, draws: int
) -> Estimate:
    """Mean over tasks of the loss at its least and most, with an interval that covers both."""
    tasks = stated.n_tasks
    if not tasks:
        return say(None, (None, None), "none", said, ["No trial states a confidence."])
    sums = []
    for loss in losses:
        # Infinite losses are counted apart: drawn no times, one would make NaN of the sum.
        infinite = np.isinf(loss)
        finite = np.where(infinite, 0.0, loss)
        sums += [np.bincount(stated.task, stated.weight * part, tasks) for part in (finite, infinite)]
    columns = np.stack(sums, axis=1).astype(float)

    def means(found: Floats) -> tuple[Floats, Floats]:
        least, most = (np.where(found[:, at + 1] > 0, np.inf, found[:, at] / tasks) for at in (0, 2))
        return least, most

    least, most = (float(end[0]) for end in means(columns.sum(axis=0, keepdims=True)))
    wrong = int(np.isinf(losses[1]).sum())
    notes = (
        [f"{wrong} trials were certain (0 or 1) and wrong, or may have been: infinite loss."] if wrong else []
    )
    value = least if least == most else None
    if tasks < 2:
        return say(
            value, (None, None), METHOD, said, [*notes, "No interval: there are no several tasks to draw."]
        )
    samples = means(drawn_sums(columns, rng, draws))
    below, above = defined_interval(samples[0], said.level), defined_interval(samples[1], said.level)
    notes += dict.fromkeys(below[2] + above[2])
    ends = (None, None) if below[0] is None or above[1] is None else (below[0], above[1])
    return say(value, ends, METHOD, said, notes)
