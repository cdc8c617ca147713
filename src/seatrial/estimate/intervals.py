"""A rate by every interval that suits repeated trials, the default first."""

import numpy as np

from seatrial.estimate.bootstrap import DRAWS, bootstrap_rate
from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, completed, count_unknown, measured


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
    """Rate over tasks with the clustered t interval, cut to [0, 1]; unknown outcomes are taken both ways.

    Args:
        outcomes: task to the outcomes of its valid trials.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: there is no trial.
    """
    judged = measured(outcomes)
    worst = clustered_t(completed(judged, False), level, limits=(0.0, 1.0))
    if not count_unknown(judged):
        return worst
    best = clustered_t(completed(judged, True), level, limits=(0.0, 1.0))
    ends = (worst.low, best.high) if worst.low is not None and best.high is not None else (None, None)
    return Estimate(
        value=None,
        low=ends[0],
        high=ends[1],
        level=level,
        method=worst.method,
        unit=worst.unit,
        n_tasks=worst.n_tasks,
        n_trials=worst.n_trials,
        notes=[*dict.fromkeys(worst.notes + best.notes), "Unknown outcomes are taken both ways."],
    )
