"""Budget curves (F5): area over a declared range, least budget, unreachable said."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.budget import budget_area, least_budget
from seatrial.estimate.endings import Ending
from seatrial.estimate.incidence import success_within
from tests.estimate.endings import endings, repeated


def rng(seed=1):
    return np.random.default_rng(seed)


STEPS = endings([2, 4, 6, 8], [1, 1, 2, 1])


def test_the_area_is_the_mean_of_the_curve():
    # F is 0 to 2, .25 to 4, .5 to 8, then .75.
    assert budget_area(STEPS, (0, 8), rng()).estimate.value == pytest.approx((0.25 * 2 + 0.5 * 4) / 8)
    assert budget_area(STEPS, (3, 5), rng()).estimate.value == pytest.approx((0.25 + 0.5) / 2)
    assert budget_area(STEPS, (8, 9), rng()).estimate.value == pytest.approx(0.75)
    log = budget_area(STEPS, (2, 8), rng(), scale="log").estimate
    assert log.value == pytest.approx((0.25 + 0.5) / 2) and "(log)" in log.method


def test_the_area_has_an_interval_over_tasks():
    found = budget_area(repeated(rng(2), 30, 5), (0.0, 4.0), rng()).estimate
    assert 0 < found.low < found.value < found.high < 1 and found.unit == "tasks"


def test_no_area_beyond_the_watched_budget():
    late = budget_area(endings([2, 4], [1, 0]), (1, 5), rng()).estimate
    assert late.value is None and any("Unknown at 5" in note for note in late.notes)
    assert budget_area({}, (0, 1), rng()).estimate.notes == ["No valid trial."]


def test_the_least_budget_is_where_the_target_is_first_met():
    assert [least_budget(STEPS, q, rng()).estimate.value for q in (0.2, 0.25, 0.5, 0.75)] == [2, 2, 4, 8]
    found = least_budget(repeated(rng(2), 40, 5, share=1.0), 0.5, rng())
    assert found.estimate.low < found.estimate.value < found.estimate.high < math.inf


def test_unreachable_and_unreached_are_told_apart():
    never = least_budget(STEPS, 0.9, rng())
    assert never.estimate.value is None and never.estimate.high == math.inf
    assert any("Unreachable: 0.75 succeed" in note for note in never.estimate.notes)
    assert never.draws_unreached > 0
    not_yet = least_budget(endings([2, 4, 4], [1, 0, 0]), 0.9, rng()).estimate
    assert not_yet.value is None
    assert any("Unreached: 0.333 succeed within 4" in note for note in not_yet.notes)
    none = least_budget(endings([2, 4], [2, 2]), 0.1, rng())
    assert none.draws_unreached == none.draws and none.estimate.low is None


def test_unknown_ends_are_taken_both_ways():
    unsure = {**STEPS, "t004": [Ending(3.0, "unknown")]}
    area, least = budget_area(unsure, (0, 8), rng()).estimate, least_budget(unsure, 0.5, rng()).estimate
    assert area.value is None and least.value is None
    for way, cause in ((0, "gave up"), (1, "success")):
        known = {**STEPS, "t004": [Ending(3.0, cause)]}
        assert area.low <= budget_area(known, (0, 8), rng(way)).estimate.value <= area.high
        assert least.low <= least_budget(known, 0.5, rng(way)).estimate.value <= least.high
    assert any("1 endings of unknown cause" in note for note in area.notes)
    # One success of five for sure, a second one perhaps: 0.3 may never be reached.
    maybe = endings([1, 2, 2, 2], [1, 2, 2, 2]) | {"t009": [Ending(3.0, "unknown")]}
    assert least_budget(maybe, 0.3, rng()).estimate.high == math.inf


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2)), min_size=2, max_size=15), st.floats(0.05, 1))
def test_the_least_budget_meets_the_target_and_less_does_not(trials, target):
    ends = endings(*zip(*trials, strict=True))
    least = least_budget(ends, target, rng(), draws=5).estimate.value
    if least is None:
        return
    at, before = (one.estimate.value for one in success_within(ends, [least, least - 0.5], rng(), draws=5))
    assert at >= target - 1e-9 > before - 1e-9


@pytest.mark.parametrize("between", [(2, 2), (3, 1), (-1, 2), (0, math.inf), (math.nan, 2)])
def test_impossible_ranges_are_refused(between):
    with pytest.raises(ValueError, match="range"):
        budget_area(STEPS, between, rng())
    with pytest.raises(ValueError, match="scale"):
        budget_area(STEPS, (1, 2), rng(), scale="ln")
    with pytest.raises(ValueError, match="above 0 for log"):
        budget_area(STEPS, (0, 2), rng(), scale="log")


@pytest.mark.parametrize("target", [0.0, -0.1, 1.1, math.nan])
def test_impossible_targets_are_refused(target):
    with pytest.raises(ValueError, match="target"):
        least_budget({"a": [Ending(1.0, "success")]}, target, rng())
