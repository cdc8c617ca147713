"""Draws of families, then tasks inside each drawn family, then trials inside each drawn task.

Draws are counts, not copies, and every copy is drawn anew: a family drawn twice with three tasks gives six
draws among them. No loop runs over draws.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from seatrial.estimate.bootstrap import Counts, task_weights
from seatrial.estimate.trials import family_of


def family_index(tasks: Sequence[str], families: Mapping[str, str] | None) -> Counts:
    """Each task's family as a number from 0, in the order of their names.

    Args:
        tasks: names of tasks.
        families: task to its family; a task it does not name is of the family its own name tells
            (``family/name``), or else a family by itself.
    """
    own = families or {}
    names = [own.get(task, family_of(task) or task) for task in tasks]
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], int)


def hierarchy_weights(family: Counts, draws: int, rng: np.random.Generator) -> Counts:
    """How often each task is drawn: families with replacement, then tasks inside every drawn copy.

    Args:
        family: each task's family, numbered from 0 without a gap, shape (tasks,).
        draws: samples, at least 1.
        rng: source of all randomness.

    Returns:
        Shape (draws, tasks). The rows' sums vary, since families differ in size.
    """
    sizes = np.bincount(family)
    copies = task_weights(len(sizes), draws, rng)
    found = np.empty((draws, len(family)), int)
    for number, size in enumerate(sizes):
        members = np.flatnonzero(family == number)
        found[:, members] = rng.multinomial(copies[:, number] * size, np.full(size, 1 / size))
    return found
