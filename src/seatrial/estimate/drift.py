"""Have anchor tasks been learnt? Their change over time, beside tasks nobody has seen."""

from typing import Literal

import msgspec
import numpy as np

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import newcombe_unpaired
from seatrial.estimate.paired import PairedDifference, paired_difference
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, count_trials, measured

Reading = Literal["exposure suspected", "anchors moved", "no drift shown", "unknown"]


class AnchorDrift(msgspec.Struct, frozen=True, kw_only=True):
    """Two numbers and how they read together.

    Attributes:
        drift: anchors now − anchors then, paired by task, of one system or its successor.
        fresh_drop: fresh tasks − anchors, both now; below 0, fresh tasks go worse.
        reading: "exposure suspected" where the whole interval of the drop lies below the expected gap;
            "anchors moved" where it does not, and anchors changed beyond chance.
        notes: as whole sentences.
    """

    drift: PairedDifference
    fresh_drop: Estimate
    reading: Reading
    notes: list[str]


def anchor_drift(
    then: Outcomes,
    now: Outcomes,
    fresh: Outcomes,
    rng: np.random.Generator,
    expected_gap: float = 0.0,
    level: float = 0.95,
) -> AnchorDrift:
    """Set the change on anchors against success on fresh tasks.

    Args:
        then, now: anchor task to the outcomes of its valid trials in the two generations.
        fresh: the same of tasks made since, of the same frame; none may be an anchor.
        rng: source of all randomness.
        expected_gap: success on fresh tasks less success on anchors to be expected without exposure, in
            [−1, 1], for example from both sets' calibration; 0 where they are of one difficulty.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: anchors differ between generations, a task is anchor and fresh, or a gap out of range.
    """
    if both := sorted(set(now) & set(fresh)):
        raise ValueError(f"anchor_drift: {both[0]} is given as anchor and as fresh")
    if not -1 <= expected_gap <= 1:
        raise ValueError(f"anchor_drift: expected gap {expected_gap} is not in [-1, 1]")
    drift = paired_difference(now, then, rng, alpha=1 - level, names=("now", "then"))
    drop = rate_gap(fresh, now, level)
    notes = ["Fresh tasks must be of the anchors' sampling frame, or the gap is one of difficulty."]
    reading: Reading = "no drift shown"
    if drop.low is None or drop.high is None or drift.difference.value is None:
        reading = "unknown"
    elif drop.high < expected_gap:
        reading = "exposure suspected"
    elif drift.verdict != "cannot be told apart yet":
        reading = "anchors moved"
    if reading == "anchors moved":
        notes.append("Anchors moved and fresh tasks keep pace: the system changed, or the anchors did.")
    return AnchorDrift(drift=drift, fresh_drop=drop, reading=reading, notes=notes)


def rate_gap(one: Outcomes, other: Outcomes, level: float = 0.95) -> Estimate:
    """Success on one set of tasks less success on another: Newcombe's interval from two default ones.

    Args:
        one, other: task to the outcomes of its valid trials, of different tasks.
        level: confidence level, in (0, 1).

    Returns:
        Null, with the reason, where an outcome is unknown or a set has fewer than two tasks.
    """
    rates = [rate_over_tasks(side, level) for side in (one, other)]
    counts = (len(measured(one)) + len(measured(other)), count_trials(one) + count_trials(other))
    known = [
        (r.value, r.low, r.high) for r in rates if None not in (r.value, r.low, r.high) and r.n_tasks > 1
    ]
    value = low = high = None
    notes: list[str] = []
    if len(known) == 2:
        (a, low_a, high_a), (b, low_b, high_b) = known
        assert a is not None and b is not None
        assert low_a is not None and high_a is not None and low_b is not None and high_b is not None
        value = a - b
        low, high = newcombe_unpaired(a, (low_a, high_a), b, (low_b, high_b))
    else:
        notes.append("No gap: an outcome is unknown, or one of the sets has fewer than two tasks.")
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        method="Newcombe's method 10 from two Wilson intervals" if value is not None else "none",
        unit="tasks, two sets",
        n_tasks=counts[0],
        n_trials=counts[1],
        notes=notes,
    )
