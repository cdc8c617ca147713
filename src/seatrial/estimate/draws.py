"""Bootstrap over tasks of anything that is a function of sums over tasks. No loop runs over draws."""

import math
from collections.abc import Callable

import numpy as np

from seatrial.estimate.bootstrap import CELLS, DRAWS, Floats, percentile_interval, task_weights


def drawn_sums(rows: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Sums over as many tasks as there are, drawn with replacement.

    Args:
        rows: what each task adds, shape (tasks, columns); finite, since an infinite one would make NaN of
            the samples that leave its task out.
        rng: source of all randomness.
        draws: bootstrap samples, at least 1.

    Returns:
        Shape (draws, columns). Columns of one draw share their tasks.

    Raises:
        ValueError: no task, no draw, or a value that is not finite.
    """
    if rows.ndim != 2 or not len(rows) or draws < 1 or not np.isfinite(rows).all():
        raise ValueError(f"drawn_sums: rows of shape {rows.shape}, {draws} draws; needs finite rows of tasks")
    found, step = np.empty((draws, rows.shape[1])), max(1, CELLS // max(rows.shape))
    for start in range(0, draws, step):
        part = found[start : start + step]
        part[:] = task_weights(len(rows), len(part), rng) @ rows
    return found


def drawn_statistic(
    rows: Floats, statistic: Callable[[Floats], Floats], rng: np.random.Generator, draws: int = DRAWS
) -> Floats:
    """A function of sums over drawn tasks, a part of the draws at a time where rows are wide.

    Args:
        rows: as for ``drawn_sums``.
        statistic: from sums of shape (n, columns) to values of shape (n,).
        rng, draws: likewise.

    Returns:
        Shape (draws,).
    """
    step = max(1, CELLS // max(1, rows.shape[-1]))
    parts = [min(step, draws - start) for start in range(0, draws, step)]
    return np.concatenate([statistic(drawn_sums(rows, rng, part)) for part in parts or [draws]])


def defined_interval(sample: Floats, level: float) -> tuple[float | None, float | None, list[str]]:
    """Percentile interval of the draws in which a statistic is defined (not NaN), and what to say of it.

    Args:
        sample: shape (draws,); NaN where the drawn tasks define no value, infinities as they are.
        level: confidence level, in (0, 1).

    Returns:
        Low, high and notes; no interval where no draw is defined or all of them agree.
    """
    defined = sample[~np.isnan(sample)]
    lost = len(sample) - len(defined)
    notes = [f"{lost} of {len(sample)} bootstrap samples define no value and are left out."] if lost else []
    if not len(defined):
        return None, None, [*notes, "No interval: no bootstrap sample defines a value."]
    low, high = percentile_interval(defined, level)
    size = max(abs(low), abs(high))
    if low == high or (math.isfinite(size) and high - low <= 1e-12 * size):
        return None, None, [*notes, "No bootstrap interval, since all its draws agree."]
    return low, high, notes
