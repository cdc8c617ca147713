"""Tasks a paired comparison needs by the very test that will be made: t on differences, or McNemar's exact.

``paired_tasks`` is the normal approximation. With few tasks it promises too much: the t test has wider tails,
and McNemar's exact test, which is made of yes-or-no outcomes with one trial a task, is cautious by design
(22 tasks planned for a chance of .8 have one of .64).
"""

import math

import numpy as np

from seatrial.estimate.power import MOST_TASKS, TrialSpread, paired_tasks
from seatrial.estimate.student import t_quantile

# Fewer show too little of how tasks differ, whatever a plan takes the spread for.
FEWEST_TASKS = 6
# Standard deviations of the number of discordant tasks that are looked at.
FARTHEST = 10


def t_test_power(difference: float, deviation: float, tasks: int, alpha: float = 0.05) -> float:
    """Chance that a two-sided t test of so many task differences finds a true mean difference.

    Args:
        difference: the true mean.
        deviation: standard deviation of one task's difference, at least 0.
        tasks: at least 2.
        alpha: two-sided level, in (0, 1).

    Raises:
        ValueError: fewer than two tasks.
    """
    if tasks < 2:
        raise ValueError(f"t_test_power: {tasks} tasks; needs 2 at least")
    if deviation == 0:
        return 1.0
    # Loaded here, since the commands that plan nothing should not wait for it.
    from scipy.special import nctdtr

    shift, edge = abs(difference) * math.sqrt(tasks) / deviation, t_quantile(1 - alpha, tasks - 1)
    beyond = 1 - float(nctdtr(tasks - 1, shift, edge)) + float(nctdtr(tasks - 1, shift, -edge))
    # Far out the series has no number any more; there the normal curve is as good.
    return beyond if math.isfinite(beyond) else 1.0 if shift > edge else 0.0


def mcnemar_power(difference: float, discordant: float, tasks: int, alpha: float = 0.05) -> float:
    """Chance that McNemar's exact test, one trial of each system a task, finds a difference of rates.

    Args:
        difference: the true one, at most ``discordant`` either way.
        discordant: share of tasks on which the two systems differ, in [0, 1].
        tasks: at least 1.
        alpha: two-sided level, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    if not abs(difference) <= discordant <= 1 or tasks < 1:
        raise ValueError(f"mcnemar_power: difference {difference}, discordant {discordant}, {tasks} tasks")
    if discordant == 0:
        return 0.0
    # Loaded here for the same reason.
    from scipy.special import bdtr, bdtrc
    from scipy.stats import binom

    width = FARTHEST * math.sqrt(tasks * discordant * (1 - discordant)) + FARTHEST
    least, most = max(0, int(tasks * discordant - width)), min(tasks, int(tasks * discordant + width))
    sizes = np.arange(least, most + 1)
    # The most losses with 2·P(at most so many of n | ½) < alpha; −1 where none are so few.
    losses = binom.ppf(alpha / 2, sizes, 0.5)
    losses = np.where(2 * binom.cdf(losses, sizes, 0.5) < alpha, losses, losses - 1)
    better = (discordant + abs(difference)) / (2 * discordant)
    right = np.where(losses < 0, 0.0, bdtrc(np.maximum(sizes - losses - 1, 0), sizes, better))
    wrong = np.where(losses < 0, 0.0, bdtr(np.maximum(losses, 0), sizes, better))
    return float((binom.pmf(sizes, tasks, discordant) * (right + wrong)).sum())


def tasks_by_t(difference: float, spread: TrialSpread, alpha: float = 0.05, power: float = 0.8) -> int:
    """Fewest tasks, 6 at least, with which the t test on task differences has the wanted power.

    Args:
        difference: the smallest worth finding, not 0.
        spread: of the two systems' trials.
        alpha: two-sided level of the test, in (0, 1).
        power: wanted chance to find it, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    tasks = max(FEWEST_TASKS, paired_tasks(difference, spread, alpha, power))
    deviation = math.sqrt(spread.per_task)
    # The t test asks for about z²/2 tasks more than the normal curve, so few steps are made.
    while t_test_power(difference, deviation, tasks, alpha) < power:
        tasks = _more(tasks)
    return tasks


def tasks_by_mcnemar(
    difference: float, spread: TrialSpread, alpha: float = 0.05, power: float = 0.8
) -> tuple[int, float]:
    """Tasks, 6 at least, with which McNemar's exact test has the wanted power; one trial of each system.

    Of yes-or-no outcomes the variance of one task's difference is the discordant share less the squared
    difference, so the spread tells that share; it is cut to [|difference|, 1].

    Args:
        difference: the smallest worth finding, in [−1, 1], not 0.
        spread: of the two systems' trials, one of each.
        alpha: two-sided level of the test, in (0, 1).
        power: wanted chance to find it, in (0, 1).

    Returns:
        The tasks, to half a percent where they are many, and the discordant share that was taken.

    Raises:
        ValueError: an argument is out of range.
    """
    if not abs(difference) <= 1:
        raise ValueError(f"power: a difference of {difference}; two rates differ by 1 at most")
    tasks = max(FEWEST_TASKS, paired_tasks(difference, spread, alpha, power))
    discordant = min(1.0, max(abs(difference), spread.per_task + difference**2))
    while mcnemar_power(difference, discordant, tasks, alpha) < power:
        tasks = _more(tasks)
    return tasks, discordant


def _more(tasks: int) -> int:
    if tasks > MOST_TASKS:
        raise ValueError(f"power: more than {MOST_TASKS:g} tasks. Look for a greater difference")
    return tasks + max(1, tasks // 200)
