"""Bootstrap over tasks of sums: its law, and intervals where samples define nothing or infinity."""

import math

import numpy as np
import pytest

from seatrial.estimate.draws import defined_interval, drawn_statistic, drawn_sums


def test_sums_have_the_law_of_drawing_tasks():
    rows = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    found = drawn_sums(rows, np.random.default_rng(1), 40_000)
    assert found.mean(axis=0) == pytest.approx([9, 90], rel=0.02)
    assert found[:, 0].var() == pytest.approx(3 * rows[:, 0].var(), rel=0.05)
    assert found[:, 1] == pytest.approx(10 * found[:, 0]), "columns share their tasks"
    assert set(np.unique(found[:, 0])) == {3, 4, 5, 6, 8, 9, 10, 13, 14, 18}


def test_what_cannot_be_drawn_is_refused():
    rng = np.random.default_rng(1)
    for rows, draws in (
        (np.zeros((0, 2)), 5),
        (np.zeros(3), 5),
        (np.ones((2, 2)), 0),
        (np.array([[np.inf]]), 5),
    ):
        with pytest.raises(ValueError, match="drawn_sums"):
            drawn_sums(rows, rng, draws)


def test_wide_rows_are_drawn_in_parts_with_one_law():
    rows = np.repeat(np.array([[1.0], [2.0], [6.0]]), 1_000, axis=1)
    found = drawn_statistic(rows, lambda sums: sums[:, 0], np.random.default_rng(1), 4_000)
    assert found.shape == (4_000,) and found.mean() == pytest.approx(9, rel=0.03)
    assert found.var() == pytest.approx(3 * rows[:, 0].var(), rel=0.1)
    with pytest.raises(ValueError, match="0 draws"):
        drawn_statistic(rows, lambda sums: sums[:, 0], np.random.default_rng(1), 0)


def test_intervals_say_what_samples_define_nothing():
    low, high, notes = defined_interval(np.array([1.0, 2.0, np.nan, 3.0]), 0.9)
    assert (low, high) == (1, 3) and notes == ["1 of 4 bootstrap samples define no value and are left out."]
    assert defined_interval(np.array([1.0, math.inf]), 0.9)[:2] == (1, math.inf)
    assert defined_interval(np.array([2.0, 2.0 + 1e-15]), 0.9)[:2] == (None, None)
    assert defined_interval(np.full(3, math.inf), 0.9)[:2] == (None, None)
    assert "No interval" in defined_interval(np.full(3, np.nan), 0.9)[2][-1]
