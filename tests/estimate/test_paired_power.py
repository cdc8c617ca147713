"""Sample size by the test that is made (F14): simulated power, and no plan on a handful of tasks."""

import math

import numpy as np
import pytest

from seatrial.estimate.paired_power import mcnemar_power, t_test_power, tasks_by_mcnemar, tasks_by_t
from seatrial.estimate.power import TrialSpread, paired_tasks
from seatrial.estimate.student import t_quantile


def test_the_t_test_has_the_power_that_is_promised():
    # G*Power 3.1, matched pairs, dz = .5, two tails, .05, .8: 34 pairs (the normal curve says 32).
    spread = TrialSpread(between=1.0)
    assert tasks_by_t(0.5, spread) == 34 > paired_tasks(0.5, spread) == 32
    draws = np.random.default_rng(1).normal(0.5, 1.0, (20_000, 34))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / math.sqrt(34))
    found = (np.abs(t) > t_quantile(0.95, 33)).mean()
    assert found == pytest.approx(t_test_power(0.5, 1.0, 34), abs=0.01) and found > 0.79


def test_mcnemar_s_power_is_the_sum_over_all_tables():
    tasks, p10, p01, total = 15, 0.4, 0.1, 0.0
    for b in range(tasks + 1):
        for c in range(tasks + 1 - b):
            ways = math.comb(tasks, b) * math.comb(tasks - b, c)
            chance = ways * p10**b * p01**c * (1 - p10 - p01) ** (tasks - b - c)
            total += chance * (b + c > 0 and min(1, 2 * tail(min(b, c), b + c)) < 0.05)
    assert mcnemar_power(0.3, 0.5, tasks) == pytest.approx(total)
    assert mcnemar_power(-0.3, 0.5, tasks) == pytest.approx(total)


def tail(losses, n):
    return sum(math.comb(n, k) for k in range(losses + 1)) / 2**n


def test_one_trial_a_task_needs_more_than_the_normal_curve_says():
    spread = TrialSpread(between=0.0, within_a=0.125, within_b=0.125)
    tasks, discordant = tasks_by_mcnemar(0.3, spread)
    plain = paired_tasks(0.3, spread)
    assert discordant == pytest.approx(0.34) and tasks > plain
    assert mcnemar_power(0.3, discordant, tasks) >= 0.8 > mcnemar_power(0.3, discordant, plain) + 0.05


def test_a_spread_of_nothing_plans_six_tasks_at_least():
    assert tasks_by_t(0.5, TrialSpread(between=0.0)) == 6
    # A difference of .5 is seen on half of the tasks at most, and six of them must be.
    assert tasks_by_mcnemar(0.5, TrialSpread(between=0.0))[0] > 12


def test_impossible_questions_are_refused():
    with pytest.raises(ValueError, match="two rates differ by 1 at most"):
        tasks_by_mcnemar(1.5, TrialSpread(between=1.0))
    with pytest.raises(ValueError, match="needs 2 at least"):
        t_test_power(0.5, 1.0, 1)
    with pytest.raises(ValueError, match="mcnemar_power"):
        mcnemar_power(0.5, 0.4, 10)
