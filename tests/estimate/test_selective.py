"""Risk and coverage (F10): the known curve, and ties that know no order."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.selective import risk_coverage
from tests.estimate.gold import gold


def test_the_known_curve():
    case = gold("risk_coverage")
    found = risk_coverage(case.given["confidence"], case.given["error"])
    assert found.coverage == pytest.approx(case.expected["coverage"], abs=case.tolerance)
    assert found.risk == pytest.approx(case.expected["risk"], abs=case.tolerance)
    assert found.aurc == pytest.approx(case.expected["aurc"], abs=case.tolerance)
    assert found.best_aurc == pytest.approx(case.expected["e_aurc_optimal"], abs=case.tolerance)
    assert found.excess == pytest.approx(found.aurc - found.best_aurc)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=12))
def test_ties_are_averaged_so_order_says_nothing(pairs):
    found = risk_coverage(*zip(*pairs, strict=True))
    assert risk_coverage(*zip(*pairs[::-1], strict=True)) == found
    assert found.risk[-1] == pytest.approx(sum(e for _, e in pairs) / len(pairs))
    assert found.best_aurc <= found.aurc + 1e-12 and found.excess >= 0


def test_equal_confidence_everywhere_is_the_error_rate():
    found = risk_coverage([0.7] * 4, [True, False, False, False])
    assert found.risk == [0.25] * 4


def test_bad_input_is_refused():
    for confidence, error in (([], []), ([math.nan], [True]), ([0.5], [True, False])):
        with pytest.raises(ValueError):
            risk_coverage(confidence, error)
