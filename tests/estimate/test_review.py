"""Risk-stratified review (F12): kept probabilities, weighted totals, and spread that is not known."""

import math

import numpy as np
import pytest

from seatrial.estimate.review import draw_for_review, weighted_total

STRATA = {f"i{k:03d}": "risky" if k < 20 else "plain" for k in range(120)}
WRONG = {item: float(k % 2 == 0 if k < 20 else k % 10 == 0) for k, item in enumerate(STRATA)}
TRUTH = 20.0


def draw(seed, wanted=None):
    return draw_for_review(STRATA, wanted or {"risky": 10, "plain": 20}, np.random.default_rng(seed))


def test_every_item_keeps_the_probability_it_was_drawn_with():
    sample = draw(1)
    assert sample.sizes == {"plain": 100, "risky": 20}
    by_stratum = {name: [p for p in sample.picked if p.stratum == name] for name in sample.sizes}
    assert {name: len(picked) for name, picked in by_stratum.items()} == {"plain": 20, "risky": 10}
    assert {p.probability for p in by_stratum["risky"]} == {0.5}
    assert {p.probability for p in by_stratum["plain"]} == {0.2}
    assert draw(1) == sample != draw(2)


def test_the_total_is_unbiased_and_its_interval_holds_it():
    assert sum(WRONG.values()) == TRUTH
    found = [weighted_total(draw(seed), WRONG) for seed in range(400)]
    assert np.mean([one.value for one in found]) == pytest.approx(TRUTH, abs=0.9)
    assert np.mean([one.low <= TRUTH <= one.high for one in found]) > 0.9


def test_the_total_by_hand():
    sample = draw(3, {"risky": 20, "plain": 100})
    whole = weighted_total(sample, WRONG)
    assert (whole.value, whole.low, whole.high) == (TRUTH, TRUTH, TRUTH), "all were reviewed"
    few = draw(3, {"risky": 2, "plain": 1})
    ones = weighted_total(few, {p.item: 1.0 for p in few.picked})
    assert ones.value == 120, "Σ 1/probability is the number of items"
    assert ones.low < 120 and ones.method.startswith("Horvitz–Thompson")


def test_agreeing_reviews_are_not_certainty():
    sample = draw(4)
    none = weighted_total(sample, {p.item: 0.0 for p in sample.picked})
    assert (none.value, none.low) == (0, 0) and none.high > 5
    severity = weighted_total(sample, {p.item: 2.5 for p in sample.picked})
    assert severity.value == 300 and severity.low is None
    assert any("show no spread" in note for note in severity.notes)


def test_undecided_and_missing_reviews():
    sample = draw(5)
    findings = {p.item: 1.0 for p in sample.picked}
    first = sample.picked[0].item
    undecided = weighted_total(sample, {**findings, first: None})
    assert undecided.value is None and "No total: 1 reviews are undecided." in undecided.notes
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match=first):
            weighted_total(sample, {**findings, first: bad})
    with pytest.raises(ValueError, match=first):
        weighted_total(sample, {k: v for k, v in findings.items() if k != first})


@pytest.mark.parametrize(
    "wanted", [{"risky": 1}, {"risky": 1, "plain": 1, "odd": 1}, {"risky": 0, "plain": 5}]
)
def test_no_stratum_is_left_blind(wanted):
    with pytest.raises(ValueError, match="draw_for_review"):
        draw(1, wanted)
