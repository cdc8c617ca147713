"""Calibration (F10): known answers, exact edges, infinite losses, and unknowns taken both ways."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.calibration import calibration, calibration_by_stratum
from tests.estimate.gold import gold, single


def judge(confidences, outcomes, bins=10, draws=500):
    return calibration(confidences, outcomes, np.random.default_rng(2), bins, draws=draws)


def of(confidences, outcomes, **more):
    return judge(single(confidences), single(outcomes, bool), **more)


def test_the_known_answers_with_the_true_log_loss():
    case = gold("calibration_10")
    found = of(case.given["prob"], case.given["outcome"], bins=case.given["bins"])
    assert found.brier.value == pytest.approx(case.expected["brier"], abs=case.tolerance)
    assert found.ece.value == pytest.approx(case.expected["ece_l1"], abs=case.tolerance)
    assert found.mce == pytest.approx(case.expected["mce"], abs=case.tolerance)
    assert found.log_loss.value == math.inf, "certain and wrong; a library that clips says 4.16"
    assert any("certain (0 or 1) and wrong" in note for note in found.log_loss.notes)
    # Clipping the one infinite loss at float64's epsilon, as that library does, gives its answer.
    clipped = of([min(p, 1 - 2**-52) for p in case.given["prob"]], case.given["outcome"])
    assert clipped.log_loss.value == pytest.approx(case.expected["log_loss_sklearn_clip_eps"], abs=1e-9)


def test_edges_are_exact_and_empty_bins_stay():
    found = of([0.29, 0.28999, 1.0, 0.0], [True, False, True, False], bins=100)
    counts = {k: b.success.n_trials for k, b in enumerate(found.bins) if b.success.n_trials}
    assert counts == {29: 1, 28: 1, 99: 1, 0: 1}
    assert len(found.bins) == 100 and found.bins[50].confidence is None and found.bins[50].gap is None
    assert [b.success.n_trials for b in of([0.5] * 4, [0, 1, 1, 0], bins=4).bins] == [0, 0, 4, 0]


def test_a_perfect_record_and_one_class_have_answers():
    perfect = of([1.0, 0.0, 1.0], [True, False, True])
    assert (perfect.ece.value, perfect.brier.value, perfect.log_loss.value) == (0, 0, 0)
    one_class = of([0.9, 0.8], [True, True])
    assert one_class.log_loss.value == pytest.approx(-(math.log(0.9) + math.log(0.8)) / 2)


def test_every_task_counts_once():
    found = judge({"a": [1.0] * 9, "b": [1.0]}, {"a": [True] * 9, "b": [False]})
    assert (found.brier.value, found.ece.value, found.brier.n_trials) == (0.5, 0.5, 10)


def test_the_infinite_loss_is_in_the_interval_as_often_as_its_task_is_drawn():
    found = of([0.5] * 9 + [1.0], [True] * 9 + [False], draws=4_000)
    assert found.log_loss.high == math.inf and found.log_loss.low < 1


confidence = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.95, 1.0])
unsure = st.lists(st.tuples(confidence, st.sampled_from([True, False, None])), min_size=2, max_size=5)


@given(unsure)
def test_unknown_outcomes_are_covered_both_ways(pairs):
    names = [f"t{i}" for i in range(len(pairs))]
    stated = {n: [p] for n, (p, _) in zip(names, pairs, strict=True)}
    found = judge(stated, {n: [w] for n, (_, w) in zip(names, pairs, strict=True)}, draws=200)
    holes = [i for i, (_, won) in enumerate(pairs) if won is None]
    seen = []
    for way in itertools.product([False, True], repeat=len(holes)):
        filled = [won for _, won in pairs]
        for i, value in zip(holes, way, strict=True):
            filled[i] = value
        one = judge(stated, {n: [w] for n, w in zip(names, filled, strict=True)}, draws=200)
        seen.append((one.ece.value, one.brier.value, one.log_loss.value))
        for mine, other in ((found.brier, one.brier), (found.log_loss, one.log_loss)):
            if mine.low is not None and other.low is not None:
                assert mine.low <= other.low + 1e-9 and other.high <= mine.high + 1e-9
    for column, mine in enumerate((found.ece, found.brier, found.log_loss)):
        values = [row[column] for row in seen]
        if mine.value is None:
            assert holes
        else:
            assert values == [pytest.approx(mine.value)] * len(values)


def test_unstated_confidence_is_counted_and_nothing_at_all_is_said():
    found = judge({"a": [0.5, None], "b": [None]}, {"a": [True, True], "b": [False]})
    assert (found.unstated, found.brier.n_trials, found.brier.n_tasks) == (2, 1, 1)
    assert "2 trials state no confidence and are left out." in found.brier.notes
    assert found.brier.low is None
    empty = judge({"a": [None]}, {"a": [True]})
    assert empty.ece.value is None and "No trial states a confidence." in empty.ece.notes


def test_what_chance_alone_would_show_stands_beside():
    rng = np.random.default_rng(5)
    stated = np.round(rng.uniform(0.1, 0.9, 60), 3)
    exact = of(stated.tolist(), (rng.random(60) < stated).tolist())
    assert exact.ece.low == 0 and "Chance alone explains the value." in exact.ece.notes
    assert exact.ece_by_chance == pytest.approx(0.12, abs=0.04), "far above 0, though nothing is wrong"
    brash = of([0.9] * 60, [i % 2 == 0 for i in range(60)])
    assert brash.ece.low > 0.2 and brash.ece.value == pytest.approx(0.4)
    assert brash.ece_by_chance == pytest.approx(0.8 * math.sqrt(0.9 * 0.1 / 60), abs=0.005), "E|N(0, s)|"


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_the_interval_of_the_ece_holds_what_is_true(shift):
    rng, held, repeats = np.random.default_rng(6), 0, 100
    for _ in range(repeats):
        stated = np.round(rng.uniform(0.2, 0.8, 80), 3)
        found = of(stated.tolist(), (rng.random(80) < stated - shift).tolist(), draws=200).ece
        held += found.low <= shift <= found.high
        assert found.low <= found.value <= found.high
    assert held / repeats >= 0.9


def test_strata_are_judged_apart():
    stated, won = single([0.9, 0.9, 0.1, 0.1]), single([True, True, True, False], bool)
    strata = {"t000": "shallow", "t001": "shallow", "t002": "deep", "t003": "deep"}
    found = calibration_by_stratum(stated, won, strata, np.random.default_rng(1), draws=100)
    assert found["shallow"].ece.value == pytest.approx(0.1)
    assert found["deep"].ece.value == pytest.approx(0.4)
    with pytest.raises(ValueError, match="t003 has no stratum"):
        calibration_by_stratum(stated, won, dict(list(strata.items())[:3]), np.random.default_rng(1))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(ValueError, match="not in"):
        of([bad], [True])
    with pytest.raises(ValueError, match="only"):
        judge({"a": [0.5]}, {"b": [True]})
    with pytest.raises(ValueError, match="1 confidences, 2 outcomes"):
        judge({"a": [0.5]}, {"a": [True, True]})
    with pytest.raises(ValueError, match="bins"):
        of([0.5], [True], bins=0)
