"""Effects at one state, against what can be worked out by hand."""

import math

import pytest

from seatrial.estimate.fork_effect import (
    STATES,
    UNIT,
    amount_effect,
    counted_once,
    outcome_effect,
    over_states,
    rate_of_forks,
)
from seatrial.estimate.mcnemar import newcombe_paired
from seatrial.estimate.rates import wilson


def test_a_rate_has_wilsons_interval_and_speaks_of_this_state() -> None:
    found = rate_of_forks([True, True, False, True])
    assert found.value == 0.75
    assert (found.low, found.high) == wilson(3, 4)
    assert found.unit == UNIT
    assert "This state only" in found.notes[0]


def test_an_unknown_outcome_is_taken_both_ways() -> None:
    found = rate_of_forks([True, None, False])
    assert found.value is None
    assert (found.low, found.high) == (wilson(1, 3)[0], wilson(2, 3)[1])


def test_without_a_fork_nothing_is_known() -> None:
    assert rate_of_forks([]).value is None
    assert outcome_effect([]).low is None
    assert amount_effect([]).notes == ["No pair of forks has ended."]


def test_an_effect_on_outcomes_is_newcombes_on_pairs() -> None:
    pairs = [(True, True), (False, True), (False, True), (False, False), (True, False)]
    found = outcome_effect(pairs)
    assert found.value == pytest.approx(-0.2)
    assert (found.low, found.high) == newcombe_paired(1, 1, 2, 1)
    assert found.n_trials == 10


def test_a_sure_effect_is_told_from_none_and_none_from_a_sure_one() -> None:
    sure, none = outcome_effect([(False, True)] * 10), outcome_effect([(True, True)] * 10)
    assert sure.value == -1.0
    assert sure.high is not None
    assert sure.high < 0
    assert none.value == 0.0
    assert none.low is not None
    assert none.low < 0


def test_an_unknown_pair_stretches_the_interval_over_both() -> None:
    known = outcome_effect([(True, False), (True, True), (True, False)])
    unknown = outcome_effect([(True, False), (True, True), (None, False)])
    assert unknown.value is None
    assert known.high == unknown.high
    assert unknown.low is not None
    assert known.low is not None
    assert unknown.low < known.low


def test_an_effect_on_an_amount_is_t_on_differences() -> None:
    found = amount_effect([(3.0, 1.0), (5.0, 1.0), (4.0, 1.0)])
    assert found.value == pytest.approx(3.0)
    assert found.low == pytest.approx(3.0 - 4.302653 / math.sqrt(3), abs=1e-5)
    assert found.high == pytest.approx(3.0 + 4.302653 / math.sqrt(3), abs=1e-5)


@pytest.mark.parametrize("pairs", [[(2.0, 1.0)], [(2.0, 1.0), (3.0, 2.0)]])
def test_what_does_not_vary_gets_no_interval(pairs: list[tuple[float, float]]) -> None:
    found = amount_effect(pairs)
    assert found.value == 1.0
    assert found.low is None
    assert "No interval" in found.notes[-1]


def test_an_unknown_amount_makes_the_effect_unknown_and_a_missing_one_is_counted() -> None:
    pairs = [(2.0, 1.0), (None, 2.0), (5.0, 2.0)]
    assert amount_effect(pairs).value is None
    found = amount_effect(pairs, undefined="did not succeed")
    assert found.value == 2.0
    assert found.n_trials == 4
    assert "Over 2 of 3 pairs" in found.notes[1]


def test_effects_of_drawn_states_are_averaged() -> None:
    found = over_states([0.0, -1.0, -0.5], "12 trials")
    assert found.value == pytest.approx(-0.5)
    assert found.unit == STATES
    assert found.n_trials == 3
    assert over_states([0.0, None], "t").value is None
    assert over_states([0.5], "t").low is None


def test_copies_are_one_observation_without_an_interval() -> None:
    rate = counted_once(rate_of_forks([True] * 3), 3, 1)
    assert (rate.value, rate.low, rate.high, rate.n_trials) == (1, None, None, 1)
    assert rate.notes[-1] == "No interval: 3 copies of one trial count once."
    for all_of_them in (outcome_effect([(True, False)] * 3), amount_effect([(4.0, 3.0)] * 3)):
        effect = counted_once(all_of_them, 3, 2)
        assert (effect.value, effect.low, effect.high, effect.n_trials) == (1, None, None, 2)
        assert [note for note in effect.notes if note.startswith("No interval")] == [rate.notes[-1]]
    assert "would be a copy" in counted_once(rate_of_forks([False]), 1, 1).notes[-1]
    assert counted_once(rate, 0, 1) is rate
