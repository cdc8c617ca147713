"""Means over tasks, their clustered errors and intervals (F1, F17)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.clustered import clustered_spread, clustered_t, design_effect
from seatrial.estimate.means import geometric_mean, mean_over_tasks
from tests.estimate.gold import gold, single

tables = st.dictionaries(
    st.sampled_from("abcdef"),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4),
    min_size=2,
    max_size=6,
)


def test_clustered_error_gives_the_known_answer():
    case = gold("clustered_se")
    values = {}
    for score, cluster in zip(case.given["score"], case.given["cluster"], strict=True):
        values.setdefault(str(cluster), []).append(score)
    spread = clustered_spread(values, "trials")
    assert spread.mean == pytest.approx(case.expected["mean"], abs=case.tolerance)
    assert spread.error == pytest.approx(case.expected["se_clustered_cr1"], abs=case.tolerance)
    plain = spread.error * math.sqrt((spread.n_tasks - 1) / spread.n_tasks)
    assert plain == pytest.approx(case.expected["se_clustered"], abs=case.tolerance)


def test_one_trial_a_task_is_the_plain_standard_error():
    values = single([1.0] * 50 + [0.0] * 50)
    error = clustered_spread(values).error * math.sqrt(99 / 100)
    assert error == pytest.approx(0.05)
    assert 1.96 * error == pytest.approx(0.098)


def test_design_effect_gives_the_known_answer():
    case = gold("design_effect")
    effect = design_effect(case.given["runs_per_task"], case.given["icc"])
    assert effect == pytest.approx(case.expected["deff"], abs=case.tolerance)
    assert case.given["n_runs"] / effect == pytest.approx(case.expected["n_eff"], abs=case.tolerance)
    for arguments in ((0.5, 0.1), (2, 1.5), (2, math.nan), (math.nan, 0)):
        with pytest.raises(ValueError, match="design_effect"):
            design_effect(*arguments)


def test_clustered_t_counts_tasks_or_trials_once_each():
    values = {"a": [1.0, 1.0, 1.0], "b": [0.0], "c": [0.5]}
    by_task, by_trial = clustered_t(values), clustered_t(values, weigh="trials")
    assert (by_task.value, by_trial.value) == (0.5, 0.7)
    assert "2 degrees of freedom" in by_task.method
    assert by_task.low == pytest.approx(0.5 - 4.302652729749464 * 0.5 / math.sqrt(3))
    assert clustered_t(values, limits=(0, 1)).low == 0


def test_nothing_varies_so_there_is_no_interval_and_a_reason():
    one = clustered_t({"a": [1.0, 2.0]})
    assert (one.low, one.high) == (None, None)
    assert any("one task" in note for note in one.notes)
    alike = clustered_t({"a": [0.1, 0.1, 0.1], "b": [0.3 - 0.2]})
    assert (alike.low, alike.high) == (None, None), "what rounding leaves is no spread"
    assert any("all tasks agree" in note for note in alike.notes)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="in a trial of b"):
        clustered_spread({"a": [1.0], "b": [bad]})
    with pytest.raises(ValueError, match="in a trial of b"):
        mean_over_tasks({"a": [1.0], "b": [bad]}, "actions")


def test_what_is_unknown_or_empty_is_refused():
    with pytest.raises(ValueError, match="1 values are unknown"):
        clustered_spread({"a": [1.0, None]})
    with pytest.raises(ValueError, match="no trial"):
        clustered_spread({"a": []})


def test_means_are_over_tasks_and_null_when_a_part_is():
    both = mean_over_tasks({"a": [1, 3], "b": [10]}, "actions", limits=(0, math.inf))
    assert (both.value, both.low, both.unit) == (6, 0, "tasks")
    assert both.high == pytest.approx(6 + 12.706204736432095 * 4)
    unknown = mean_over_tasks({"a": [1, None]}, "actions")
    assert (unknown.value, unknown.notes) == (None, ["Unknown in 1 of 2 trials."])
    assert mean_over_tasks({"a": []}, "actions").value is None


def test_one_task_speaks_of_itself_only():
    one = mean_over_tasks({"a": [1, 2, 3]}, "actions")
    assert (one.value, one.method, one.n_tasks) == (2, "t over trials, this task only", 1)
    assert one.low == pytest.approx(2 - 4.302652729749464 / math.sqrt(3))
    single_trial = mean_over_tasks({"a": [4]}, "actions")
    assert (single_trial.value, single_trial.low) == (4, None)
    assert "No interval: one trial shows no spread." in single_trial.notes
    assert any("all trials agree" in n for n in mean_over_tasks({"a": [4, 4]}, "actions").notes)


@given(tables)
def test_the_interval_holds_the_mean_and_knows_no_order(values):
    estimate = mean_over_tasks(values, "x")
    if estimate.low is not None:
        assert estimate.low <= estimate.value <= estimate.high
    turned = {task: trials[::-1] for task, trials in reversed(values.items())}
    assert mean_over_tasks(turned, "x") == estimate


def test_geometric_mean_gives_the_known_answer():
    case = gold("geometric_mean")
    assert geometric_mean(case.given["x"]) == pytest.approx(case.expected, abs=case.tolerance)
    for bad in ([], [0, 4, 16], [-1.0], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match="geometric_mean"):
            geometric_mean(bad)
