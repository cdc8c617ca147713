"""What more agents at once can gain."""

import math


def amdahl(parallel: float, agents: float) -> float:
    """Greatest speed-up when a share of the work can be divided: 1/((1 − p) + p/n) (Amdahl 1967).

    A ceiling: coordination only takes from it. Below 1/(1 − p) for any number of agents.

    Args:
        parallel: share of the work that can be divided, in [0, 1].
        agents: at least 1.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= parallel <= 1 or not 1 <= agents < math.inf:
        raise ValueError(f"amdahl({parallel}, {agents}): needs 0 <= parallel <= 1 and agents >= 1")
    return 1 / (1 - parallel + parallel / agents)
