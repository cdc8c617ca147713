"""Amdahl's ceiling: known answers and the worked example."""

import math

import pytest

from seatrial.estimate.parallel import amdahl
from tests.estimate.gold import gold


def test_the_known_answers():
    case = gold("amdahl")
    found = [amdahl(case.given["parallel"], n) for n in case.given["n"]]
    assert found == pytest.approx(case.expected, abs=case.tolerance)
    assert amdahl(0.8, 4) == pytest.approx(2.5)
    assert (amdahl(1, 7), amdahl(0, 7)) == (pytest.approx(7), 1)


@pytest.mark.parametrize("arguments", [(-0.1, 2), (1.1, 2), (0.5, 0), (0.5, math.inf), (math.nan, 2)])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="amdahl"):
        amdahl(*arguments)
