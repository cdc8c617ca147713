"""A rate by every interval that suits repeated trials, the default first."""

import numpy as np

from seatrial.estimate.bootstrap import DRAWS, bootstrap_rate
from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes
from seatrial.estimate.ways import YES_NO, over_ways


def rate_intervals(
    outcomes: Outcomes, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> list[Estimate]:
    """The default interval, clustered t, the bootstrap over tasks, and the two-level one (conservative).

    All speak of the same rate: the mean over tasks. Wilson's on pooled trials is not among them, since it
    covers .70 to .81 at a stated .95 where trials of one task are alike.

    Args:
        outcomes: task to the outcomes of its valid trials; unknown ones are taken both ways.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: samples of each bootstrap, at least 1.

    Returns:
        Four estimates; only the first with fewer than two tasks, which have nothing to draw.
    """
    default = rate_over_tasks(outcomes, level)
    if default.n_tasks < 2:
        return [default]
    return [
        default,
        rate_by_t(outcomes, level),
        bootstrap_rate(outcomes, rng, level, draws),
        bootstrap_rate(outcomes, rng, level, draws, within=True),
    ]


def rate_by_t(outcomes: Outcomes, level: float = 0.95) -> Estimate:
    """Rate over tasks with the clustered t interval, cut to [0, 1], over every way of unknown outcomes.

    An end of the t interval is concave or convex in each outcome, so that values between no and yes, which an
    outcome has not, would not stretch it further.

    Args:
        outcomes: task to the outcomes of its valid trials.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: there is no trial.
    """
    return over_ways(outcomes, YES_NO, lambda known: clustered_t(known, level, limits=(0.0, 1.0)))
