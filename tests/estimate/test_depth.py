"""Success against a declared difficulty (F4): S(h), h50, strata, failures by bucket."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.depth import depth_curve, depth_curves_by, failures_by_depth
from seatrial.estimate.rates import rate_over_tasks

DEPTH = {f"t{depth}{copy}": float(depth) for depth in range(1, 7) for copy in "abcd"}


def rng(seed=1):
    return np.random.default_rng(seed)


def falling(turn, trials=4):
    """All succeed below the turn, half at it, none above."""
    return {
        task: [True] * trials
        if at < turn
        else [i % 2 == 0 for i in range(trials)]
        if at == turn
        else [False] * trials
        for task, at in DEPTH.items()
    }


def test_s_is_success_on_tasks_of_at_least_the_depth():
    outcomes = falling(4)
    found = depth_curve(outcomes, DEPTH, rng())
    assert [point.depth for point in found.points] == [1, 2, 3, 4, 5, 6]
    assert [point.at_least.value for point in found.points] == pytest.approx(
        [3.5 / 6, 0.5, 0.375, 1 / 6, 0, 0]
    )
    assert [point.exactly.value for point in found.points] == [1, 1, 1, 0.5, 0, 0]
    assert [point.at_least.n_tasks for point in found.points] == [24, 20, 16, 12, 8, 4]
    deep = {task: trials for task, trials in outcomes.items() if DEPTH[task] >= 4}
    assert found.points[3].at_least == rate_over_tasks(deep)


def test_h50_is_where_s_is_down_to_one_half():
    found = depth_curve(falling(4), DEPTH, rng())
    assert found.h50.value == 2 and found.h50.low <= 2 <= found.h50.high
    assert (found.h50.n_tasks, found.h50.unit) == (24, "tasks")
    assert found.draws_at_start > 0


def test_h50_outside_the_depths_is_no_number():
    never = depth_curve({task: [True, True] for task in DEPTH}, DEPTH, rng())
    assert (never.h50.value, never.draws_unreached) == (None, never.draws)
    assert any("Unreached: success is 1 at least, up to depth 6" in note for note in never.h50.notes)
    weak = depth_curve(falling(2), DEPTH, rng())
    assert weak.h50.value is None
    assert any("At or below the shallowest depth, 1" in note for note in weak.h50.notes)


def test_unknown_outcomes_are_taken_both_ways():
    unsure = {**falling(4), "t4a": [None] * 4, "t5a": [None] * 4, "t6a": [None] * 4}
    found = depth_curve(unsure, DEPTH, rng())
    assert found.h50.value is None and found.h50.low < found.h50.high
    assert any("12 unknown outcomes" in note for note in found.h50.notes)
    assert found.points[4].at_least.value is None


def test_one_task_and_none():
    alone = depth_curve({"t1a": [True, False]}, DEPTH, rng()).h50
    assert alone.low is None and any("one task" in note for note in alone.notes)
    assert depth_curve({}, DEPTH, rng()).h50.notes == ["No valid trial."]


def test_strata_have_curves_of_their_own():
    strata = {task: "reversible" if task[-1] in "ab" else "irreversible" for task in DEPTH}
    outcomes = {task: falling(6 if strata[task] == "reversible" else 2)[task] for task in DEPTH}
    found = depth_curves_by(strata, outcomes, DEPTH, rng())
    assert list(found) == ["irreversible", "reversible"]
    assert found["reversible"].h50.value == 6 and found["irreversible"].h50.value is None
    assert found["reversible"].h50.n_tasks == 12
    with pytest.raises(ValueError, match="no stratum of t1a"):
        depth_curves_by({}, outcomes, DEPTH, rng())


def test_failures_are_counted_by_class_and_bucket():
    classes = {
        "t1a": ["success", "planning"],
        "t2a": ["success", None],
        "t5a": ["state", "state", "planning"],
    }
    found = failures_by_depth(classes, DEPTH, edges=[3])
    assert [bucket.failures for bucket in found] == [{"planning": 1}, {"planning": 1, "state": 2}]
    assert [(b.n_tasks, b.n_trials, b.n_failures, b.n_unknown) for b in found] == [(2, 4, 1, 1), (1, 3, 3, 0)]
    assert [bucket.low for bucket in failures_by_depth(classes, DEPTH)] == [1, 2, 5]
    assert failures_by_depth({}, DEPTH, edges=[3])[0].n_trials == 0
    with pytest.raises(ValueError, match="edges"):
        failures_by_depth(classes, DEPTH, edges=[3, 1])


@given(st.dictionaries(st.sampled_from(sorted(DEPTH)), st.lists(st.booleans(), min_size=1, max_size=3)))
def test_every_failure_is_in_one_bucket_and_order_does_not_matter(outcomes):
    classes = {task: ["success" if won else "x" for won in trials] for task, trials in outcomes.items()}
    total = sum(bucket.n_trials for bucket in failures_by_depth(classes, DEPTH, edges=[2, 4]))
    assert total == sum(map(len, outcomes.values()))
    first = depth_curve(outcomes, DEPTH, rng(), draws=50)
    assert depth_curve(dict(reversed(outcomes.items())), DEPTH, rng(), draws=50) == first


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_impossible_depths_are_refused(bad):
    with pytest.raises(ValueError, match="of t1a"):
        depth_curve({"t1a": [True]}, {"t1a": bad}, rng())
    with pytest.raises(ValueError, match="None of other"):
        depth_curve({"other": [True]}, DEPTH, rng())
    with pytest.raises(ValueError, match="draws"):
        depth_curve({"t1a": [True]}, DEPTH, rng(), draws=0)
