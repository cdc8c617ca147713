"""Events that did not happen (F14), against known answers."""

import math

import pytest

from seatrial.estimate.rare import rate_without_event, trials_without_event
from tests.estimate.gold import gold


def test_the_known_answers():
    case = gold("zero_failure_n")
    n = trials_without_event(case.given["max_rate"], case.given["confidence"])
    assert n == case.expected["n"] == 2995
    assert n - 1 < case.expected["n_real"] <= n <= case.expected["rule_of_three"]
    case = gold("zero_failure_upper")
    found = rate_without_event(case.given["n"], case.given["one_sided_confidence"])
    assert found == pytest.approx(case.expected, abs=case.tolerance)


@pytest.mark.parametrize("rate", [0.5, 0.1, 1e-3, 1e-6])
def test_one_trial_fewer_does_not_show_it(rate):
    n = trials_without_event(rate)
    assert rate_without_event(n) <= rate * (1 + 1e-12) < rate_without_event(n - 1)


def test_bad_arguments_are_refused():
    for arguments in ((0, 0.95), (1, 0.95), (0.1, 1), (math.nan, 0.95)):
        with pytest.raises(ValueError, match="trials_without_event"):
            trials_without_event(*arguments)
    for arguments in ((0, 0.95), (math.inf, 0.95), (10, 0)):
        with pytest.raises(ValueError, match="rate_without_event"):
            rate_without_event(*arguments)
