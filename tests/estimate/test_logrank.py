"""Log-rank: known answer, no events, and repeated trials that are no independent evidence."""

import numpy as np
import pytest

from seatrial.estimate.endings import Ending
from seatrial.estimate.logrank import log_rank
from tests.estimate.endings import endings, repeated
from tests.estimate.gold import gold


def groups(case):
    first = endings(case.given["time_a"], case.given["event_a"])
    second = endings(case.given["time_b"], case.given["event_b"])
    return first, {f"other {task}": ends for task, ends in second.items()}


def test_the_test_gives_the_known_answer():
    case = gold("logrank_6mp")
    found = log_rank(*groups(case))
    assert found.chi2 == pytest.approx(case.expected["chi2"], abs=case.tolerance)
    assert found.p_trials == pytest.approx(case.expected["p"], rel=1e-6)
    assert found.observed == (case.expected["observed_a"], 21)
    assert found.expected[0] == pytest.approx(case.expected["expected_a"], abs=case.tolerance)
    assert sum(found.observed) == pytest.approx(sum(found.expected))


def test_one_trial_a_task_gives_about_the_same_over_tasks():
    found = log_rank(*groups(gold("logrank_6mp")))
    assert found.n_tasks == 42 and found.t_tasks < 0
    assert abs(found.t_tasks) == pytest.approx(found.chi2**0.5, rel=0.2)


def test_turned_round_only_the_sign_changes():
    first, second = groups(gold("logrank_6mp"))
    one, other = log_rank(first, second), log_rank(second, first)
    assert one.chi2 == pytest.approx(other.chi2) and one.t_tasks == pytest.approx(-other.t_tasks)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (endings([1, 2], [0, 0]), endings([1, 2], [0, 2]), "no event in either system"),
        ({}, endings([1, 2], [1, 1]), "one system has no valid trial"),
        ({}, {}, "one system has no valid trial"),
        (endings([1], [0]), endings([2], [1]), "never at risk together"),
    ],
)
def test_where_nothing_can_be_tested_it_says_why(first, second, reason):
    found = log_rank(first, second)
    assert (found.chi2, found.p_trials, found.t_tasks, found.p_tasks) == (None,) * 4
    assert any(reason in note for note in found.notes)


def test_repeated_trials_of_few_tasks_are_not_taken_as_independent():
    """Two systems on tasks of their own: no true difference, yet trials alone reject most of the time."""
    rng, by_trials, by_tasks = np.random.default_rng(7), [], []
    for _ in range(200):
        first, second = repeated(rng, 10, 15, spread=2.0), repeated(rng, 10, 15, spread=2.0)
        found = log_rank(first, {f"other {task}": ends for task, ends in second.items()})
        by_trials.append(found.p_trials < 0.05)
        by_tasks.append(found.p_tasks < 0.05)
    assert np.mean(by_trials) > 0.4
    assert np.mean(by_tasks) < 0.12


def test_systems_that_are_alike_by_task_are_not_told_apart():
    same = repeated(np.random.default_rng(3), 12, 3)
    found = log_rank(same, same)
    assert found.chi2 == pytest.approx(0) and found.p_trials == pytest.approx(1)
    assert found.t_tasks is None or abs(found.t_tasks) < 1e-6


def test_unknown_causes_are_named():
    first = endings([1, 2, 3], [1, 1, 0]) | {"t009": [Ending(2.0, "unknown")]}
    found = log_rank(first, endings([2, 3, 4], [1, 0, 1]))
    assert found.chi2 is not None and any("1 endings of unknown cause" in note for note in found.notes)


def test_impossible_places_are_refused():
    with pytest.raises(ValueError, match="log_rank"):
        log_rank({"a": [Ending(-1.0, None)]}, {})
