"""One trial per task: McNemar's test and Newcombe's intervals (F3), against known answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.mcnemar import mcnemar, newcombe_paired, newcombe_unpaired
from seatrial.estimate.rates import wilson
from tests.estimate.gold import gold

tables = st.tuples(*[st.integers(0, 40)] * 4).filter(any)


def test_mcnemar_gives_the_known_answer():
    case = gold("mcnemar_exact")
    found = mcnemar(**case.given)
    assert found.p_exact == pytest.approx(case.expected["p_exact"], abs=case.tolerance)
    assert found.p_mid == pytest.approx(case.expected["p_mid"], abs=case.tolerance)
    assert found.difference == pytest.approx(case.expected["diff"], abs=case.tolerance)
    assert (found.low, found.high) == pytest.approx(
        tuple(case.expected["newcombe_paired_ci95"]), abs=case.tolerance
    )


def test_without_discordant_tasks_nothing_differs():
    case = gold("mcnemar_no_discordant")
    found = mcnemar(**case.given)
    assert (found.p_exact, found.p_mid, found.difference) == (case.expected["p_exact"], 1, 0)
    assert found.low < 0 < found.high


def test_newcombe_gives_his_own_table():
    assert newcombe_paired(36, 12, 2, 0) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_many_discordant_tasks_lose_no_digit():
    assert mcnemar(0, 29, 28, 0).p_exact == 1
    assert 0 < mcnemar(0, 3000, 2600, 0).p_exact < 1e-6


@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (-1, 3, 3, 3)])
def test_impossible_tables_are_refused(cells):
    with pytest.raises(ValueError, match="mcnemar"):
        mcnemar(*cells)


@given(tables)
def test_the_interval_holds_the_difference_and_turns_with_the_systems(cells):
    both, only_a, only_b, neither = cells
    found, turned = mcnemar(*cells), mcnemar(both, only_b, only_a, neither)
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert found.low < found.high
    assert 0 <= found.p_mid <= found.p_exact <= 1
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    assert (turned.p_exact, turned.p_mid) == (found.p_exact, found.p_mid)


@given(st.integers(0, 20), st.integers(0, 20))
def test_two_intervals_join_to_one_of_the_difference(one, other):
    low, high = newcombe_unpaired(one / 20, wilson(one, 20), other / 20, wilson(other, 20))
    assert -1 <= low <= (one - other) / 20 <= high <= 1
    assert low < high
