"""Verifier error (F11): both recalls apart, and success corrected for them with all the uncertainty."""

import math

import numpy as np
import pytest

from seatrial.estimate.verifier_error import corrected_rate, delta_error, rogan_gladen, verifier_error
from tests.estimate.gold import gold


def products(name, accepted, total, times=1):
    return {f"{name}{i:03d}": [i < accepted] * times for i in range(total)}


def corrected(outcomes, good, bad, **more):
    return corrected_rate(outcomes, good, bad, np.random.default_rng(8), **more)


def test_the_known_answers():
    case = gold("rogan_gladen")
    apparent, good, bad = (case.given[key] for key in ("apparent", "sensitivity", "specificity"))
    rates = [count / total for count, total in (apparent, good, bad)]
    assert rogan_gladen(*rates) == pytest.approx(case.expected["prevalence"], abs=case.tolerance)
    assert delta_error(apparent, good, bad) == pytest.approx(case.expected["se_delta"], abs=case.tolerance)
    assert rates[0] == case.expected["naive"]
    found = corrected(products("t", 140, 200), products("g", 90, 100), products("b", 20, 100))
    assert found.value == pytest.approx(case.expected["prevalence"])
    # Away from the ends the draws and the delta method agree.
    half = 1.96 * case.expected["se_delta"]
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.02)
    assert "As the verifier judged: 0.7." in found.notes


def test_a_verifier_that_rejects_all_is_right_in_95_of_100_and_useless():
    found = verifier_error(products("g", 0, 5), products("b", 0, 95))
    assert found.accuracy.value == pytest.approx(0.95)
    assert (found.recall_good.value, found.recall_bad.value) == (0, 1)
    assert (found.precision.value, found.precision.low) == (None, None)
    assert "Nothing is accepted for certain, so the precision is undefined." in found.precision.notes
    lost = corrected(products("t", 0, 20), products("g", 0, 5), products("b", 0, 95))
    assert lost.value is None and any("as often as good ones" in note for note in lost.notes)
    assert lost.high - lost.low > 0.9, "it says next to nothing"


def test_the_rates_and_precision_by_hand():
    found = verifier_error(products("g", 9, 10), products("b", 3, 30))
    assert found.recall_good.value == pytest.approx(0.9) and found.recall_bad.value == pytest.approx(0.9)
    assert found.precision.value == pytest.approx(9 / 12)
    assert found.precision.low < 0.75 < found.precision.high
    assert (found.recall_good.n_tasks, found.recall_good.unit) == (10, "calibration products")


def test_repeated_judgements_count_as_one_product_and_show_idempotence():
    flaky = {**products("g", 8, 8, times=3), "g100": [True, False, True]}
    found = verifier_error(flaky, products("b", 0, 4))
    assert found.idempotence.value == pytest.approx(8 / 9)
    assert found.idempotence.n_tasks == 9, "products judged once show nothing"
    assert found.recall_good.value == pytest.approx((8 + 2 / 3) / 9)
    assert verifier_error(products("g", 8, 8), {}).idempotence.value is None


def test_a_product_without_a_verdict_is_bounded_both_ways():
    found = verifier_error({**products("g", 8, 9), "g100": [None]}, {**products("b", 1, 9), "b100": [None]})
    assert found.recall_good.value is None and found.precision.value is None
    assert found.recall_good.low <= 0.8 and found.recall_good.high >= 0.9
    assert found.precision.low <= 8 / 10 and found.precision.high >= 9 / 10


def test_what_leaves_the_range_is_clipped_and_said():
    found = corrected(products("t", 99, 100), products("g", 90, 100), products("b", 5, 100))
    assert found.value == 1 and any("outside [0, 1]; it is clipped" in note for note in found.notes)
    assert found.low < found.high == 1
    low = corrected(products("t", 1, 100), products("g", 90, 100), products("b", 20, 100))
    assert low.value == 0 == low.low


def test_few_calibration_products_widen_the_interval():
    outcomes = products("t", 140, 200)
    few = corrected(outcomes, products("g", 9, 10), products("b", 2, 10))
    many = corrected(outcomes, products("g", 900, 1000), products("b", 200, 1000))
    assert few.high - few.low > 1.5 * (many.high - many.low)


def test_the_interval_holds_the_true_rate():
    truth, recall_good, recall_bad, repeats = 0.7, 0.92, 0.85, 300
    rng, held = np.random.default_rng(4), 0
    for _ in range(repeats):
        seen = rng.binomial(60, truth * recall_good + (1 - truth) * (1 - recall_bad))
        found = corrected_rate(
            products("t", seen, 60),
            products("g", rng.binomial(40, recall_good), 40),
            products("b", rng.binomial(40, 1 - recall_bad), 40),
            rng,
            draws=1_000,
        )
        held += found.low <= truth <= found.high
    assert 0.92 <= held / repeats <= 0.985


def test_what_is_missing_is_not_guessed():
    good, bad = products("g", 9, 10), products("b", 1, 10)
    for arguments in (({}, good, bad), (good, {}, bad), (good, good, {}), ({"a": [None]}, good, bad)):
        found = corrected(*arguments)
        assert found.value is None and any("No corrected rate" in note for note in found.notes)
    with pytest.raises(ValueError, match="as good and as bad"):
        verifier_error(good, good)
    for arguments in ((0.5, 0.5, 0.5), (1.2, 0.9, 0.9), (math.nan, 0.9, 0.9)):
        with pytest.raises(ValueError, match="rogan_gladen"):
            rogan_gladen(*arguments)
