"""Sign flips (F3): exact for few tasks, sampled for many, agreeing with McNemar where both apply."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.mcnemar import mcnemar
from seatrial.estimate.permutation import sign_flip_p


def rng():
    return np.random.default_rng(4)


def test_few_tasks_are_counted_exactly():
    assert sign_flip_p([1, 1, 1], rng()) == 0.25
    assert sign_flip_p([0.1] * 8, rng()) == 2 / 256
    assert sign_flip_p([3, -1, 2], rng()) == 0.5
    assert sign_flip_p([0, 0], rng()) == 1
    assert sign_flip_p([], rng()) == 1


@given(st.integers(0, 6), st.integers(0, 6))
def test_signs_of_single_outcomes_are_mcnemar_s_test(wins, losses):
    exact = mcnemar(1, wins, losses, 1).p_exact
    assert sign_flip_p([1.0] * wins + [-1.0] * losses, rng()) == pytest.approx(exact)


def test_many_tasks_are_sampled_close_to_the_exact_answer():
    found = sign_flip_p([1.0] * 15 + [-1.0] * 5, rng(), flips=100_000)
    assert found == pytest.approx(mcnemar(0, 15, 5, 0).p_exact, abs=0.003)
    assert sign_flip_p([1.0] * 40, rng(), flips=999) == 1 / 1000, "never zero"


def test_what_is_no_number_is_refused():
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            sign_flip_p([1.0, bad], rng())
    with pytest.raises(ValueError, match="flips"):
        sign_flip_p([1.0], rng(), flips=0)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=10))
def test_p_knows_neither_order_nor_side(differences):
    p = sign_flip_p(differences, rng())
    assert 0 < p <= 1
    assert sign_flip_p([-d for d in differences[::-1]], rng()) == p
