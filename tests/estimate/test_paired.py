"""Paired comparison by task (F3): known answers, words, and everything that must not be answered silently."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.mcnemar import mcnemar
from seatrial.estimate.paired import AT_ODDS, BOTH, T_METHOD, TRUST_T_FROM, decide, paired_difference
from tests.estimate.gold import gold, single

UNDECIDED = "cannot be told apart yet"
pairs = st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=2, max_size=10)


def compare(a, b, **more):
    return paired_difference(a, b, np.random.default_rng(9), **more)


def test_measured_values_give_the_known_answer():
    case = gold("paired_diff")
    found = compare(single(case.given["a"]), single(case.given["b"]))
    near = {"abs": case.tolerance}
    assert found.difference.value == pytest.approx(case.expected["diff"], **near)
    assert (found.difference.low, found.difference.high) == pytest.approx(case.expected["ci95"], **near)
    assert found.p_t == pytest.approx(case.expected["p"], **near)
    assert found.p == max(found.p_t, found.p_permutation)
    assert found.effect == pytest.approx(case.expected["t"] / math.sqrt(8), **near)
    assert (found.wins, found.losses, found.ties) == (5, 1, 2)
    assert (found.verdict, found.mcnemar, found.test) == (UNDECIDED, None, BOTH)
    assert found.difference.unit == "tasks, paired"


def test_one_outcome_a_task_is_mcnemar_with_newcombe():
    a = [True] * 50 + [True] * 5 + [False] * 15 + [False] * 30
    b = [True] * 50 + [False] * 5 + [True] * 15 + [False] * 30
    found = compare(single(a, bool), single(b, bool))
    table = mcnemar(50, 5, 15, 30)
    assert found.mcnemar == table
    assert (found.p, found.test) == (table.p_exact, "McNemar, exact")
    assert (found.difference.low, found.difference.high) == (table.low, table.high)
    assert found.verdict == "B higher"
    assert found.p_permutation == pytest.approx(table.p_exact, abs=0.01)


def test_two_submissions_that_cannot_be_told_apart():
    cells = [(True, True)] * 343 + [(True, False)] * 29 + [(False, True)] * 28 + [(False, False)] * 100
    found = compare(single([a for a, _ in cells], bool), single([b for _, b in cells], bool))
    assert (found.verdict, found.p) == (UNDECIDED, 1)
    assert found.difference.value == pytest.approx(0.744 - 0.742)
    assert found.difference.low < 0 < found.difference.high


def test_repeated_trials_are_compared_by_task_not_pooled():
    a = {"x": [True] * 5, "y": [True] * 4 + [False], "z": [False] * 5}
    b = {"x": [True] * 4 + [False], "y": [True] * 2 + [False] * 3, "z": [False] * 5}
    found = compare(a, b)
    assert (found.mcnemar, found.test) == (None, BOTH)
    assert (found.difference.n_tasks, found.difference.n_trials) == (3, 30)
    assert found.difference.value == pytest.approx(0.2)


def test_a_clear_difference_is_named():
    chance = np.random.default_rng(2)
    base = chance.random(30)
    better, worse = single(base + 0.2 + chance.normal(0, 0.05, 30)), single(base)
    assert compare(better, worse).verdict == "A higher"
    assert compare(worse, better).verdict == "B higher"
    assert decide(0.0, 0.001, 0.05) == decide(None, 0.001, 0.05) == decide(1.0, None, 0.05) == UNDECIDED


def test_few_tasks_need_both_tests_to_be_told_apart():
    """Five tasks differ by a half and one does not: t says 0.0041, but signs can do no better than 2/2⁵."""
    a, b = single([0.5] * 5 + [0.0]), single([0.0] * 6)
    found = compare(a, b)
    assert (found.p_t, found.p_permutation) == (pytest.approx(0.0041, abs=5e-5), 0.0625)
    assert (found.p, found.verdict, found.test) == (0.0625, UNDECIDED, BOTH)
    assert any(
        "t and random signs disagree: p = 0.0041 and 0.0625" in note for note in found.difference.notes
    )
    clear = compare(single([0.5, 0.6, 0.4, 0.5, 0.7, 0.5]), single([0.0] * 6))
    assert (clear.p, clear.verdict) == (2 / 64, "A higher")
    assert not any("disagree" in note for note in clear.difference.notes)


def test_from_ten_tasks_on_t_decides_and_the_check_stands_beside_it():
    values = [0.5] * 5 + [0.0] * (TRUST_T_FROM - 5)
    found = compare(single(values), single([0.0] * TRUST_T_FROM))
    assert (found.test, found.p, found.verdict) == (T_METHOD, found.p_t, "A higher")
    assert any("does not agree: p = 0.0625" in note and "hangs" in note for note in found.difference.notes)


def test_other_tasks_are_refused_by_name():
    with pytest.raises(ValueError, match=r"2 tasks are of one system only, first a\."):
        compare({"a": [1.0], "b": [1.0]}, {"b": [1.0], "c": [1.0]})


def test_a_task_without_a_valid_trial_is_left_out_and_named():
    found = compare(
        {"a": [1.0], "b": [], "c": [2.0], "d": [2.0]}, {"a": [0.0], "b": [1.0], "c": [], "d": [0.5]}
    )
    assert found.difference.n_tasks == 2
    assert "b is left out: no valid trial of A." in found.difference.notes
    assert "c is left out: no valid trial of B." in found.difference.notes


@pytest.mark.parametrize(("a", "b"), [({}, {}), ({"a": []}, {"a": []}), ({"a": []}, {"a": [True]})])
def test_nothing_to_compare_says_so(a, b):
    found = compare(a, b)
    assert (found.verdict, found.p, found.difference.value, found.difference.low) == (
        UNDECIDED,
        None,
        None,
        None,
    )
    assert "No comparison: no task has valid trials of both." in found.difference.notes


def test_one_task_shows_no_spread():
    found = compare({"a": [True] * 20}, {"a": [False] * 20})
    assert (found.difference.value, found.difference.low, found.p) == (1, None, None)
    assert found.verdict == UNDECIDED
    assert any("One task" in note for note in found.difference.notes)


def test_the_same_difference_everywhere_is_decided_by_signs():
    a, b = {f"t{i}": [True] * 3 for i in range(8)}, {f"t{i}": [False] * 3 for i in range(8)}
    found = compare(a, b)
    assert (found.p, found.p_t, found.effect, found.verdict) == (2 / 256, None, None, "A higher")
    assert 0 < found.difference.low < 1 == found.difference.high
    few = compare({k: a[k] for k in ("t0", "t1")}, {k: b[k] for k in ("t0", "t1")})
    assert (few.p, few.verdict) == (0.5, UNDECIDED)
    rounding = compare(single([0.3, 0.4, 0.5]), single([0.2, 0.3, 0.4]))
    assert (rounding.p_t, rounding.difference.low, rounding.p) == (None, None, 0.25)


def test_systems_that_agree_everywhere_are_not_a_certainty():
    for outcome in (True, False):
        found = compare({"a": [outcome] * 9, "b": [outcome] * 9}, {"a": [outcome] * 9, "b": [outcome] * 9})
        assert (found.p, found.ties, found.verdict) == (1, 2, UNDECIDED)
        assert found.difference.low < 0 < found.difference.high


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match=r"B: .* in a trial of a"):
        compare({"a": [1.0]}, {"a": [bad]})


def test_unknown_outcomes_are_taken_both_ways():
    a = {f"t{i}": [True, True] for i in range(9)} | {"t9": [None, None]}
    b = {f"t{i}": [False, i == 0] for i in range(10)}
    found = compare(a, b)
    assert (found.difference.value, found.verdict) == (None, "A higher")
    failed, passed = compare({**a, "t9": [False] * 2}, b), compare({**a, "t9": [True] * 2}, b)
    assert found.difference.low == failed.difference.low
    assert found.difference.high == max(failed.difference.high, passed.difference.high)
    assert "2 unknown outcomes, taken every way." in found.difference.notes
    torn = compare({"a": [True], "b": [None], "c": [None]}, {"a": [False], "b": [None], "c": [True]})
    assert (torn.verdict, torn.p) == (UNDECIDED, 1)


def test_nothing_known_is_nothing_compared():
    found = compare({"a": [None], "b": [None]}, {"a": [None], "b": [None]})
    assert (found.p, found.difference.low) == (None, None)
    assert "No comparison: 4 values are unknown." in found.difference.notes


def test_unknown_measurements_are_not_guessed():
    found = compare({"a": [1.0, None], "b": [2.0]}, {"a": [1.0], "b": [1.5]})
    assert (found.difference.value, found.p) == (None, None)
    assert (
        "No comparison: 1 values are unknown, and nothing says how large they can be."
        in found.difference.notes
    )


@given(pairs)
def test_swapping_the_systems_turns_the_answer(values):
    a, b = single([x for x, _ in values]), single([y for _, y in values])
    found, turned = compare(a, b), compare(b, a)
    assert turned.difference.value == pytest.approx(-found.difference.value)
    assert (turned.p, turned.p_permutation) == pytest.approx((found.p, found.p_permutation))
    assert (turned.wins, turned.losses, turned.ties) == (found.losses, found.wins, found.ties)
    if found.difference.low is not None:
        assert found.difference.low <= found.difference.value <= found.difference.high
        assert turned.difference.low == pytest.approx(-found.difference.high)
    reordered = compare(dict(reversed(a.items())), b)
    assert reordered == found


def test_no_difference_is_greater_than_the_values_are_apart():
    outcomes = compare({"t1": [True, True], "t2": [False, True]}, {"t1": [False, False], "t2": [False, True]})
    assert (outcomes.difference.low, outcomes.difference.high) == (-1, 1)
    scores = compare(single([0.9, 0.2]), single([0.1, 0.1]), limits=(0.0, 1.0))
    assert (scores.difference.low, scores.difference.high) == (-1, 1)
    free = compare(single([0.9, 0.2]), single([0.1, 0.1]))
    assert free.difference.low < -1 and free.difference.high > 1


def test_an_interval_without_0_beside_an_open_verdict_is_explained():
    a, b = [True] * 5 + [False] * 15, [False] * 20
    found = compare(single(a, bool), single(b, bool))
    assert found.difference.low > 0 and found.p == 0.0625 and found.verdict == UNDECIDED
    assert found.difference.notes.count(AT_ODDS) == 1
    clear = compare(single([True] * 12 + [False] * 8, bool), single(b, bool))
    assert clear.difference.low > 0 and clear.p < 0.05 and AT_ODDS not in clear.difference.notes
