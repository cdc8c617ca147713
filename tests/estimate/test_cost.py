"""Cost per success (F8): known answers, infinite ends, and no attempt left out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.cost import cost_per_success, fieller, ratio_draws
from tests.estimate.gold import gold, single


def ratio(costs, outcomes, **more):
    return cost_per_success(costs, outcomes, np.random.default_rng(6), **more)


def test_the_ratio_and_fieller_give_the_known_answers():
    case = gold("cost_per_success")
    found = ratio(single(case.given["cost"]), single(case.given["success"], bool))
    assert found.estimate.value == pytest.approx(case.expected["ratio"], abs=case.tolerance)
    assert found.fieller == pytest.approx(tuple(case.expected["fieller95"]), abs=case.tolerance)
    assert found.instability == pytest.approx(case.expected["g"], abs=case.tolerance)
    assert found.estimate.low < case.expected["ratio"] < found.estimate.high < math.inf


@pytest.mark.parametrize(
    ("total", "trials", "successes", "answer"), [(100, 10, 4, 25), (160, 10, 8, 20), (300, 10, 8, 37.5)]
)
def test_failed_attempts_are_paid_for_too(total, trials, successes, answer):
    outcomes = single([i < successes for i in range(trials)], bool)
    assert ratio(single([total / trials] * trials), outcomes).estimate.value == pytest.approx(answer)


def test_repeated_attempts_cost_without_being_trials():
    once = ratio({"a": [1.0], "b": [1.0]}, {"a": [True], "b": [True]})
    again = ratio({"a": [1.0, 3.0], "b": [1.0]}, {"a": [True], "b": [True]})
    assert (once.estimate.value, again.estimate.value) == (1, 2.5)
    assert again.estimate.n_trials == 2


def test_a_task_without_a_valid_trial_is_paid_for_and_named():
    found = ratio({"z": [10.0], "a": [990.0, 10.0]}, {"z": [True], "a": []})
    assert found.estimate.value == 1010
    assert (found.estimate.n_tasks, found.estimate.n_trials, found.estimate.unit) == (2, 1, "tasks")
    assert "No valid trial of a." in found.estimate.notes
    said = "1 task without a valid trial cost 1000 of 1010; that is paid for, with no success."
    assert said in found.estimate.notes
    assert found.estimate.low <= 1010 <= found.estimate.high
    unknown = ratio({"z": [10.0], "a": [None]}, {"z": [True], "a": []})
    assert unknown.estimate.value is None
    failed = ratio({"z": [10.0], "a": [990.0]}, {"z": [False], "a": []})
    assert failed.estimate.value == math.inf and failed.estimate.low >= 1000


def test_no_success_is_infinite_with_its_reason_and_a_finite_low_end():
    found = ratio({"a": [2.0, 2.0], "b": [2.0, 2.0]}, {"a": [False] * 2, "b": [False] * 2})
    assert (found.estimate.value, found.estimate.high) == (math.inf, math.inf)
    assert 2 < found.estimate.low < math.inf
    assert "No trial succeeded, so the ratio is infinite." in found.estimate.notes
    free = ratio({"a": [0.0], "b": [0.0]}, {"a": [False], "b": [False]})
    assert free.estimate.value == math.inf and not math.isnan(free.estimate.low)


def test_samples_without_a_success_are_counted_not_dropped():
    found = ratio(single([3, 4, 5, 6]), single([1, 0, 0, 0], bool))
    assert found.estimate.high == math.inf
    assert found.draws_without_success / found.draws == pytest.approx(0.75**4, abs=0.02)
    assert any("hold no success" in note for note in found.estimate.notes)
    assert found.instability > 1 and found.fieller[1] == math.inf
    assert found.fieller[0] <= found.estimate.value


def test_fieller_is_the_interval_while_it_has_a_high_end():
    steady = ratio(single([1, 3, 2, 5, 4, 2]), single([1, 1, 1, 0, 1, 1], bool))
    assert steady.instability < 1
    assert (steady.estimate.low, steady.estimate.high) == steady.fieller != steady.bootstrap
    wider = steady.wider
    assert wider.low == min(steady.fieller[0], steady.bootstrap[0])
    assert wider.high == max(steady.fieller[1], steady.bootstrap[1])
    rare = ratio(single([3, 4, 5, 6]), single([1, 0, 0, 0], bool))
    assert rare.instability > 1 and (rare.estimate.low, rare.estimate.high) == rare.bootstrap
    assert rare.wider.low == min(rare.fieller[0], rare.bootstrap[0]) and rare.wider.high == math.inf


def test_unknown_outcomes_stretch_both_intervals():
    outcomes = {**single([1, 1, 1, 0, 1, 1], bool), "t005": [None]}
    found = ratio(single([1, 3, 2, 5, 4, 2]), outcomes)
    worst = ratio(single([1, 3, 2, 5, 4, 2]), {**outcomes, "t005": [False]})
    assert found.estimate.high == worst.fieller[1] == found.fieller[1]
    assert found.wider.high >= max(worst.bootstrap[1], worst.fieller[1])


def test_draws_are_never_nan():
    draws = ratio_draws(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.random.default_rng(1), 500)
    assert not np.isnan(draws).any() and np.isinf(draws).any()
    with pytest.raises(ValueError, match="ratio_draws"):
        ratio_draws(np.zeros(2), np.zeros(3), np.random.default_rng(1))


def test_where_nothing_varies_the_rate_s_interval_stands_in():
    found = ratio(single([2.0] * 10), single([True] * 10, bool))
    assert (found.estimate.value, found.fieller) == (2, None)
    assert found.estimate.low == 2 < found.estimate.high < math.inf
    one = ratio({"a": [1.0, 2.0, 3.0]}, {"a": [True, False, True]})
    assert one.estimate.unit == "trials, this task only"
    assert one.estimate.low < one.estimate.value < one.estimate.high


def test_what_is_unknown_is_not_guessed():
    found = ratio({"a": [1.0, None]}, {"a": [True, True]})
    assert (found.estimate.value, found.estimate.low) == (None, None)
    assert "No ratio: a cost is unknown (1 of 2 attempts)." in found.estimate.notes
    assert "No ratio: there is no valid trial." in ratio({}, {}).estimate.notes
    unsure = ratio(single([1.0] * 6), {**single([True] * 5, bool), "t005": [None]})
    assert unsure.estimate.value is None
    assert unsure.estimate.low <= 1 < 6 / 5 <= unsure.estimate.high


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_impossible_costs_are_refused(bad):
    with pytest.raises(ValueError, match="cost per success"):
        ratio({"a": [bad]}, {"a": [True]})
    with pytest.raises(ValueError, match="both for every task"):
        ratio({"a": [1.0]}, {"b": [True]})


def test_fieller_needs_two_tasks_and_a_success():
    assert fieller(np.array([1.0]), np.array([1.0])) is None
    assert fieller(np.array([1.0, 2.0]), np.zeros(2)) is None


@given(st.lists(st.tuples(st.floats(0.01, 100), st.booleans()), min_size=2, max_size=12))
def test_both_intervals_hold_the_ratio_and_know_no_order(trials):
    costs, outcomes = single([c for c, _ in trials]), single([s for _, s in trials], bool)
    found = ratio(costs, outcomes, draws=1_000)
    assert found.estimate.low <= found.estimate.high
    if found.fieller:
        value = found.estimate.value
        assert found.fieller[0] <= value * (1 + 1e-9) and value * (1 - 1e-9) <= found.fieller[1]
    assert ratio(dict(reversed(costs.items())), outcomes, draws=1_000) == found
