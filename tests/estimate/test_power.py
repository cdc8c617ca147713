"""Sample size (F14, F25): known answers, inverses, simulation, and tasks before repeats."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.power import (
    Pilot,
    TrialSpread,
    detectable_difference,
    paired_tasks,
    pilot_spread,
    plan_trials,
    unpaired_tasks,
)
from tests.estimate.gold import gold


def test_paired_gives_the_known_answer_and_its_inverse():
    case = gold("miller_power")
    spread = TrialSpread(between=case.given["omega2"])
    n = paired_tasks(case.given["delta"], spread, case.given["alpha"], case.given["power"])
    assert n == case.expected["n_ceil"]
    assert detectable_difference(n, spread) <= case.given["delta"] < detectable_difference(n - 1, spread)
    real = (case.given["delta"] / detectable_difference(1, spread)) ** -2
    assert real == pytest.approx(case.expected["n"], abs=1e-6)


def test_repeats_only_lower_the_noise_of_trials():
    def tasks(k):
        return paired_tasks(
            0.1, TrialSpread(between=0.04, within_a=0.2, within_b=0.2, trials_a=k, trials_b=k)
        )

    assert tasks(1) > tasks(4) > tasks(1000) >= paired_tasks(0.1, TrialSpread(between=0.04))


def test_unpaired_needs_more_where_trials_of_a_task_are_alike():
    # Fleiss (1981) without continuity correction: p = .5 and .7 at 5 % and 80 % need 93 a side.
    assert unpaired_tasks((0.5, 0.7)) == 93
    assert unpaired_tasks((0.7, 0.5)) == 93
    assert unpaired_tasks((0.5, 0.7), 10, icc=0.0) == 10
    assert unpaired_tasks((0.5, 0.7), 10, icc=0.3) == math.ceil(92.998 * 3.7 / 10)
    assert unpaired_tasks((0.5, 0.7), 10, icc=1.0) == 93, "ten of the same say what one does"


def test_the_promised_power_is_there():
    spread = TrialSpread(between=0.05, within_a=0.15, within_b=0.15, trials_a=3, trials_b=3)
    n = paired_tasks(0.1, spread)
    rng = np.random.default_rng(1)
    differences = rng.normal(0.1, math.sqrt(spread.per_task), (4_000, n))
    z = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / math.sqrt(n))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.03)


def test_a_pilot_s_variance_is_split():
    rng = np.random.default_rng(2)
    rates = rng.beta(2, 2, 4_000)
    pilot = pilot_spread({f"t{i:04d}": (rng.random(8) < p).tolist() for i, p in enumerate(rates)})
    assert pilot.between == pytest.approx(0.05, abs=0.012), "the variance of Beta(2, 2)"
    steady = pilot_spread({"a": [True] * 4, "b": [True] * 4})
    assert steady.between == 0 and all(v > 0 for v in steady.within.values()), "never taken as certain"
    for bad in ({"a": [True]}, {"a": [None], "b": [True]}):
        with pytest.raises(ValueError, match="pilot_spread"):
            pilot_spread(bad)


def test_tasks_are_added_first():
    pilot = Pilot(between=0.04, within={"a": 0.25, "b": 0.05})
    plan = plan_trials(pilot, 0.05, tasks_available=500)
    assert plan.tasks == math.ceil((0.04 + 0.15) / 0.05**2) == plan.trials
    assert plan.reached and plan.error <= 0.05 and plan.other_repeats == 1
    assert "tasks are added first" in plan.notes[0]


def test_then_repeats_go_where_variance_is_high():
    pilot = Pilot(between=0.01, within={"a": 0.25, "b": 0.04, "c": 0.0})
    plan = plan_trials(pilot, 0.07, tasks_available=3)
    assert plan.reached and plan.repeats["a"] > plan.repeats["b"] > plan.repeats["c"] == 1
    # In proportion to standard deviations, .5 to .2.
    assert plan.repeats["a"] / plan.repeats["b"] == pytest.approx(2.5, rel=0.2)
    mixed = plan_trials(pilot, 0.07, tasks_available=4)
    assert mixed.reached and mixed.other_repeats > 1
    assert mixed.trials == sum(mixed.repeats.values()) + mixed.other_repeats


def test_what_no_repeats_can_reach_is_said():
    plan = plan_trials(Pilot(between=0.2, within={"a": 0.25, "b": 0.25}), 0.05, tasks_available=10)
    assert not plan.reached and "Add tasks." in plan.notes[-1]
    short = plan_trials(Pilot(between=0.0, within={"a": 0.25, "b": 0.25}), 0.01, 2, most_repeats=5)
    assert not short.reached and short.repeats == {"a": 5, "b": 5}
    assert "most repeats allowed" in short.notes[-1]


variances = st.lists(st.floats(0, 0.25), min_size=2, max_size=8)


@given(st.floats(0, 0.05), variances, st.floats(0.02, 0.3), st.integers(0, 20))
def test_a_plan_that_says_reached_reaches(between, within, wanted, more):
    pilot = Pilot(between=between, within={f"t{i}": v for i, v in enumerate(within)})
    plan = plan_trials(pilot, wanted, len(within) + more)
    assert plan.reached == (plan.error <= wanted * (1 + 1e-9))
    assert plan.tasks <= len(within) + more and min(plan.repeats.values()) >= 1
    if not plan.reached:
        most = max(plan.repeats.values())
        assert most == 100 or "Add tasks." in plan.notes[-1]


def test_bad_arguments_are_refused():
    spread = TrialSpread(between=0.1)
    for difference in (0.0, math.nan):
        with pytest.raises(ValueError, match="power"):
            paired_tasks(difference, spread)
    with pytest.raises(ValueError, match="power"):
        paired_tasks(0.1, spread, alpha=0)
    with pytest.raises(ValueError, match="power"):
        paired_tasks(0.1, TrialSpread(between=-1))
    with pytest.raises(ValueError, match="detectable"):
        detectable_difference(0, spread)
    for rates, icc in (((0.5, 0.5), 0), ((0.0, 0.5), 0), ((0.4, 0.5), 2)):
        with pytest.raises(ValueError, match=r"power|unpaired"):
            unpaired_tasks(rates, 2, icc)
    with pytest.raises(ValueError, match="plan_trials"):
        plan_trials(Pilot(between=0, within={"a": 0.1, "b": 0.1}), 0.1, 1)
