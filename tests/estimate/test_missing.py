"""Infrastructure failures (F15): the void headline, the test, and weighting that undoes what it can."""

import math

import numpy as np
import pytest

from seatrial.estimate.missing import missingness


def examine(outcomes, lost, limit=0.2, **more):
    return missingness(outcomes, lost, limit, np.random.default_rng(6), draws=1_000, **more)


# Hard tasks (half as successful) lose half of their ten trials.
OUTCOMES = {
    f"t{i:02d}": [True] * 9 + [False] if i < 10 else [True, False, False, False, False] for i in range(20)
}
LOST = {f"t{i:02d}": 5 for i in range(10, 20)}
DIFFICULTY = {task: float(i >= 10) for i, task in enumerate(OUTCOMES)}
STRATA = {task: "hard" if i >= 10 else "easy" for i, task in enumerate(OUTCOMES)}


def test_more_lost_than_the_limit_voids_the_headline():
    found = examine(OUTCOMES, LOST, limit=0.2)
    assert found.invalid.value == pytest.approx(0.25)
    assert found.void and found.headline.value is None and found.headline.low is None
    assert (
        found.headline.notes[0] == "Void: 50 of 200 trials were lost, above the preregistered limit of 0.2."
    )
    kept = examine(OUTCOMES, LOST, limit=0.25)
    assert not kept.void and kept.headline.value == pytest.approx(0.55)


def test_one_large_task_that_lost_everything_counts_by_trials_too():
    outcomes = {"big": [], **{f"t{i}": [True] for i in range(9)}}
    assert examine(outcomes, {"big": 90}, limit=0.5).void


def test_losses_that_go_with_difficulty_are_found():
    found = examine(OUTCOMES, LOST, difficulty=DIFFICULTY)
    assert found.related.correlation == pytest.approx(1) and found.related.p < 0.001
    assert found.related.by == "declared difficulty"
    own = examine(OUTCOMES, LOST)
    assert own.related.correlation == pytest.approx(1) and own.related.by.startswith("failure rate")


def test_losses_by_chance_are_not_called_related():
    rng, called, repeats = np.random.default_rng(3), 0, 200
    for _ in range(repeats):
        lost = {task: int(n) for task, n in zip(OUTCOMES, rng.binomial(10, 0.2, 20), strict=True)}
        valid = {task: [True] * (10 - n) for task, n in lost.items()}
        found = missingness(valid, lost, 1.0, rng, difficulty=DIFFICULTY, draws=1)
        called += found.related.p is not None and found.related.p < 0.05
    assert called / repeats < 0.09


def test_weighting_gives_every_planned_trial_its_weight():
    # Pooled, the valid trials say (90 + 10)/150; planned, easy and hard tasks are alike: (.9 + .2)/2.
    found = examine(OUTCOMES, LOST, strata=STRATA).weighted
    assert found.value == pytest.approx(0.55)
    assert found.low < 0.55 < found.high
    gone = {**OUTCOMES, "t19": []}
    by_stratum = examine(gone, {**LOST, "t19": 10}, strata=STRATA)
    assert by_stratum.weighted.value == pytest.approx(0.55), "its stratum stands for the task that lost all"
    alone = examine(gone, {**LOST, "t19": 10}).weighted
    assert alone.value == pytest.approx((10 * 10 * 0.9 + 9 * 10 * 0.2) / 190)
    assert "10 lost trials have no valid one in their stratum to stand for them." in alone.notes


def test_without_losses_the_weighted_rate_and_the_bounds_are_the_headline():
    uneven = {"a": [True] * 9, "b": [False], "c": [True, False]}
    for strata in (None, {"a": "x", "b": "x", "c": "y"}):
        found = examine(uneven, {}, strata=strata)
        assert found.headline.value == pytest.approx(0.5)
        assert found.weighted.value == pytest.approx(0.5), "not 10 of 12 trials"
        assert found.bounds == pytest.approx((0.5, 0.5))


def test_the_bounds_are_over_tasks():
    assert examine({"a": [True] * 8, "b": [False]}, {"b": 1}, 1.0).bounds == (0.5, 0.75)


def test_the_bounds_take_lost_trials_both_ways():
    assert examine({"a": [True, False, None]}, {"a": 1}, 1.0).bounds == (0.25, 0.75)


def test_degenerate_tables():
    nothing = examine({}, {})
    assert (nothing.invalid.value, nothing.bounds, nothing.void, nothing.related.p) == (
        None,
        None,
        False,
        None,
    )
    all_lost = examine({"a": []}, {"a": 3})
    assert all_lost.void and all_lost.weighted.value is None and all_lost.bounds == (0, 1)
    none_lost = examine(OUTCOMES, {})
    assert none_lost.related.correlation is None and none_lost.headline.value == pytest.approx(0.55)
    unknown = examine({"a": [None], "b": [True]}, {})
    assert unknown.weighted.value is None and "1 outcomes are unknown" in unknown.weighted.notes[-1]


def test_bad_input_is_refused():
    for lost, limit, more in (
        ({"t00": -1}, 0.2, {}),
        ({}, 1.2, {}),
        ({}, math.nan, {}),
        ({}, 0.2, {"strata": {"t00": "x"}}),
        ({}, 0.2, {"difficulty": {"t00": 1.0}}),
        ({}, 0.2, {"difficulty": {**DIFFICULTY, "t00": math.nan}}),
    ):
        with pytest.raises(ValueError, match="missingness"):
            examine(OUTCOMES, lost, limit, **more)
