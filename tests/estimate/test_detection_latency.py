"""Latency until something is noticed, with the trials that never notice (D3)."""

import numpy as np
import pytest

from seatrial.estimate.detection_latency import Wait, notice_latency


def latency(waits):
    return notice_latency(waits, np.random.default_rng(3), draws=200)


def seen(at: float) -> Wait:
    return Wait(noticed=True, at=at)


def missed(at: float) -> Wait:
    return Wait(noticed=False, at=at)


def test_a_trial_that_never_notices_is_censored_and_not_left_out():
    found = latency({"f/a": [seen(1), seen(3), missed(5), missed(5)]})
    assert dict(zip(found.curve.places, found.curve.values, strict=True)) == {1: 0.75, 3: 0.5}
    assert (found.curve.n_events, found.curve.n_censored) == (2, 2)
    assert (found.miss_rate.value, found.median.value) == (0.5, 3)


def test_censoring_before_others_notice_moves_the_curve_by_kaplan_and_meier():
    found = latency({"f/a": [seen(1), missed(2), seen(3), missed(4)]})
    # After 1: 3/4. At 3 two are left at risk, of which one notices: 3/4 · 1/2.
    assert found.curve.values == pytest.approx([0.75, 0.375])


def test_when_most_miss_there_is_no_median():
    found = latency({"f/a": [seen(2), missed(9), missed(9)]})
    assert found.median.value is None
    assert found.miss_rate.value == pytest.approx(2 / 3)


def test_what_nobody_knows_is_in_the_miss_rate_both_ways_and_not_on_the_curve():
    found = latency({"f/a": [seen(1), missed(4), Wait(noticed=None, at=4)], "f/b": [seen(1), seen(2)]})
    assert (found.unknown, found.miss_rate.value) == (1, None)
    assert found.curve.n_trials == 4


def test_no_delivered_trial_says_nothing():
    found = latency({"f/a": []})
    assert (found.curve.values, found.median.value, found.miss_rate.value) == ([], None, None)


def test_a_known_chance_of_noticing_is_covered_at_the_stated_rate():
    """Each step notices with chance 0.3, watched for 6: the miss rate is 0.7⁶. 60 intervals of 95 %."""
    rng, truth, inside = np.random.default_rng(11), 0.7**6, 0
    for _ in range(60):
        waits = {}
        for task in range(15):
            first = rng.geometric(0.3, 4)
            waits[f"f/{task}"] = [seen(float(n)) if n <= 6 else missed(6.0) for n in first]
        rate = notice_latency(waits, rng, draws=50).miss_rate
        inside += rate.low <= truth <= rate.high
    assert inside >= 53
