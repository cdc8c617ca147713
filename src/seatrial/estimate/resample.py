"""Any statistic of weighted tasks, over bootstrap samples of tasks."""

from collections.abc import Callable

import numpy as np

from seatrial.estimate.bootstrap import CELLS, Floats, task_weights


def over_tasks(
    tasks: int, rng: np.random.Generator, draws: int, of: Callable[[Floats], Floats], cells: int = 0
) -> Floats:
    """What ``of`` says of each bootstrap sample of tasks, shape (draws, …).

    Args:
        tasks: how many there are, at least 1.
        rng: source of all randomness.
        draws: samples, at least 1.
        of: takes how often each task is drawn, shape (rows, tasks), and gives one entry a row.
        cells: numbers ``of`` holds at once for a row, where they are more than the tasks; so many rows are
            taken together as fit in memory.

    Raises:
        ValueError: no draw.
    """
    if draws < 1:
        raise ValueError(f"{draws} draws; needs one at least")
    step = max(1, CELLS // max(tasks, cells))
    starts = range(0, draws, step)
    parts = [of(task_weights(tasks, min(step, draws - start), rng).astype(float)) for start in starts]
    return np.concatenate(parts)
