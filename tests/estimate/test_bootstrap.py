"""Bootstraps over tasks, and over tasks and then trials (F1): exact law, degenerate cases, seeds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.estimate.bootstrap import (
    bootstrap_mean,
    bootstrap_means,
    bootstrap_rate,
    percentile_interval,
    task_weights,
)
from seatrial.estimate.intervals import rate_intervals
from seatrial.estimate.rates import rate_over_tasks, wilson
from tests.estimate.gold import gold, single

DRAWS = 100_000


def rng(seed=1):
    return np.random.default_rng(seed)


def law_case(shift=0.0):
    case = gold("two_level_bootstrap_exact")
    return case, {f"t{i}": [v + shift for v in row] for i, row in enumerate(case.given["outcomes"])}


# The same outcomes moved by one are no longer yes or no and take the way for any values.
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_two_level_bootstrap_follows_its_exact_law(shift):
    case, values = law_case(shift)
    found = bootstrap_means([values], rng(), DRAWS, within=True)[:, 0] - shift
    variance = case.expected["variance"]
    assert abs(found.mean() - case.expected["mean"]) < 4 * math.sqrt(variance / DRAWS)
    assert found.var() == pytest.approx(variance, rel=0.03)
    sums = np.bincount(np.rint(found * 9).astype(int), minlength=10) / DRAWS
    for total, share in case.expected["law_sum_of_9"].items():
        assert abs(sums[int(total)] - share) < 4 * math.sqrt(share / DRAWS), total


def test_drawing_tasks_alone_has_its_own_variance():
    case, values = law_case()
    found = bootstrap_means([values], rng(), DRAWS)[:, 0]
    assert found.var() == pytest.approx(case.expected["tasks_only_variance"], rel=0.03)


def test_tasks_with_differing_numbers_of_trials_count_once_each():
    values = {"a": [0.0, 3.0], "b": [5.0], "c": [1.0, 1.0, 4.0]}
    found = bootstrap_means([values], rng(), DRAWS, within=True)[:, 0]
    assert found.mean() == pytest.approx((1.5 + 5 + 2) / 3, abs=0.02)
    between = np.var([1.5, 5, 2]) / 3
    within = (2.25 / 2 + 0 + 2 / 3) / 9
    assert found.var() == pytest.approx(between + within, rel=0.03)
    yes = {"a": [0.0, 1.0], "b": [1.0], "c": [0.0, 0.0, 1.0]}
    found = bootstrap_means([yes], rng(), DRAWS, within=True)[:, 0]
    assert found.var() == pytest.approx(np.var([0.5, 1, 1 / 3]) / 3 + (0.125 + 2 / 27) / 9, rel=0.03)


def test_weights_are_multinomial():
    weights = task_weights(5, 20_000, rng())
    assert weights.shape == (20_000, 5)
    assert (weights.sum(axis=1) == 5).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(5), abs=0.03)
    assert weights.var(axis=0) == pytest.approx(np.full(5, 0.8), abs=0.03)


def test_systems_share_their_drawn_tasks():
    values = single(rng().random(30))
    found = bootstrap_means([values, values], rng(), 500)
    assert (found[:, 0] == found[:, 1]).all()
    with pytest.raises(ValueError, match="differing tasks"):
        bootstrap_means([values, {"other": [1.0]}], rng())


def test_many_draws_need_little_memory():
    import tracemalloc

    values = {f"t{i}": rng(i).random(10).tolist() for i in range(200)}
    tracemalloc.start()
    bootstrap_means([values] * 2, rng(), 2_000, within=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("outcome", [True, False])
@pytest.mark.parametrize("within", [True, False])
def test_a_degenerate_bootstrap_falls_back_to_wilson_and_says_so(outcome, within):
    estimate = bootstrap_rate({"a": [outcome] * 3, "b": [outcome] * 3}, rng(), draws=200, within=within)
    assert (estimate.low, estimate.high) == wilson(2 * outcome, 2)
    assert estimate.method.endswith("(degenerate bootstrap)")
    assert any("all its draws agree" in note for note in estimate.notes)


def test_tasks_that_agree_are_degenerate_only_without_their_trials():
    outcomes = {"a": [True, False], "b": [True, False]}
    assert "degenerate" in bootstrap_rate(outcomes, rng(), draws=500).method
    two_level = bootstrap_rate(outcomes, rng(), draws=500, within=True)
    assert "conservative" in two_level.method
    assert two_level.low < 0.5 < two_level.high


def test_one_task_has_nothing_to_draw():
    estimate = bootstrap_rate({"a": [True, False, True]}, rng())
    assert (estimate.low, estimate.high) == wilson(2, 3)
    assert "this task only" in estimate.method
    assert bootstrap_mean({"a": [1.0, 2.0]}, rng(), draws=100).low is None
    alike = bootstrap_mean({"a": [0.1], "b": [0.1], "c": [0.1]}, rng(), draws=100)
    assert (alike.low, alike.notes[-1]) == (None, "No bootstrap interval, since all its draws agree.")


def test_no_trial_is_no_result():
    estimate = bootstrap_rate({}, rng())
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    for systems, draws in (([], 10), ([{"a": []}], 10), ([{"a": [1.0]}], 0)):
        with pytest.raises(ValueError, match="bootstrap"):
            bootstrap_means(systems, rng(), draws)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_what_is_unknown_or_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="bootstrap"):
        bootstrap_means([{"a": [1.0, bad], "b": [2.0]}], rng())


def test_unknown_outcomes_are_taken_both_ways():
    outcomes = {"a": [True, None], "b": [False, True], "c": [True, True]}
    estimate = bootstrap_rate(outcomes, rng(), draws=2_000)
    assert estimate.value is None
    failed = bootstrap_rate({**outcomes, "a": [True, False]}, rng(), draws=2_000)
    passed = bootstrap_rate({**outcomes, "a": [True, True]}, rng(), draws=2_000)
    assert estimate.low == pytest.approx(failed.low, abs=0.1)
    assert estimate.high == pytest.approx(passed.high, abs=0.1)


def test_quantiles_never_mix_a_finite_and_an_infinite_draw():
    assert percentile_interval(np.array([1.0, 2.0, 3.0, np.inf]), 0.8) == (1.0, math.inf)
    assert percentile_interval(np.array([1.0, 2.0, 3.0, np.inf]), 0.5) == (1.0, 3.0)


def test_all_intervals_of_a_rate_stand_side_by_side():
    chance = rng(3)
    outcomes = {f"f/{i}": (chance.random(5) < chance.random()).tolist() for i in range(20)}
    default, by_t, tasks, two_level = rate_intervals(outcomes, rng(), draws=2_000)
    assert default == rate_over_tasks(outcomes)
    assert "clustered t" in by_t.method
    assert two_level.high - two_level.low > tasks.high - tasks.low, "it counts run noise twice"
    for estimate in (by_t, tasks, two_level):
        assert estimate.value == pytest.approx(default.value)
        assert any("that generator only" in note for note in estimate.notes)
    assert len(rate_intervals({"a": [True]}, rng())) == 1
    unsure = rate_intervals({**outcomes, "f/0": [None] * 5}, rng(), draws=500)
    assert all(estimate.value is None and estimate.low < estimate.high for estimate in unsure)


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.lists(st.floats(0, 100), min_size=1, max_size=4),
        min_size=2,
        max_size=6,
    ),
    st.booleans(),
)
def test_draws_lie_among_the_values_and_know_no_order(values, within):
    found = bootstrap_means([values], rng(), 50, within)
    every = [value for trials in values.values() for value in trials]
    assert found.min() >= min(every) - 1e-9 and found.max() <= max(every) + 1e-9
    turned = {task: trials[::-1] for task, trials in reversed(values.items())}
    assert (bootstrap_means([turned], rng(), 50, within) == found).all()
