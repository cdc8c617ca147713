"""Kaplan–Meier (F6): known answers, undefined medians said so, intervals over tasks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.endings import Ending, life_table, one_sample, survival_curves
from seatrial.estimate.survival import kaplan_meier, survival_at, survival_quantile
from tests.estimate.endings import endings, repeated
from tests.estimate.gold import gold

CASE = gold("kaplan_meier_6mp")
SIX_MP = endings(CASE.given["time"], CASE.given["event"])


def rng(seed=1):
    return np.random.default_rng(seed)


def test_the_curve_gives_the_known_answers():
    curve = kaplan_meier(SIX_MP, rng())
    assert curve.places == [float(place) for place in CASE.expected]
    for step, expected in enumerate(CASE.expected.values()):
        found = (
            curve.values[step],
            curve.errors[step],
            curve.analytic_lows[step],
            curve.analytic_highs[step],
        )
        assert found == pytest.approx(
            [expected[key] for key in ("S", "greenwood_se", "loglog_lo", "loglog_hi")], abs=CASE.tolerance
        )
    assert (curve.n_events, curve.n_censored, curve.n_trials, curve.watched_until) == (9, 12, 21, 35)
    assert (curve.at_risk[0], curve.events[0]) == (21, 3)


def test_the_median_and_its_interval_are_the_known_ones():
    # The interval: lifelines 0.30 median_survival_times(KaplanMeierFitter().fit(T, E).confidence_interval_).
    median = survival_quantile(SIX_MP, 0.5, rng())
    assert (median.estimate.value, median.analytic) == (23, (13, math.inf))
    assert median.estimate.low < 23 < median.estimate.high
    assert median.draws_unreached > 0
    assert any("never get there" in note for note in median.estimate.notes)


def test_a_quantile_that_is_not_reached_is_null_and_says_how_far_it_got():
    found = survival_quantile(endings([1, 2, 3], [0, 0, 0]), 0.5, rng())
    assert (found.estimate.value, found.draws_unreached) == (None, found.draws)
    assert any("Unreached: 0 have ended by 3" in note for note in found.estimate.notes)
    late = survival_quantile(endings([1, 2, 3, 4], [1, 0, 0, 0]), 0.5, rng())
    assert late.estimate.value is None and late.estimate.high == math.inf
    # An event at the very end of the watched time reaches it after all.
    assert survival_quantile(endings([1, 2, 3], [0, 0, 1]), 0.5, rng()).estimate.value == 3


def test_without_censoring_it_is_the_share_still_running():
    times = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    curve = kaplan_meier(endings(times, [1] * 8), rng())
    assert curve.values == pytest.approx([np.mean(np.array(times) > place) for place in curve.places])


def test_no_event_and_no_trial_are_said_so():
    quiet = kaplan_meier(endings([1, 2], [0, 0]), rng())
    assert (quiet.places, quiet.values, quiet.n_censored) == ([], [], 2)
    assert any("No event" in note for note in quiet.notes)
    assert kaplan_meier({}, rng()).notes == ["No valid trial."]
    assert survival_quantile({"a": []}, 0.5, rng()).estimate.notes[0] == "No valid trial."
    assert survival_at({}, 1.0, rng()).estimate.value is None


def test_one_task_has_the_analytic_interval_labelled():
    found = survival_at({"a": [Ending(float(i), "success") for i in range(1, 9)]}, 4.0, rng())
    assert found.estimate.value == 0.5 and found.analytic == (found.estimate.low, found.estimate.high)
    assert "this task only" in found.estimate.unit
    curve = kaplan_meier({"a": [Ending(1.0, "x"), Ending(2.0, "x")]}, rng())
    assert curve.lows == [None, None] and any("One task" in note for note in curve.notes)


def test_a_place_beyond_the_watched_time_is_unknown_unless_all_have_ended():
    assert survival_at(SIX_MP, 35.0, rng()).estimate.value == pytest.approx(CASE.expected["23"]["S"])
    late = survival_at(SIX_MP, 36.0, rng()).estimate
    assert late.value is None and late.low is None
    assert any("Unknown at 36" in note for note in late.notes)
    assert survival_at(endings([1, 2], [1, 2]), 50.0, rng()).estimate.value == 0
    assert survival_at(SIX_MP, 0.0, rng()).estimate.value == 1


def test_the_interval_over_tasks_is_wider_where_trials_of_a_task_are_alike():
    found = survival_at(repeated(rng(3), 25, 8, spread=2.0), 5.0, rng())
    clustered = found.estimate.high - found.estimate.low
    assert clustered > 1.5 * (found.analytic[1] - found.analytic[0])


def test_with_one_trial_a_task_both_intervals_agree():
    found = survival_at(repeated(rng(3), 300, 1), 5.0, rng())
    assert (found.estimate.low, found.estimate.high) == pytest.approx(found.analytic, abs=0.02)


def test_tasks_count_once_each_unless_asked_otherwise():
    uneven = {"a": [Ending(1.0, "x")] * 9, "b": [Ending(2.0, "x")]}
    assert kaplan_meier(uneven, rng()).values == pytest.approx([0.5, 0])
    by_trials = kaplan_meier(uneven, rng(), weigh="trials")
    assert by_trials.values == pytest.approx([0.1, 0]) and by_trials.analytic_lows[0] is not None
    by_tasks = kaplan_meier(uneven, rng())
    assert by_tasks.analytic_lows == [None, None]
    assert any("no analytic interval" in note for note in by_tasks.notes)


def test_other_causes_may_count_as_censored():
    mixed = endings([1, 2, 3, 4], [1, 2, 1, 0])
    curve = kaplan_meier(mixed, rng(), cause="success")
    assert curve.values == pytest.approx([0.75, 0.75, 0.375]) and curve.n_events == 2
    assert curve.analytic_lows[0] is not None
    assert any("count as censored" in note for note in curve.notes)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_places_are_refused(bad):
    with pytest.raises(ValueError, match="a trial of a ended at"):
        kaplan_meier({"a": [Ending(bad, None)]}, rng())
    with pytest.raises(ValueError, match="weigh"):
        kaplan_meier(SIX_MP, rng(), weigh="runs")
    with pytest.raises(ValueError, match="share"):
        survival_quantile(SIX_MP, 1.0, rng())
    with pytest.raises(ValueError, match="draws"):
        kaplan_meier(SIX_MP, rng(), draws=0)


trials = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 6), st.sampled_from([None, "success", "gave up"])),
    min_size=1,
    max_size=25,
)


def by_task(drawn):
    found = {}
    for task, at, cause in drawn:
        found.setdefault(task, []).append(Ending(float(at), cause))
    return found


@given(trials, st.integers(0, 2**32 - 1))
def test_a_draw_is_the_curve_of_the_drawn_copies(drawn, seed):
    given_ends = by_task(drawn)
    table = life_table(given_ends, "test", "trials")
    copies = np.random.default_rng(seed).integers(0, 3, len(table.tasks))
    copies[0] += 1
    written = {
        f"{task}{copy}": given_ends[task]
        for task, count in zip(table.tasks, copies, strict=True)
        for copy in range(count)
    }
    alone = life_table(written, "test", "trials")
    curve = survival_curves(table, copies[None].astype(float))[0]
    again = survival_curves(alone, one_sample(alone))[0]
    assert curve[np.isin(table.places, alone.places)] == pytest.approx(again)


@given(trials)
def test_curves_fall_and_know_no_order(drawn):
    found = kaplan_meier(by_task(drawn), rng(), draws=50)
    assert all(a >= b for a, b in zip([1.0, *found.values], found.values, strict=False))
    assert kaplan_meier(by_task(drawn[::-1]), rng(), draws=50) == found
