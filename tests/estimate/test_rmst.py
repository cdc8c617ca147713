"""Restricted mean: known area, undefined beyond the watched time, pairing."""

import math

import numpy as np
import pytest

from seatrial.estimate.endings import Ending
from seatrial.estimate.rmst import restricted_mean, restricted_mean_difference
from tests.estimate.endings import endings, repeated
from tests.estimate.gold import gold


def rng(seed=1):
    return np.random.default_rng(seed)


def test_the_area_is_the_known_one():
    case = gold("rmst_6mp_30")
    ends = endings(case.given["time"], case.given["event"])
    found = restricted_mean(ends, case.given["tau"], rng())
    assert found.estimate.value == pytest.approx(case.expected, abs=case.tolerance)
    assert found.estimate.low < case.expected < found.estimate.high
    assert found.analytic[0] < case.expected < found.analytic[1]


def test_without_censoring_it_is_the_mean_and_its_error():
    times = [1.0, 2.0, 4.0, 4.0, 9.0]
    found = restricted_mean(endings(times, [1] * 5), 6.0, rng())
    cut = np.minimum(times, 6.0)
    assert found.estimate.value == pytest.approx(cut.mean())
    assert found.standard_error == pytest.approx(cut.std() / math.sqrt(5))


def test_beyond_the_watched_time_there_is_no_area_unless_all_have_ended():
    late = restricted_mean(endings([1, 2], [1, 0]), 3.0, rng()).estimate
    assert late.value is None and any("Unknown at 3" in note for note in late.notes)
    assert restricted_mean(endings([1, 2], [1, 1]), 3.0, rng()).estimate.value == pytest.approx(1.5)


def test_no_event_is_the_whole_span_without_an_interval():
    found = restricted_mean(endings([5, 5], [0, 0]), 4.0, rng()).estimate
    assert (found.value, found.low, found.high) == (4, None, None)
    assert restricted_mean({}, 4.0, rng()).estimate.notes == ["No valid trial."]


def test_differences_are_paired_by_task():
    first = repeated(rng(4), 30, 4, spread=3.0)
    second = {task: [Ending(end.at * 0.8, end.cause) for end in ends] for task, ends in first.items()}
    found = restricted_mean_difference(first, second, 6.0, rng()).estimate
    alone = [restricted_mean(system, 6.0, rng()).estimate for system in (first, second)]
    assert found.value == pytest.approx(alone[1].value - alone[0].value)
    assert found.high < 0 and found.high - found.low < 0.5 * (alone[0].high - alone[0].low)
    assert (found.n_tasks, found.n_trials) == (30, 240)
    with pytest.raises(ValueError, match="pair them"):
        restricted_mean_difference(first, {"other": [Ending(1.0, None)]}, 6.0, rng())


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_spans_are_refused(bad):
    with pytest.raises(ValueError, match="until"):
        restricted_mean({"a": [Ending(1.0, None)]}, bad, rng())
