"""How much of success a disturbance takes: the same tasks with and without it (D2).

The drop alone misleads where the baseline is low, since what hardly succeeds cannot fall (a floor), and the
rate after it alone misleads where the baseline is high. So the two rates stand beside their difference.
"""

import msgspec
import numpy as np

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.paired import Verdict, paired_difference
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, measured

# A baseline below this rate leaves a drop little room: it is named.
FLOOR = 0.2


class Drop(msgspec.Struct, frozen=True, kw_only=True):
    """Success without and with a disturbance, on the tasks that have both.

    Attributes:
        before, after: rates over tasks, with the default interval.
        drop: mean over tasks of the rate before minus the rate after; positive is a loss.
        verdict: "A higher" when the baseline is, by ``p``.
        p: two-sided; null where nothing can be tested.
        test: where it comes from.
        floor: whether the baseline's rate is below 0.2, which bounds the drop; null where unknown.
    """

    before: Estimate
    after: Estimate
    drop: Estimate
    verdict: Verdict
    p: float | None
    test: str
    floor: bool | None


def paired_drop(before: Outcomes, after: Outcomes, rng: np.random.Generator, alpha: float = 0.05) -> Drop:
    """Compare success with and without a disturbance, task by task.

    Args:
        before: task to the outcomes of its valid baseline trials.
        after: likewise of its disturbed ones. A task that has trials on one side only is left out and named.
        rng: source of the sampled signs.
        alpha: level of the test, in (0, 1).
    """
    both = sorted(set(measured(before)) & set(measured(after)))
    left_out = sorted({*before, *after} - set(both))
    left, right = {task: before[task] for task in both}, {task: after[task] for task in both}
    found = paired_difference(left, right, rng, alpha=alpha, names=("baseline", "disturbed"))
    rate = rate_over_tasks(left)
    floor = below_floor(rate)
    notes = [f"{task} is left out: no valid trial on one side." for task in left_out]
    if floor:
        notes.append(
            f"Floor: the baseline itself succeeds in {100 * (rate.value or 0):.0f} % only, so no drop can be "
            "greater. Use easier tasks to learn about the disturbance."
        )
    difference = found.difference
    return Drop(
        before=rate,
        after=rate_over_tasks(right),
        drop=msgspec.structs.replace(difference, notes=list(dict.fromkeys([*difference.notes, *notes]))),
        verdict=found.verdict,
        p=found.p,
        test=found.test,
        floor=floor,
    )


def below_floor(rate: Estimate) -> bool | None:
    """Whether a baseline leaves a drop little room; null where its rate is unknown."""
    return None if rate.value is None else rate.value < FLOOR
