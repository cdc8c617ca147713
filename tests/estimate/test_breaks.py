"""Uniform gain against shifted break (F27): each truth is found, neither is taken for the other."""

import math
from collections import Counter

import numpy as np
import pytest

from seatrial.estimate.breaks import compare_breaks

DEPTH = {f"t{place:03d}": float(1 + place % 10) for place in range(120)}
BASE = (0.65, 5.0)


def rng(seed=1):
    return np.random.default_rng(seed)


def drawn(chance, level, middle, trials=6, tasks=120):
    """Trials of a system whose success is level · σ(middle − depth)."""
    return {
        task: [bool(won) for won in chance.random(trials) < level / (1 + math.exp(at - middle))]
        for task, at in list(DEPTH.items())[:tasks]
    }


def findings(level, middle, repeats=12, **more):
    counts = Counter()
    for seed in range(repeats):
        chance = rng(seed)
        first, second = drawn(chance, *BASE, **more), drawn(chance, level, middle, **more)
        counts[compare_breaks(first, second, DEPTH, chance, draws=300).finding] += 1
    return counts


def test_a_uniform_gain_is_found_and_never_called_a_shift():
    counts = findings(0.95, 5.0)
    assert counts["uniform gain"] >= 8 and counts["shifted break"] == 0


def test_a_shifted_break_is_found_and_never_called_uniform():
    counts = findings(0.65, 7.5)
    assert counts["shifted break"] >= 10 and counts["uniform gain"] == 0


def test_systems_that_are_alike_show_no_difference():
    assert findings(*BASE)["no difference shown"] >= 10


def test_few_trials_cannot_tell():
    counts = findings(0.9, 5.0, trials=1, tasks=40)
    assert counts["cannot be told apart"] + counts["no difference shown"] >= 10


def test_the_numbers_beside_the_finding():
    chance = rng(3)
    first, second = drawn(chance, 0.65, 4.0), drawn(chance, 0.65, 7.0)
    found = compare_breaks(first, second, DEPTH, rng())
    assert found.finding == "shifted break" and found.share_for_shift > 0.99
    assert found.breaks == pytest.approx((4.0, 7.0), abs=1) and 0.3 < found.scale < 3
    assert found.evidence.low > 0 and found.difference.low > 0
    assert found.aic["shifted break"] < found.aic["uniform gain"] < found.aic["alike"]
    rates = [np.mean([np.mean(trials) for trials in side.values()]) for side in (first, second)]
    assert found.difference.value == pytest.approx(rates[1] - rates[0])
    assert found.difference.n_trials == 2 * 720


def test_turned_round_the_finding_stays():
    chance = rng(3)
    first, second = drawn(chance, 0.65, 4.0), drawn(chance, 0.65, 7.0)
    one, other = compare_breaks(first, second, DEPTH, rng()), compare_breaks(second, first, DEPTH, rng())
    assert (one.finding, one.breaks) == (other.finding, other.breaks[::-1])
    assert one.evidence.value == pytest.approx(other.evidence.value)
    assert one.difference.value == pytest.approx(-other.difference.value)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"t001": [True]}, {"t001": [False]}, "one task"),
        ({}, {}, "one task"),
        ({"t001": [True], "t011": [True]}, {"t001": [False], "t011": [True]}, "one depth"),
        ({"t001": [True], "t002": [None]}, {"t001": [True], "t002": [True]}, "1 unknown outcomes"),
    ],
)
def test_where_nothing_can_be_compared_it_says_why(first, second, reason):
    found = compare_breaks(first, second, DEPTH, rng())
    assert (found.finding, found.difference.value, found.evidence.value) == ("unknown", None, None)
    assert any(reason in note for note in found.evidence.notes)


def test_a_loss_is_not_called_a_gain():
    chance = rng(2)
    first, second = drawn(chance, 0.97, 5.0), drawn(chance, 0.6, 5.0)
    found = compare_breaks(first, second, DEPTH, rng())
    assert found.finding == "uniform loss" and found.difference.high < 0


def test_a_break_beyond_the_measured_depths_is_said_to_be_so():
    chance = rng(2)
    first, second = drawn(chance, 0.65, 4.0), drawn(chance, 0.65, 40.0)
    found = compare_breaks(first, second, DEPTH, rng())
    assert any("second system's break stands at the edge" in note for note in found.evidence.notes)


def test_systems_of_differing_tasks_are_refused():
    with pytest.raises(ValueError, match="only one system has trials of t002"):
        compare_breaks({"t001": [True]}, {"t001": [True], "t002": [True]}, DEPTH, rng())
    with pytest.raises(ValueError, match="depth"):
        compare_breaks({"x": [True]}, {"x": [True]}, DEPTH, rng())
