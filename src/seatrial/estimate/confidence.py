"""Trials that state a confidence, as columns; unknown outcomes stand as both a failure and a success."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.trials import Outcomes, Values

Pairs = Mapping[str, Sequence[tuple[float, bool | None]]]  # task to confidence and outcome of its trials


class Stated(NamedTuple):
    """One entry a trial, shape (trials,); every task counts once, so a trial of n weighs 1/n.

    Attributes:
        task: its task's number; bin: its bin's.
        weight, confidence: as they are.
        worst, best: the outcome, 1 or 0; 0 and 1 where it is unknown.
        edges: of the bins, shape (bins + 1,).
        n_tasks: tasks with such a trial.
    """

    task: NDArray[np.int64]
    bin: NDArray[np.int64]
    weight: Floats
    confidence: Floats
    worst: Floats
    best: Floats
    edges: Floats
    n_tasks: int


def refuse_confidences(confidences: Values, outcomes: Outcomes, bins: int) -> None:
    """Refuse tables that do not fit each other, and what is no probability.

    Raises:
        ValueError: naming the task and the value.
    """
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


def stated_trials(kept: Pairs, bins: int) -> Stated:
    """The columns, with bins of equal width k/bins … (k + 1)/bins; the last holds 1 too.

    Bins are found by comparison with the edges themselves: p·bins would round .29·100 down to 28.
    """
    edges = np.array([k / bins for k in range(bins + 1)])
    flat = [
        (place, 1 / len(pairs), p, won is True, won is not False)
        for place, pairs in enumerate(kept.values())
        for p, won in pairs
    ]
    task, weight, confidence, worst, best = np.array(flat, float).reshape(-1, 5).T
    places = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, bins - 1)
    return Stated(task.astype(int), places, weight, confidence, worst, best, edges, len(kept))
