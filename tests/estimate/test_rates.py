"""Rates with their intervals (F1), against the worked examples of the sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_of_trials, rate_over_tasks, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(62, 100, 0.5221, 0.7090), (6, 10, 0.3127, 0.8318), (60, 100, 0.5020, 0.6906)],
)
def test_wilson_gives_the_worked_examples(successes, n, low, high):
    assert wilson(successes, n, 0.95) == pytest.approx((low, high), abs=5e-5)


def test_wilson_at_its_ends():
    assert wilson(0, 5)[0] == 0
    assert wilson(5, 5)[1] == 1
    assert wilson(1, 1) == pytest.approx((0.2065, 1), abs=5e-5)


@pytest.mark.parametrize("arguments", [(1, 0, 0.95), (-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)])
def test_wilson_refuses_what_makes_no_sense(arguments):
    with pytest.raises(ValueError, match="wilson"):
        wilson(*arguments)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.99))
def test_wilson_covers_the_rate_with_a_width_that_grows_with_the_level(counts, level):
    successes, n = counts
    low, high = wilson(successes, n, level)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high, "never of zero width"
    wider = wilson(successes, n, 0.999)
    assert wider[0] <= low and high <= wider[1]
    mirrored = wilson(n - successes, n, level)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_one_task_is_labelled_so():
    estimate = rate_of_trials([True, True, False])
    assert estimate.value == pytest.approx(2 / 3)
    assert (estimate.method, estimate.unit, estimate.n_tasks, estimate.n_trials) == (
        "Wilson, this task only",
        "trials of one task",
        1,
        3,
    )
    assert (estimate.low, estimate.high) == wilson(2, 3)


def test_unknown_outcomes_stay_in_the_denominator_as_a_bound_both_ways():
    estimate = rate_of_trials([True, None, False, None])
    assert estimate.value is None
    assert (estimate.low, estimate.high) == (wilson(1, 4)[0], wilson(3, 4)[1])
    assert "Between 0.25 and 0.75: 2 unknown outcomes." in estimate.notes


def test_several_tasks_count_once_each_and_get_no_interval():
    estimate = rate_over_tasks({"a": [True] * 9, "b": [False]})
    assert (estimate.value, estimate.low, estimate.high) == (0.5, None, None)
    assert (estimate.n_tasks, estimate.n_trials, estimate.unit) == (2, 10, "tasks")
    unknown = rate_over_tasks({"a": [True, None], "b": [False]})
    assert unknown.value is None
    assert any("Between 0.25 and 0.5: 1 unknown outcome." in note for note in unknown.notes)


def test_a_task_without_a_valid_trial_is_named():
    estimate = rate_over_tasks({"a": [True], "b": []})
    assert (estimate.n_tasks, estimate.value) == (1, 1)
    assert "No valid trial of b." in estimate.notes
    nothing = rate_over_tasks({})
    assert (nothing.value, nothing.low, nothing.n_trials) == (None, None, 0)


def test_means_are_over_tasks_and_null_when_a_part_is():
    assert mean_over_tasks({"a": [1, 3], "b": [10]}, "actions").value == 6
    unknown = mean_over_tasks({"a": [1, None]}, "actions")
    assert (unknown.value, unknown.notes) == (None, ["Unknown in 1 of 2 trials."])
    assert mean_over_tasks({"a": []}, "actions").value is None
