"""Adjusted p values (F3), against known answers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.multiplicity import benjamini_hochberg, holm
from tests.estimate.gold import gold

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_both_give_the_known_answers():
    case = gold("holm_bh")
    assert holm(case.given["p"]) == pytest.approx(case.expected["holm"], abs=case.tolerance)
    assert benjamini_hochberg(case.given["p"]) == pytest.approx(case.expected["bh"], abs=case.tolerance)


@given(p_values)
def test_adjusting_only_raises_and_keeps_the_order(values):
    for adjust in (holm, benjamini_hochberg):
        found = adjust(values)
        assert all(p - 1e-12 <= q <= 1 for p, q in zip(values, found, strict=True))
        pairs = sorted(zip(values, found, strict=True))
        assert [q for _, q in pairs] == sorted(q for _, q in pairs)
        turned = adjust(values[::-1])
        assert turned[::-1] == pytest.approx(found)
    assert all(b <= h + 1e-12 for b, h in zip(benjamini_hochberg(values), holm(values), strict=True))


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_p_value_is_refused(adjust):
    for bad in (math.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match="not in"):
            adjust([0.01, bad])
    assert adjust([]) == []
    assert adjust([0.03]) == [0.03]
