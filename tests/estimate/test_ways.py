"""The ways unknown values may have come out: all of them where few, the widest ones where many."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.intervals import rate_by_t
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.paired import paired_difference
from seatrial.estimate.student import t_quantile
from seatrial.estimate.ways import YES_NO, fillings, over_ways, task_ways

unsure = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=2),
    min_size=2,
    max_size=4,
)


def every_completion(*tables):
    """All tables with each null replaced, one by one: no cleverness about which are alike."""
    places = [
        (number, task, i)
        for number, table in enumerate(tables)
        for task, trials in table.items()
        for i, value in enumerate(trials)
        if value is None
    ]
    for way in itertools.product([False, True], repeat=len(places)):
        filled = [{task: list(trials) for task, trials in table.items()} for table in tables]
        for (number, task, i), value in zip(places, way, strict=True):
            filled[number][task][i] = value
        yield filled


def test_one_tasks_unknown_trials_stand_at_both_ends():
    assert fillings([None, True, None], YES_NO) == [
        (True, False, False),
        (True, False, True),
        (True, True, True),
    ]
    assert fillings([0.5, None], (0.0, 2.0)) == [(0.5, 0.0), (0.5, 2.0)]
    assert fillings([1.0], (0.0, 2.0)) == [(1.0,)]


def test_tasks_alike_are_counted_and_not_told_apart():
    ways = task_ways([[0.0, 1.0]] * 100, float)
    assert ways.every and len(ways.found) == 101
    assert sorted(sum(way) for way in ways.found) == list(range(101))
    apart = task_ways([[0.0, 1.0]] * 4, float, groups=["x", "x", "y", "y"])
    assert len(apart.found) == 9


def test_too_many_ways_keep_the_widest_spread_at_each_mean():
    chance = np.random.default_rng(5)
    choices = [sorted(pair) for pair in chance.random((8, 2)).tolist()]
    ways = task_ways(choices, float, most=100)
    assert not ways.every and len(ways.found) == 9 and "too many" in ways.note[0]
    corners = [(fmean(way), fmean(x * x for x in way)) for way in ways.found]
    means, squares = zip(*corners, strict=True)
    for way in itertools.product(*choices):
        most = np.interp(fmean(way), means, squares)
        assert fmean(x * x for x in way) <= most + 1e-12


@given(unsure)
def test_the_t_interval_covers_every_completion(outcomes):
    found = rate_by_t(outcomes)
    ways = [clustered_t(way, limits=(0.0, 1.0)) for (way,) in every_completion(outcomes)]
    told = [way for way in ways if way.low is not None]
    assert (found.low is None) == (not told)
    for way in told:
        assert found.low <= way.low + 1e-12 and way.high <= found.high + 1e-12
    for way in ways if told else []:
        assert found.low <= way.value + 1e-12 and way.value <= found.high + 1e-12


def test_the_ends_are_not_those_of_all_failed_and_all_succeeded():
    # (½, 0, 0) has the mean 1/6 and the spread .289; (½, 0, 1) reaches lower, with ½ and ½.
    a = {"u": [None, None], "v": [None, None], "w": [True, False]}
    b = {task: [False, False] for task in a}
    lowest = 0.5 - t_quantile(0.95, 2) * 0.5 / math.sqrt(3)
    ends = [clustered_t({**a, "u": [way] * 2, "v": [way] * 2}).low for way in (False, True)]
    assert lowest < min(ends) - 0.15
    assert over_ways(a, YES_NO, clustered_t).low == pytest.approx(lowest)
    assert paired_difference(a, b, np.random.default_rng(0)).difference.low == pytest.approx(lowest)


@given(unsure, st.data())
def test_a_verdict_stands_only_if_every_completion_gives_it(outcomes, data):
    other = {
        task: data.draw(st.lists(st.sampled_from([True, False]), min_size=1, max_size=2)) for task in outcomes
    }
    found = paired_difference(outcomes, other, np.random.default_rng(1))
    ways = [paired_difference(*way, np.random.default_rng(1)) for way in every_completion(outcomes, other)]
    verdicts = {way.verdict for way in ways}
    assert found.verdict == (verdicts.pop() if len(verdicts) == 1 else "cannot be told apart yet")
    if found.difference.low is not None:
        assert found.difference.low == pytest.approx(min(way.difference.low for way in ways))
        assert found.difference.high == pytest.approx(max(way.difference.high for way in ways))


def test_scores_between_limits_are_bounded_and_others_are_not():
    scores = {"a": [0.5, None], "b": [0.75], "c": [0.25]}
    found = mean_over_tasks(scores, "scores", limits=(0.0, 1.0))
    ends = [mean_over_tasks({**scores, "a": [0.5, end]}, "scores", limits=(0.0, 1.0)) for end in (0.0, 1.0)]
    assert (found.value, found.low) == (None, min(one.low for one in ends))
    assert found.high == max(one.high for one in ends)
    assert "Between 0.417 and 0.583: 1 unknown outcome." in found.notes
    assert mean_over_tasks(scores, "scores").low is None
    flat = {task: [0.0] for task in scores}
    bounded = paired_difference(scores, flat, np.random.default_rng(0), limits=(0.0, 1.0))
    assert bounded.difference.low is not None and bounded.difference.value is None
    assert paired_difference(scores, flat, np.random.default_rng(0)).difference.low is None
