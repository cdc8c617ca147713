"""Risk and coverage (F10): the known curve, and ties that know no order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.selective import area_under_risk, risk_coverage
from tests.estimate.gold import gold, single


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


def area(confidences, outcomes, draws=500):
    return area_under_risk(confidences, outcomes, np.random.default_rng(2), draws=draws)


def test_the_area_over_tasks_is_the_curve_s_with_an_interval():
    case = gold("risk_coverage")
    won = [not error for error in case.given["error"]]
    found = area(single(case.given["confidence"]), single(won, bool))
    assert found.value == pytest.approx(case.expected["aurc"], abs=case.tolerance)
    assert found.low < found.value < found.high and found.n_tasks == 5


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=2, max_size=9))
def test_one_trial_a_task_gives_the_same_area_ties_included(pairs):
    stated, won = [p for p, _ in pairs], [w for _, w in pairs]
    found = area(single(stated), single(won, bool), draws=20)
    assert found.value == pytest.approx(risk_coverage(stated, [not w for w in won]).aurc)


def test_tasks_count_once_and_unknown_outcomes_bound_it():
    many = area({"a": [0.9] * 3, "b": [0.5]}, {"a": [True] * 3, "b": [False]})
    assert many.value == pytest.approx((0 * 0.5 + 0.5 * 0.5) / 1)
    unsure = area({"a": [0.9], "b": [0.5], "c": [0.2]}, {"a": [True], "b": [None], "c": [False]})
    ends = [area(single([0.9, 0.5, 0.2]), single([True, b, False], bool)) for b in (True, False)]
    assert unsure.value is None
    assert (unsure.low, unsure.high) == (ends[0].low, ends[1].high)


def test_what_states_nothing_is_said():
    assert area({"a": [None]}, {"a": [True]}).value is None
    alone = area({"a": [0.5, None]}, {"a": [False, True]})
    assert (alone.value, alone.low) == (1, None)
    assert "1 trials state no confidence and are left out." in alone.notes
    with pytest.raises(ValueError, match="not in"):
        area({"a": [1.5]}, {"a": [True]})
