"""Aalen–Johansen and success within a budget (F6): ties, variance, competing ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.endings import Ending, life_table
from seatrial.estimate.incidence import cumulative_incidence, incidence_error, success_within
from seatrial.estimate.rates import wilson
from seatrial.estimate.survival import greenwood, kaplan_meier
from tests.estimate.endings import endings, repeated
from tests.estimate.gold import gold


def rng(seed=1):
    return np.random.default_rng(seed)


def test_an_event_at_zero_counts():
    case = gold("aalen_johansen_event_at_time_zero")
    curve = cumulative_incidence(endings(case.given["time"], case.given["cause"]), rng())
    assert curve.places == case.given["time"]
    assert curve.values == pytest.approx(case.expected["success"], abs=case.tolerance)


def test_incidence_and_variance_are_the_known_ones():
    # lifelines 0.30: AalenJohansenFitter(calculate_variance=True).fit(t, c, event_of_interest=1)
    # .cumulative_density_ and .variance_ at t = 4, 8, 11.
    codes = [1, 0, 2, 1, 1, 0, 2, 1, 0, 2, 1, 0]
    curve = cumulative_incidence(endings(range(1, 13), codes), rng())
    at = [curve.places.index(place) for place in (4.0, 8.0, 11.0)]
    assert [curve.values[step] for step in at] == pytest.approx([0.175, 0.37361111, 0.5162037], abs=1e-8)
    assert [curve.errors[step] ** 2 for step in at] == pytest.approx(
        [0.01271875, 0.02251669, 0.02843384], abs=1e-8
    )


def test_ties_of_several_causes_meet_the_same_trials():
    one = cumulative_incidence(endings([1, 2, 2, 3], [1, 1, 2, 1]), rng())
    other = cumulative_incidence(endings([1, 2, 2, 3], [1, 2, 1, 1]), rng())
    assert one.values == pytest.approx([0.25, 0.5, 0.75])
    assert other.values == one.values


def test_without_censoring_it_is_the_share_with_its_binomial_error():
    table = life_table(endings([1, 2, 2, 3, 4, 4, 5, 6], [1, 2, 1, 1, 3, 1, 2, 2]), "test")
    shares = np.array([1, 2, 3, 4, 4, 4]) / 8
    assert incidence_error(table, "success") == pytest.approx(np.sqrt(shares * (1 - shares) / 8))


def test_with_one_cause_it_is_kaplan_and_meier_upside_down():
    case = gold("kaplan_meier_6mp")
    ends = endings(case.given["time"], case.given["event"])
    curve, table = cumulative_incidence(ends, rng()), life_table(ends, "test")
    assert curve.values == pytest.approx([1 - value for value in kaplan_meier(ends, rng()).values])
    assert incidence_error(table, "success") == pytest.approx(greenwood(table, None))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=20))
def test_all_causes_and_the_rest_make_one(trials):
    ends = endings(*zip(*trials, strict=True))
    left = kaplan_meier(ends, rng(), draws=5).values
    causes = [
        cumulative_incidence(ends, rng(), c, draws=5).values for c in ("success", "gave up", "constraint")
    ]
    for step, running in enumerate(left):
        assert running + sum(values[step] for values in causes) == pytest.approx(1)


def test_those_that_gave_up_no_longer_succeed():
    ends = endings([1, 2, 3, 4], [2, 2, 1, 1])
    assert success_within(ends, [4.0], rng())[0].estimate.value == 0.5
    assert 1 - kaplan_meier(ends, rng(), cause="success").values[-1] == 1


def test_a_budget_reads_the_curve_and_none_beyond_the_watched():
    ends = endings([2, 4, 6, 8], [1, 0, 1, 0])
    found = [one.estimate for one in success_within(ends, [0, 2, 5, 6, 8, 9], rng())]
    assert [one.value for one in found] == [0, 0.25, 0.25, pytest.approx(0.625), pytest.approx(0.625), None]
    assert any("Unknown at 9" in note for note in found[-1].notes)
    assert success_within(endings([2, 4], [1, 2]), [99.0], rng())[0].estimate.value == 0.5


def test_budgets_share_their_draws_and_the_interval_is_over_tasks():
    found = success_within(repeated(rng(2), 30, 6, spread=2.0), [5.0, 20.0], rng())
    for one in found:
        assert one.estimate.low < one.estimate.value < one.estimate.high
        assert one.estimate.high - one.estimate.low > 1.3 * (one.analytic[1] - one.analytic[0])
    assert found[0].estimate.low < found[1].estimate.low


def test_an_unknown_cause_bounds_success_both_ways():
    unsure = {**endings([2, 4, 6], [1, 2, 1]), "t003": [Ending(3.0, "unknown")]}
    early, late = (one.estimate for one in success_within(unsure, [2.0, 6.0], rng()))
    assert early.value == 0.25 and late.value is None
    assert late.low < 0.5 and late.high > 0.75
    curve = cumulative_incidence(unsure, rng())
    assert curve.values[-1] == pytest.approx(0.5)
    assert any("least one" in note for note in curve.notes)


def test_no_success_and_only_successes_have_wilsons_interval_and_say_so():
    found = success_within(endings([1, 2, 3], [2, 2, 0]), [3.0], rng())[0].estimate
    assert (found.value, (found.low, found.high)) == (0, wilson(0, 3))
    assert any("All draws agree" in note for note in found.notes)
    every = success_within(repeated(rng(2), 8, 5, spread=1.0, share=1.0), [1e9], rng())[0].estimate
    assert (every.value, (every.low, every.high)) == (1, wilson(8, 8)), "tasks, not trials"
    early = success_within(endings([1, 1, 5, 5], [0, 0, 2, 2]), [5.0], rng())[0].estimate
    assert (early.low, early.high) == wilson(0, 2), "two were not watched so far"


def test_the_share_within_a_budget_covers_near_its_end():
    # Ten tasks of five trials, chances from Beta(.9·k, .1·k) with k = 1/ICC − 1, ICC .3.
    draws, covered, repeats = rng(7), 0, 300
    for _ in range(repeats):
        chances = draws.beta(0.9 * 7 / 3, 0.1 * 7 / 3, 10)
        sample = {
            f"t{n}": [Ending(1.0, "success" if draws.random() < chance else "gave up") for _ in range(5)]
            for n, chance in enumerate(chances)
        }
        one = success_within(sample, [1.0], draws, draws=400)[0].estimate
        covered += one.low <= 0.9 <= one.high
    assert covered / repeats >= 0.91
    assert success_within({}, [1.0], rng())[0].estimate.notes == ["No valid trial."]


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_budgets_are_refused(bad):
    with pytest.raises(ValueError, match="budget"):
        success_within({"a": [Ending(1.0, None)]}, [bad], rng())
