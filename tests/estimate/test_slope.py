"""Slope of runs their budget stopped (E6): known answers, advancing or stalled."""

import math

import pytest

from seatrial.estimate.slope import censored_runs, progress_slope
from tests.estimate.gold import gold

CASE = gold("progress_slope")
COURSE = CASE.given["progress"]


def test_slopes_and_intervals_are_the_known_ones():
    for window, key in ((None, "all"), (CASE.given["window"], "last5")):
        found = progress_slope(COURSE, window)
        assert found.value == pytest.approx(CASE.expected[f"slope_{key}"], abs=CASE.tolerance)
        assert (found.low, found.high) == pytest.approx(CASE.expected[f"ci_{key}"], abs=CASE.tolerance)


def test_the_rank_correlation_is_the_known_one_and_none_where_nothing_changes():
    tau = progress_slope(COURSE).tau
    assert tau == pytest.approx(CASE.expected["kendall_tau_all"], abs=CASE.tolerance)
    assert progress_slope([0.4] * 6).tau is None


def test_a_run_that_rose_and_then_stood_still_is_stalled():
    assert progress_slope(COURSE).direction == "advancing"
    assert progress_slope(COURSE, 5).direction == "stalled"
    assert progress_slope([1 - value for value in COURSE]).direction == "falling"
    assert progress_slope([0.4] * 6).direction == "stalled"


def test_one_jump_does_not_make_a_run_advance():
    assert progress_slope([0, 0, 0, 0, 1.0]).direction == "stalled"


@pytest.mark.parametrize("course", [[], [0.1], [0.1, 0.2], [0.1, None, 0.3, 0.4]])
def test_too_short_or_unknown_courses_have_no_slope(course):
    found = progress_slope(course)
    assert (found.value, found.low, found.high, found.direction) == (None, None, None, "unknown")


def test_only_the_window_must_be_known():
    assert progress_slope([None, 0.1, 0.2, 0.3, 0.4], 4).direction == "advancing"


def test_the_share_still_advancing_counts_unknown_runs_both_ways():
    rising = [0.0, 0.1, 0.2, 0.3, 0.4]
    found = censored_runs({"a": [rising, COURSE], "b": [rising, [0.1]]})
    assert found.counts == {"advancing": 2, "stalled": 1, "falling": 0, "unknown": 1}
    assert found.advancing.value is None and found.advancing.n_trials == 4
    assert found.advancing.low < 0.5 < found.advancing.high
    known = censored_runs({"a": [rising, COURSE], "b": [rising, rising]}).advancing
    assert known.value == pytest.approx(0.75)
    assert censored_runs({}).advancing.value is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_impossible_courses_are_refused(bad):
    with pytest.raises(ValueError, match="no finite number"):
        progress_slope([0.1, bad, 0.3])
    with pytest.raises(ValueError, match="window"):
        progress_slope(COURSE, 2)
