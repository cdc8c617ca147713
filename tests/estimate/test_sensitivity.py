"""A horizon under other choices: each variant is what a fit of its own would say."""

import math

import numpy as np
import pytest

from seatrial.estimate.horizon import horizon
from seatrial.estimate.horizon_draws import HorizonOptions
from seatrial.estimate.sensitivity import horizon_sensitivity

MINUTES = {"a/1": 1.0, "a/2": 4.0, "b/1": 8.0, "b/2": 30.0, "c/1": 90.0, "c/2": 400.0}
SCORES = {
    "a/1": [1.0, 1.0, 0.96],
    "a/2": [1.0, 0.3],
    "b/1": [1.0, 0.97, 0.2, 1.0],
    "b/2": [0.5, 1.0],
    "c/1": [0.0, 0.96, 1.0],
    "c/2": [0.0, 0.1],
}


def values(scores, **options):
    outcomes = {task: [score >= 1 for score in trials] for task, trials in scores.items()}
    found = horizon(outcomes, MINUTES, np.random.default_rng(1), HorizonOptions(draws=5, **options))
    return [one.fitted for one in found.horizons]


def variants(**more):
    found = horizon_sensitivity(SCORES, MINUTES, **more)
    return {(one.choice, one.setting): one for one in found}


def test_every_variant_equals_a_fit_of_its_own():
    found = variants(thresholds=[0.95])
    assert next(iter(found.values())).ratios == [1.0, 1.0]
    for ridge in (0.0, 1e-5, 0.1):
        assert found["ridge", f"{ridge:g}"].horizons == pytest.approx(values(SCORES, ridge=ridge), rel=1e-6)
    for weighting in ("none", "equal_task", "invsqrt"):
        expected = values(SCORES, weighting=weighting)
        assert found["weighting", weighting].horizons == pytest.approx(expected, rel=1e-6)
    for family in "abc":
        left = {task: trials for task, trials in SCORES.items() if not task.startswith(family)}
        assert found["without family", family].horizons == pytest.approx(values(left), rel=1e-6)
    kinder = {task: [float(score >= 0.95) for score in trials] for task, trials in SCORES.items()}
    assert found["threshold", "0.95"].horizons == pytest.approx(values(kinder), rel=1e-6)
    assert found["threshold", "0.95"].ratios[0] > 1


def test_a_variant_of_one_class_has_no_number():
    one = variants(thresholds=[0.0])["threshold", "0"]
    assert (one.horizons, one.shown, one.ratios) == ([None] * 2, ["> 400"] * 2, [None] * 2)


def test_one_family_cannot_be_left_out():
    options = HorizonOptions(families=dict.fromkeys(MINUTES, "all"))
    assert not [key for key in variants(options=options) if key[0] == "without family"]


@pytest.mark.parametrize("bad", [None, math.nan, math.inf])
def test_unknown_and_impossible_scores_are_refused(bad):
    with pytest.raises(ValueError, match="horizon_sensitivity"):
        horizon_sensitivity({"a": [bad]}, {"a": 1.0})
    with pytest.raises(ValueError, match="horizon_sensitivity: no trial"):
        horizon_sensitivity({}, {})
    with pytest.raises(ValueError, match="threshold"):
        horizon_sensitivity({"a": [1.0]}, {"a": 1.0}, thresholds=[math.nan])
