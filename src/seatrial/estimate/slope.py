"""Was a run that hit its budget still getting on? Theil and Sen's slope of verified progress.

The slope is the median of all slopes between two steps (Theil 1950; Sen 1968, with his interval), so a single
jump does not make a stalled run look alive. The difference quotient (P_T − P_{T−w})/w of a single trial is in
``measure.progress``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks

Direction = Literal["advancing", "stalled", "falling", "unknown"]

WINDOW = 5
FEWEST = 3


class ProgressSlope(msgspec.Struct, frozen=True, kw_only=True):
    """Slope of one course, progress per step.

    Attributes:
        value, low, high: slope and Sen's interval; null with fewer than three steps.
        tau: Kendall's rank correlation of progress and step, in [−1, 1]; null where progress never changes.
        level: confidence level, in (0, 1).
        steps: how many it rests on.
        direction: advancing where the interval lies above 0, falling below, else stalled; unknown without.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float
    steps: int
    direction: Direction
    tau: float | None = None


class CensoredRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that their budget stopped.

    Attributes:
        advancing: share of them still advancing in their last steps; unknown ones bound it both ways.
        slopes: task to the slope of each run's last steps, in the order given.
        counts: runs by direction.
    """

    advancing: Estimate
    slopes: dict[str, list[ProgressSlope]]
    counts: dict[Direction, int]


def progress_slope(
    progress: Sequence[float | None], window: int | None = None, level: float = 0.95
) -> ProgressSlope:
    """Theil–Sen slope of a course of progress over all its steps, or its last ones.

    Args:
        progress: verified progress after each step, in order, evenly spaced.
        window: how many of the last steps count, at least 3; all for null.
        level: confidence level, in (0, 1).

    Returns:
        Unknown with fewer than three steps, or where one of them is unknown.

    Raises:
        ValueError: a value is NaN or infinite, or the window or level is out of range.
    """
    if (window is not None and window < FEWEST) or not 0 < level < 1:
        raise ValueError(f"progress_slope: window {window}, level {level}; needs 3 or more, and (0, 1)")
    last = list(progress if window is None else progress[-window:])
    known = [value for value in last if value is not None]
    if not all(map(math.isfinite, known)):
        raise ValueError(f"progress_slope: {last} holds no finite number somewhere; null is unknown")
    if len(known) < max(FEWEST, len(last)):
        return ProgressSlope(
            value=None, low=None, high=None, level=level, steps=len(last), direction="unknown"
        )
    # Slow to load, and needed by no other command.
    from scipy.stats import kendalltau, theilslopes

    fit = theilslopes(known, np.arange(len(known)), alpha=level)
    low, high = float(fit.low_slope), float(fit.high_slope)
    direction: Direction = "advancing" if low > 0 else "falling" if high < 0 else "stalled"
    # Where progress never changes there are no ranks to correlate.
    tau = float(kendalltau(range(len(known)), known).statistic) if len(set(known)) > 1 else None
    return ProgressSlope(
        value=float(fit.slope),
        low=low,
        high=high,
        level=level,
        steps=len(known),
        direction=direction,
        tau=tau,
    )


def censored_runs(
    courses: Mapping[str, Sequence[Sequence[float | None]]], window: int = WINDOW, level: float = 0.95
) -> CensoredRuns:
    """How many of the runs that hit their budget were still advancing.

    Args:
        courses: task to the course of progress of each of its censored runs.
        window: how many of the last steps count, at least 3.
        level: confidence level, in (0, 1), of each slope and of the share.

    Raises:
        ValueError: a value is NaN or infinite, or the window or level is out of range.
    """
    slopes = {task: [progress_slope(run, window, level) for run in runs] for task, runs in courses.items()}
    outcomes: dict[str, list[bool | None]] = {
        task: [None if run.direction == "unknown" else run.direction == "advancing" for run in runs]
        for task, runs in slopes.items()
    }
    counts: dict[Direction, int] = {"advancing": 0, "stalled": 0, "falling": 0, "unknown": 0}
    for runs in slopes.values():
        for run in runs:
            counts[run.direction] += 1
    return CensoredRuns(advancing=rate_over_tasks(outcomes, level), slopes=slopes, counts=counts)
