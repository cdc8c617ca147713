"""Families, then tasks inside each drawn copy: sizes, means and the variance the scheme implies."""

import numpy as np
import pytest

from seatrial.estimate.hierarchy import family_index, hierarchy_weights

FAMILY = np.array([0, 0, 0, 1, 2, 2])
DRAWS = 40_000


def test_draws_are_copies_of_whole_families():
    drawn = hierarchy_weights(FAMILY, 500, np.random.default_rng(1))
    by_family = np.stack([drawn[:, family == FAMILY].sum(axis=1) for family in range(3)], axis=1)
    assert (by_family % [3, 1, 2] == 0).all()
    assert ((by_family / [3, 1, 2]).sum(axis=1) == 3).all()


def test_each_task_is_drawn_once_on_average_with_the_scheme_s_variance():
    drawn = hierarchy_weights(FAMILY, DRAWS, np.random.default_rng(2))
    assert drawn.mean(axis=0) == pytest.approx(np.ones(6), abs=0.03)
    # K copies of a family of n, K ~ Binomial(3, 1/3): E K·(1 − 1/n) inside plus Var K between.
    sizes = np.bincount(FAMILY)[FAMILY]
    assert drawn.var(axis=0) == pytest.approx((1 - 1 / sizes) + 2 / 3, abs=0.06)


def test_families_come_from_the_mapping_then_the_name_then_the_task_itself():
    assert family_index(["b/x", "b/y", "solo", "c/z"], {"c/z": "b"}).tolist() == [0, 0, 1, 0]
