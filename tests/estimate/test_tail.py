"""Quantiles up to P99 with timeouts at the cap (F8, F29)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.endings import Ending
from seatrial.estimate.tail import spent, tail_quantiles, trials_wanted
from tests.estimate.endings import endings, repeated


def rng(seed=1):
    return np.random.default_rng(seed)


def by_share(found):
    return {one.share: one for one in found}


def test_quantiles_are_places_of_trials():
    found = by_share(tail_quantiles(endings(range(1, 101), [1] * 100), 1000.0, rng()))
    assert [found[share].estimate.value for share in (0.5, 0.9, 0.95, 0.99)] == [50, 90, 95, 99]
    assert [found[share].trials_beyond for share in (0.5, 0.9, 0.99)] == [50, 10, 1]
    for one in found.values():
        assert one.estimate.low <= one.estimate.value <= one.estimate.high


def test_timeouts_and_those_that_gave_up_stand_at_the_cap():
    found = by_share(tail_quantiles(endings([1, 2, 3, 9, 4], [1, 1, 1, 0, 2]), 9.0, rng(), shares=(0.5, 0.9)))
    assert found[0.5].estimate.value == 3 and not found[0.5].at_cap
    assert found[0.9].estimate.value == 9 and found[0.9].at_cap and found[0.9].n_at_cap == 2
    assert any("at least 9; 2 of 5" in note for note in found[0.9].estimate.notes)
    assert found[0.5].estimate.high == math.inf
    assert any("No high end: 5 tasks, and 6 at least" in note for note in found[0.5].estimate.notes)
    late = tail_quantiles(endings(range(1, 9), [1] * 4 + [0] * 4), 9.0, rng(), shares=(0.5,))[0].estimate
    assert (late.value, late.high) == (4, 9)
    assert any("any amount beyond" in note for note in late.notes)


def test_without_a_cap_an_unfinished_tail_is_no_number():
    found = tail_quantiles(endings([1, 2, 3], [1, 1, 0]), math.inf, rng(), shares=(0.5, 0.9))
    assert found[0].estimate.value == 2 and found[1].estimate.value is None
    assert any("infinite" in note for note in found[1].estimate.notes)


def test_order_statistics_are_the_binomial_ranks():
    # Ranks 40 and 61 bound the median of 100 (tables of the sign test); P99 has no upper bound below 368.
    found = by_share(tail_quantiles(endings(range(1, 101), [1] * 100), 1000.0, rng()))
    assert found[0.5].order_statistics == (40, 61)
    assert found[0.99].order_statistics[1] == math.inf
    assert found[0.5].estimate.low == 40 and found[0.5].estimate.high == 61, "one trial a task: the same"
    assert any("100 tasks, and 368 at least" in note for note in found[0.99].estimate.notes)
    assert (trials_wanted(0.99), trials_wanted(0.9), trials_wanted(0.5)) == (368, 36, 6)


def test_order_statistics_cover_as_often_as_they_say():
    covered, draws = 0, rng(3)
    for _ in range(400):
        sample = endings(draws.exponential(1.0, 40), [1] * 40)
        low, high = tail_quantiles(sample, 99.0, draws, shares=(0.9,), draws=2)[0].order_statistics
        covered += low <= math.log(10) <= high
    assert covered / 400 >= 0.93


def test_few_tasks_bound_no_far_tail_from_above():
    found = by_share(tail_quantiles(endings(range(1, 41), [1] * 40), math.inf, rng()))
    assert found[0.99].estimate.high == math.inf and found[0.99].estimate.low == 38
    assert found[0.99].bootstrap[1] == 40, "which drawing tasks takes for an end"
    assert math.isfinite(found[0.9].estimate.high)
    # More trials of the same tasks do not make up for tasks.
    repeats = {task: list(ends) * 20 for task, ends in endings(range(1, 41), [1] * 40).items()}
    assert tail_quantiles(repeats, math.inf, rng(), shares=(0.99,))[0].estimate.high == math.inf


def test_the_interval_covers_where_trials_of_a_task_are_alike():
    covered, draws = 0, rng(4)
    for _ in range(300):
        tasks = draws.lognormal(0.0, 1.0, 30)
        sample = {
            f"t{n:02d}": [Ending(float(at), "success") for at in own * draws.lognormal(0.0, 1.0, 5)]
            for n, own in enumerate(tasks)
        }
        one = tail_quantiles(sample, math.inf, draws, shares=(0.5,), draws=2)[0].estimate
        covered += one.low <= 1.0 <= one.high
    assert covered / 300 >= 0.92


def test_tasks_count_once_each_and_are_the_unit():
    uneven = {"a": [Ending(1.0, "success")] * 9, "b": [Ending(5.0, "success")]}
    one = tail_quantiles(uneven, 9.0, rng(), shares=(0.6,))[0]
    assert one.estimate.value == 5 and one.order_statistics is None
    assert tail_quantiles(uneven, 9.0, rng(), shares=(0.6,), weigh="trials")[0].estimate.value == 1
    alike = tail_quantiles(repeated(rng(2), 15, 20, spread=3.0, share=1.0), 1e6, rng(), shares=(0.5,))[0]
    exact = alike.order_statistics
    assert alike.estimate.high / alike.estimate.low > 1.5 * exact[1] / exact[0]


def test_costs_have_quantiles_too_and_unknown_ones_do_not():
    found = tail_quantiles(spent({"a": [1.0, 2.0], "b": [3.0, 4.0]}), math.inf, rng(), shares=(0.5,))
    assert found[0].estimate.value == 2 and found[0].n_at_cap == 0
    with pytest.raises(ValueError, match="amount of a is unknown"):
        spent({"a": [None]})


def test_unknown_ends_are_taken_both_ways():
    unsure = {**endings([1, 2, 3, 9], [1, 1, 1, 0]), "t004": [Ending(4.0, "unknown")]}
    found = by_share(tail_quantiles(unsure, 9.0, rng(), shares=(0.5, 0.8)))
    assert found[0.5].estimate.value == 3
    assert found[0.8].estimate.value is None
    assert found[0.8].estimate.low <= 4 and found[0.8].estimate.high == math.inf
    assert any("1 endings of unknown cause" in note for note in found[0.8].estimate.notes)


def test_nothing_and_one_task_are_said_so():
    empty = tail_quantiles({}, 9.0, rng())[0].estimate
    assert (empty.value, empty.notes) == (None, ["No valid trial."])
    alone = tail_quantiles({"a": [Ending(1.0, "success"), Ending(2.0, "success")]}, 9.0, rng())[0].estimate
    assert alone.low is None and any("this task only" in note for note in alone.notes)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=15), st.floats(0.05, 0.99)
)
def test_at_least_the_share_is_at_or_below_it(trials, share):
    ends = endings(*zip(*trials, strict=True))
    found = tail_quantiles(ends, 12.0, rng(), shares=(share,), draws=20)[0]
    places = [at if code == 1 else 12 for at, code in trials]
    assert np.mean(np.array(places) <= found.estimate.value) >= share - 1e-9
    assert np.mean(np.array(places) < found.estimate.value) < share


@pytest.mark.parametrize(("cap", "shares"), [(0.0, (0.5,)), (math.nan, (0.5,)), (1.0, (1.0,)), (1.0, (0.0,))])
def test_impossible_questions_are_refused(cap, shares):
    with pytest.raises(ValueError, match="out of range"):
        tail_quantiles(endings([1], [1]), cap, rng(), shares=shares)
