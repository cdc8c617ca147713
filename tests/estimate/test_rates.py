"""Rates with their intervals (F1), against known answers and the worked examples of the sources."""

import itertools
import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.rates import (
    clopper_pearson,
    effective_trials,
    jeffreys,
    rate_of_trials,
    rate_over_tasks,
    wilson,
    wilson_effective,
)
from tests.estimate.gold import gold

known = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.booleans(), min_size=1, max_size=6), min_size=2, max_size=8
)
unsure = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=3),
    min_size=2,
    max_size=4,
)


@pytest.mark.parametrize("name", ["wilson_62_100", "wilson_0_10", "wilson_10_10"])
def test_wilson_gives_the_known_answers(name):
    case = gold(name)
    found = wilson(case.given["successes"], case.given["n"], case.given["confidence"])
    assert found == pytest.approx(case.expected, abs=case.tolerance)


@pytest.mark.parametrize("name", ["clopper_pearson_62_100", "clopper_pearson_0_30"])
def test_clopper_pearson_gives_the_known_answers(name):
    case = gold(name)
    found = clopper_pearson(case.given["successes"], case.given["n"], case.given["confidence"])
    assert found == pytest.approx(case.expected, abs=case.tolerance)


def test_jeffreys_gives_the_known_answer():
    case = gold("jeffreys_62_100")
    assert jeffreys(case.given["successes"], case.given["n"]) == pytest.approx(
        case.expected, abs=case.tolerance
    )
    assert jeffreys(0, 5)[0] == 0 and jeffreys(5, 5)[1] == 1


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


@pytest.mark.parametrize("interval", [wilson, clopper_pearson, jeffreys])
@pytest.mark.parametrize(
    "arguments", [(1, 0, 0.95), (0, 0, 0.95), (-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)]
)
def test_intervals_refuse_what_makes_no_sense(interval, arguments):
    with pytest.raises(ValueError, match=interval.__name__):
        interval(*arguments)


@pytest.mark.parametrize("arguments", [(math.nan, 3), (1, math.nan), (1, math.inf)])
def test_wilson_refuses_what_is_no_number(arguments):
    with pytest.raises(ValueError, match="wilson"):
        wilson(*arguments)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.99))
def test_intervals_cover_the_rate_and_are_wider_at_a_higher_level(counts, level):
    successes, n = counts
    for interval in (wilson, clopper_pearson):
        low, high = interval(successes, n, level)
        assert 0 <= low <= successes / n <= high <= 1
        assert low < high, "never of zero width"
        wider = interval(successes, n, 0.999)
        assert wider[0] <= low and high <= wider[1]
        mirrored = interval(n - successes, n, level)
        assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_effective_trials_lie_between_tasks_and_trials():
    assert effective_trials([0.5] * 4, [10] * 4) == 40
    assert effective_trials([0, 1, 0, 1], [10] * 4) == 4
    assert effective_trials([1, 1, 1], [10] * 3) == 3, "all successes show nothing of clustering"
    assert effective_trials([0.7], [10]) == 1, "one task is one observation"
    middle = effective_trials([0.2, 0.4, 0.6, 0.8], [10] * 4)
    assert middle == pytest.approx(0.25 / (0.2 / 3 / 4))
    with pytest.raises(ValueError, match="effective_trials"):
        effective_trials([], [])
    with pytest.raises(ValueError, match="effective_trials"):
        effective_trials([0.5], [0])
    with pytest.raises(ValueError, match="effective_trials"):
        effective_trials([math.nan], [3])


def test_wilson_effective_is_wilson_where_trials_are_not_alike():
    assert wilson_effective([0.5] * 4, [10] * 4) == pytest.approx(wilson(20, 40))
    assert wilson_effective([1.0, 0.0], [1, 1]) == pytest.approx(wilson(1, 2))


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
    assert rate_over_tasks({"a": [True, True, False]}) == estimate


def test_unknown_outcomes_stay_in_the_denominator_as_a_bound_both_ways():
    estimate = rate_of_trials([True, None, False, None])
    assert estimate.value is None
    assert (estimate.low, estimate.high) == (wilson(1, 4)[0], wilson(3, 4)[1])
    assert "Between 0.25 and 0.75: 2 unknown outcomes." in estimate.notes


def test_several_tasks_count_once_each():
    estimate = rate_over_tasks({"a": [True] * 9, "b": [False]})
    assert (estimate.value, estimate.n_tasks, estimate.n_trials, estimate.unit) == (0.5, 2, 10, "tasks")
    assert (estimate.low, estimate.high) == pytest.approx(wilson(1, 2)), "not Wilson on 10 pooled trials"
    assert estimate.method == "Wilson on the effective number of trials"
    assert estimate.notes == ["Worth 2 independent trials of the 10."]
    unknown = rate_over_tasks({"a": [True, None], "b": [False]})
    assert unknown.value is None
    assert any("Between 0.25 and 0.5: 1 unknown outcome." in note for note in unknown.notes)


def test_all_successes_over_many_trials_of_few_tasks_stay_uncertain():
    estimate = rate_over_tasks({"a": [True] * 100, "b": [True] * 100})
    assert (estimate.low, estimate.high) == wilson(2, 2)


def test_tasks_of_one_generator_speak_of_it_only():
    one = rate_over_tasks({"repair/a": [True], "repair/b": [False]})
    assert "All tasks are of one family (repair): it speaks of that generator only." in one.notes
    for several in ({"repair/a": [True], "ledger/b": [False]}, {"a": [True], "b": [False]}):
        assert not any("generator" in note for note in rate_over_tasks(several).notes)


def test_a_task_without_a_valid_trial_is_named():
    estimate = rate_over_tasks({"a": [True], "b": []})
    assert (estimate.n_tasks, estimate.value) == (1, 1)
    assert "No valid trial of b." in estimate.notes
    nothing = rate_over_tasks({})
    assert (nothing.value, nothing.low, nothing.n_trials) == (None, None, 0)


@given(known)
def test_the_interval_holds_the_rate_and_knows_no_order(outcomes):
    estimate = rate_over_tasks(outcomes)
    assert estimate.value == pytest.approx(fmean(fmean(trials) for trials in outcomes.values()))
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high
    turned = {task: trials[::-1] for task, trials in reversed(outcomes.items())}
    assert rate_over_tasks(turned) == estimate
    failures = rate_over_tasks({task: [not v for v in trials] for task, trials in outcomes.items()})
    assert (1 - failures.high, 1 - failures.low) == pytest.approx((estimate.low, estimate.high), abs=1e-9)


@given(unsure)
def test_the_interval_covers_every_way_unknown_outcomes_may_have_come_out(outcomes):
    estimate = rate_over_tasks(outcomes)
    places = [(t, i) for t, trials in outcomes.items() for i, v in enumerate(trials) if v is None]
    for way in itertools.product([False, True], repeat=len(places)):
        filled = {task: list(trials) for task, trials in outcomes.items()}
        for (task, index), value in zip(places, way, strict=True):
            filled[task][index] = value
        one = rate_over_tasks(filled)
        assert estimate.low <= one.low + 1e-9 and one.high <= estimate.high + 1e-9
