"""Verified progress and what is read off its course (E1, E11)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.errors import JournalError
from seatrial.journal.events import EffectRecorded, TrialEnded
from seatrial.measure.progress import completions_after_failure
from seatrial.spec.task import Goal, Subgoal
from tests.measure.trials import (
    FIVE,
    WITH_REPAIR,
    WITH_REPAIR_CURVE,
    WITHOUT_REPAIR,
    course_measures,
    curve,
    events,
    finished,
    make_task,
    requested,
    row,
    started,
    subgoals,
    verdicts,
)


def test_the_worked_example_of_the_sources():
    task, journal, table = make_task(), events(16), verdicts(WITH_REPAIR)
    assert curve(task, journal, table) == WITH_REPAIR_CURVE
    measures = course_measures(task, journal, table)
    assert measures.regression_depth == 0.2
    # Three steps (9, 10, 11) at 0.4 below the peak of 0.6; from 12 on it stands at the peak again.
    assert measures.regression_area == 0.6
    assert (measures.first_half_step, measures.first_ninety_step, measures.first_full_step) == (7, 15, 15)
    assert measures.repeat_completions == 1
    assert measures.drift_actions == measures.actions_after_full == 1
    assert measures.broken_after_full is False


def test_without_the_repair_it_ends_at_four_fifths():
    task, journal, table = make_task(), events(16), verdicts(WITHOUT_REPAIR)
    assert curve(task, journal, table)[-1] == (15, 0.8)
    measures = course_measures(task, journal, table)
    assert measures.max_progress == 0.8
    assert measures.first_full_step is None
    assert measures.repeat_completions == 0


def test_weights_count_and_prerequisites_hold_credit_back():
    task = make_task(subgoals({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}))
    table = verdicts({1: {"a": "pass"}, 2: {"b": "pass"}, 3: {"c": "pass"}}, ["a", "b", "c", "d"])
    assert curve(task, events(4), table) == [(0, 0), (1, 0.1), (2, 0.3), (3, 0.6)]
    chain = make_task([Subgoal(id="a", verifier="v"), Subgoal(id="b", verifier="v", after=["a"])])
    early = verdicts({1: {"b": "pass"}, 3: {"a": "pass"}}, ["a", "b"])
    assert curve(chain, events(4), early) == [(0, 0), (3, 1.0)]


def test_a_new_goal_renormalises_the_weights():
    task = make_task(
        [
            Subgoal(id="a", verifier="v", goals=[1]),
            Subgoal(id="b", verifier="v"),
            Subgoal(id="c", verifier="v", goals=[2]),
        ],
        goal=[Goal(instruction="i"), Goal(version=2, instruction="j", relation="replace")],
    )
    journal = [started(), requested(1), finished(1), requested(2), finished(2)]
    change = EffectRecorded(pre="p", post="p", goal_version=2)
    journal += [
        change,
        requested(3, goal_version=2),
        finished(3),
        TrialEnded(stop_reason="finished", fingerprint="f"),
    ]
    table = verdicts({1: {"a": "pass", "b": "pass"}}, ["a", "b", "c"], goal_version=2)
    assert curve(task, journal, table) == [(0, 0), (1, 1.0), (2, 0.5)]


def test_complete_then_broken_is_seen():
    table = verdicts({1: dict.fromkeys(FIVE, "pass"), 3: {"s2": "fail"}})
    measures = course_measures(make_task(), events(5), table)
    assert measures.broken_after_full is True
    assert measures.first_full_step == 1
    assert measures.actions_after_full == 4


def test_an_unknown_verdict_makes_null_what_it_could_change_and_nothing_else():
    table = verdicts({1: {"s1": "pass", "s2": "pass"}, 2: {"s3": "unknown"}, 3: {"s3": "pass", "s4": "pass"}})
    measures = course_measures(make_task(), events(5), table)
    assert curve(make_task(), events(5), table) == [(0, 0), (1, 0.4), (3, 0.8)]
    assert measures.first_half_step is None, "it may have been step 2"
    assert measures.max_progress == 0.8
    assert measures.regression_depth is None
    assert measures.drift_actions is None


def test_an_error_the_product_triggers_is_not_passed_and_any_other_error_is_unknown():
    rows = [row(name, 0, "fail") for name in FIVE]
    own = course_measures(make_task(), events(3), verdicts({}, rows=[*rows, row("s1", 1, "error")]))
    theirs = course_measures(
        make_task(), events(3), verdicts({}, rows=[*rows, row("s1", 1, "error", product_triggered=True)])
    )
    assert own.max_progress is None
    assert theirs.max_progress == 0


@pytest.mark.parametrize(
    ("course", "count"),
    [
        ([False, True], 0),
        ([False, True, False, True, False, True], 2),
        ([True, None, True], None),
        ([True, None, False, True], 1),
        ([True, False], 0),
    ],
)
def test_repeat_completions_count_pass_fail_pass(course, count):
    assert completions_after_failure(course) == count


def test_only_the_final_state_judged_says_nothing_of_the_way_there():
    table = verdicts(WITH_REPAIR, every_step=False)
    assert curve(make_task(), events(16), table) == [(16, 1.0)]
    assert course_measures(make_task(), events(16), table).max_progress is None


def test_nothing_judged_has_no_curve():
    assert curve(make_task(), events(3), verdicts({}, rows=[], final={})) == []


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (verdicts({30: {"s1": "pass"}}), "step 30"),
        (verdicts({}, [*FIVE, "s9"]), "s9"),
        (verdicts({}, goal_version=2), "goal version 2"),
    ],
)
def test_a_stale_verdict_table_is_refused(table, word):
    with pytest.raises(JournalError, match=word):
        curve(make_task(), events(16), table)


COURSES = st.dictionaries(
    st.integers(0, 20), st.dictionaries(st.sampled_from(FIVE), st.sampled_from(["pass", "fail"]), min_size=1)
)


@given(COURSES)
def test_progress_stays_in_bounds_and_depth_is_zero_exactly_when_it_never_falls(moves):
    points = curve(make_task(), events(20), verdicts(moves))
    measures = course_measures(make_task(), events(20), verdicts(moves))
    values = [value for _, value in points]
    assert all(0 <= value <= 1 for value in values)
    assert points[0][0] == 0
    assert all(a != b for a, b in pairwise(values)), "only changes are listed"
    monotone = values == sorted(values)
    assert (measures.regression_depth == 0) == monotone
    assert (measures.regression_area == 0) == monotone
    assert measures.max_progress == max(values)


@given(COURSES, st.dictionaries(st.integers(0, 20), st.sampled_from(FIVE), min_size=1))
def test_unknown_verdicts_never_raise_the_curve(moves, hidden):
    known = dict(curve(make_task(), events(20), verdicts(moves)))
    blurred = {step: dict(change) for step, change in moves.items()}
    for step, name in hidden.items():
        if name in blurred.get(step, {}):
            blurred[step][name] = "unknown"
    lower = dict(curve(make_task(), events(20), verdicts(blurred)))
    high = low = 0.0
    for step in range(21):
        high, low = known.get(step, high), lower.get(step, low)
        assert low <= high
