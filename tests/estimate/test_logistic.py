"""Batched Newton: known optima, every row its own, and no silent number where none exists."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from seatrial.estimate.logistic import fit_logistic
from tests.estimate.gold import gold

CASE = gold("horizon_logistic_fit")
X = np.log2(CASE.given["minutes"])
WON = np.array(CASE.given["success"], float)


def fit(won, x=X, ridge=0.0, weights=None):
    weights = np.ones(len(won)) if weights is None else weights
    return fit_logistic(weights[None], (weights * won)[None], x, ridge)


# Their unit-weight fit without a ridge is ours too, since a common factor of the weights changes nothing.
@pytest.mark.parametrize(
    ("name", "ridge"),
    [("unweighted_lam0", 0.0), ("weights_sum1_lam0.1", 0.1), ("weights_sum1_lam1e-5", 1e-5)],
)
def test_it_finds_the_known_optimum(name, ridge):
    found, expected = fit(WON, ridge=ridge), CASE.expected[name]
    assert found.converged.all()
    assert found.intercept[0] == pytest.approx(expected["intercept"], rel=CASE.tolerance)
    assert found.slope[0] == pytest.approx(expected["slope"], rel=CASE.tolerance)


def test_a_common_factor_of_the_weights_changes_nothing():
    small = fit(WON, ridge=0.1, weights=np.full(len(WON), 1e-6))
    large = fit(WON, ridge=0.1, weights=np.full(len(WON), 1e6))
    assert small.slope[0] == pytest.approx(large.slope[0], rel=1e-9)


def gradient(found, row, weights, won, x, ridge):
    """Of the loss at the found line; zero at an optimum, and the loss is convex."""
    share = weights / weights.sum()
    gap = share * expit(found.intercept[row] + found.slope[row] * x) - won / weights.sum()
    return gap.sum(), (gap * x).sum() + ridge * found.slope[row]


def test_two_close_places_of_unlike_classes_have_an_optimum_hundreds_of_log_odds_away():
    x = np.array([10.9258, 1.1736, 0.0893, 0.0128])
    found = fit(np.array([0.0, 0.0, 0.0, 1.0]), x, 1e-5, np.array([1.0, 3.0, 3.0, 1.0]))
    assert found.converged.all() and abs(found.slope[0] * x[0]) > 500
    weights = np.array([1.0, 3.0, 3.0, 1.0])
    won = np.array([0.0, 0.0, 0.0, 1.0])
    assert gradient(found, 0, weights, won, x, 1e-5) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("ridge", [1e-3, 0.1])
def test_an_independent_solver_finds_the_same_lines(ridge):
    rng = np.random.default_rng(11)
    for _ in range(10):
        trials = rng.integers(1, 6, 15).astype(float)
        won = rng.binomial(trials.astype(int), rng.uniform(0.1, 0.9, 15)).astype(float)
        x = rng.uniform(0, 11, 15)
        ours = fit_logistic(trials[None], won[None], x, ridge)
        rows = np.concatenate([x, x])[:, None], np.repeat([1, 0], 15)
        shares = np.concatenate([won, trials - won]) / trials.sum()
        theirs = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-12).fit(*rows, shares)
        assert ours.slope[0] == pytest.approx(theirs.coef_[0, 0], rel=1e-6)
        assert ours.intercept[0] == pytest.approx(theirs.intercept_[0], rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-5, 1e-3, 0.1]))
def test_every_row_of_a_batch_is_at_its_own_optimum(seed, ridge):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, (20, 12)) + (np.arange(12) % 3 == 0)
    won = rng.binomial(weights, rng.uniform(0.05, 0.95, (20, 1)))
    mixed = (won.sum(axis=1) > 0) & (won.sum(axis=1) < weights.sum(axis=1))
    weights, won = weights[mixed].astype(float), won[mixed].astype(float)
    if not len(weights):
        return
    x = rng.uniform(0, 11, 12)
    found = fit_logistic(weights, won, x, ridge)
    # Rows whose classes a point separates have a far but finite optimum, since the ridge holds them.
    assert found.converged.all()
    for row in range(len(weights)):
        assert gradient(found, row, weights[row], won[row], x, ridge) == pytest.approx((0, 0), abs=1e-7)


def test_places_may_differ_by_row():
    moved = np.stack([X, X + 2.0])
    found = fit_logistic(np.ones((2, 16)), np.stack([WON, WON]), moved, 0.1)
    assert found.slope[0] == pytest.approx(found.slope[1], rel=1e-8)
    assert found.intercept[1] == pytest.approx(found.intercept[0] - 2 * found.slope[0], rel=1e-8)
    assert fit(WON, ridge=0.1).slope[0] == pytest.approx(found.slope[0], rel=1e-8)


def test_separated_classes_without_a_ridge_have_no_optimum_and_say_so():
    x, won = np.arange(6.0), np.array([1.0, 1, 1, 0, 0, 0])
    assert not fit(won, x).converged.any()
    touching = np.array([1.0, 1, 1, 0, 0, 0]), np.array([0.0, 1, 2, 2, 3, 4])
    assert not fit(*touching).converged.any()
    held = fit(won, x, ridge=1e-5)
    assert held.converged.all() and -held.intercept[0] / held.slope[0] == pytest.approx(2.5, abs=1e-6)


def test_one_place_has_no_slope():
    found = fit(np.array([1.0, 0, 0, 0]), np.full(4, 3.0), ridge=1e-5)
    assert found.converged.all() and abs(found.slope[0]) < 1e-9
    assert found.intercept[0] == pytest.approx(math.log(1 / 3), abs=1e-8)


@pytest.mark.parametrize("ridge", [-1.0, math.nan, math.inf])
def test_impossible_ridges_are_refused(ridge):
    with pytest.raises(ValueError, match="ridge"):
        fit(WON, ridge=ridge)


def test_rows_without_weight_and_ragged_shapes_are_refused():
    with pytest.raises(ValueError, match="need weight"):
        fit_logistic(np.zeros((1, 2)), np.zeros((1, 2)), np.arange(2.0), 0.1)
    with pytest.raises(ValueError, match="shapes"):
        fit_logistic(np.ones((1, 2)), np.ones((1, 3)), np.arange(2.0), 0.1)
