"""How long until something is noticed, when some trials end before it is (D3, D6).

A trial that never noticed is censored at its end: it says that noticing would have taken longer, if it had
come at all. Its mean over those that noticed would look better the more were missed, so the miss rate stands
beside every latency.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.estimate.endings import DRAWS, SUCCESS, Ending
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.survival import Curve, kaplan_meier, survival_quantile


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """One trial.

    Attributes:
        noticed: null where the journal cannot say.
        at: steps from the event to noticing it, or to the end of the trial.
    """

    noticed: bool | None
    at: float


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a latency.

    Attributes:
        curve: share that has not noticed yet after each number of steps, by Kaplan and Meier.
        median: steps by which half have noticed; null where fewer do.
        miss_rate: trials that never noticed, over those the event was delivered to; unknown ones both ways.
        unknown: trials of which nobody can say; they are in the miss rate and not on the curve.
    """

    curve: Curve
    median: Estimate
    miss_rate: Estimate
    unknown: int


def notice_latency(
    waits: Mapping[str, Sequence[Wait]], rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Latency:
    """Latency over trials, tasks as the sampling unit.

    Args:
        waits: task to its trials, of those that the event was delivered to.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.

    Raises:
        ValueError: a place is negative or not finite.
    """
    known = {
        task: [
            Ending(wait.at, SUCCESS if wait.noticed else None) for wait in trials if wait.noticed is not None
        ]
        for task, trials in waits.items()
    }
    missed = {
        task: [None if wait.noticed is None else not wait.noticed for wait in trials]
        for task, trials in waits.items()
    }
    return Latency(
        curve=kaplan_meier(known, rng, level, draws),
        median=survival_quantile(known, 0.5, rng, level, draws).estimate,
        miss_rate=rate_over_tasks(missed, level),
        unknown=sum(wait.noticed is None for trials in waits.values() for wait in trials),
    )
