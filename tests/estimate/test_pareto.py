"""The frontier of success and cost (F7): the gate first, and how sure dominance is."""

import math

import numpy as np
import pytest

from seatrial.estimate.pareto import Candidate, pareto
from tests.estimate.gold import single


def candidate(successes, cost, tasks=20, broken=None):
    outcomes = single([i < successes for i in range(tasks)], bool)
    violations = None if broken is None else single([i < broken for i in range(tasks)], bool)
    return Candidate(outcomes=outcomes, costs=single([cost] * tasks), violations=violations)


def points(systems, gate=None, draws=2_000):
    return {p.system: p for p in pareto(systems, np.random.default_rng(5), gate, draws=draws)}


def test_what_another_beats_on_both_axes_is_off_the_frontier():
    found = points({"dear": candidate(15, 9.0), "cheap": candidate(10, 1.0), "beaten": candidate(9, 2.0)})
    assert {name: p.on_frontier for name, p in found.items()} == {
        "dear": True,
        "cheap": True,
        "beaten": False,
    }
    assert found["beaten"].dominated_by == ["cheap"]
    assert found["cheap"].dominates["beaten"] > 0.95, "cheap never does worse on any task"
    # Only where a sample leaves out all five tasks that cost more and gain: (15/20)^20.
    assert found["cheap"].dominates["dear"] == pytest.approx(0.75**20, abs=0.004)
    assert found["dear"].dominates["cheap"] == 0
    assert found["dear"].frontier_probability == 1 - found["cheap"].dominates["dear"]
    assert list(found) == ["dear", "cheap", "beaten"], "by falling success"


def test_unknown_costs_are_counted_in_attempts_not_in_tasks():
    costs = {"a": [1.0, None], "b": [1.0] * 3, "c": [1.0] * 2}
    outcomes = {"a": [True, False], "b": [True] * 3, "c": [False] * 2}
    cost = points({"one": Candidate(outcomes=outcomes, costs=costs)})["one"].cost
    assert (cost.value, cost.unit, cost.n_tasks, cost.n_trials) == (None, "tasks", 3, 7)
    assert "Unknown in 1 of 7 attempts." in cost.notes


def test_dominance_is_paired_on_the_drawn_tasks():
    # Each wins on tasks of its own: which one is ahead is a toss.
    a = Candidate(outcomes=single([i % 2 == 0 for i in range(20)], bool), costs=single([1.0] * 20))
    b = Candidate(outcomes=single([i % 2 == 1 for i in range(20)], bool), costs=single([1.0] * 20))
    found = points({"a": a, "b": b}, draws=10_000)
    assert found["a"].dominates["b"] == pytest.approx(found["b"].dominates["a"], abs=0.03)
    # P(Binomial(20, ½) > 10), the exact law of the drawn difference.
    assert found["a"].dominates["b"] == pytest.approx(0.4119, abs=0.02)
    assert found["a"].on_frontier and found["b"].on_frontier, "equal ones do not dominate each other"


def test_a_system_that_breaks_the_gate_is_never_on_the_frontier_and_beats_none():
    systems = {"rash": candidate(20, 0.1, broken=10), "safe": candidate(10, 1.0, broken=0)}
    found = points(systems, gate=0.1)
    assert (found["rash"].passes_gate, found["rash"].on_frontier) == (False, False)
    assert found["rash"].frontier_probability == 0 and "Breaks the gate" in found["rash"].notes[0]
    assert found["rash"].gate_probability < 0.01
    assert (found["safe"].passes_gate, found["safe"].on_frontier, found["safe"].dominated_by) == (
        True,
        True,
        [],
    )
    assert found["safe"].frontier_probability == 1


def test_violations_are_a_third_axis():
    systems = {"a": candidate(15, 1.0, broken=5), "b": candidate(14, 2.0, broken=0)}
    assert points(systems)["b"].on_frontier
    without = {name: Candidate(outcomes=c.outcomes, costs=c.costs) for name, c in systems.items()}
    assert not points(without)["b"].on_frontier


def test_failed_and_repeated_attempts_are_paid_for():
    once = Candidate(outcomes={"a": [True], "b": [False]}, costs={"a": [1.0, 2.0], "b": [1.0]})
    assert points({"x": once})["x"].cost.value == 2


def test_what_is_unknown_is_shown_without_a_place():
    unsure = candidate(5, 1.0)
    unsure = Candidate(outcomes={**unsure.outcomes, "t000": [None]}, costs=unsure.costs)
    unpaid = candidate(19, 1.0)
    unpaid = Candidate(outcomes=unpaid.outcomes, costs={**unpaid.costs, "t000": [None]})
    found = points({"known": candidate(10, 1.0), "unsure": unsure, "unpaid": unpaid})
    assert found["unsure"].on_frontier is None and found["unsure"].notes == [
        "Not placed: 1 outcomes are unknown."
    ]
    assert found["unpaid"].on_frontier is None and found["unpaid"].cost.value is None
    assert found["known"].on_frontier is None, "the unpaid one may be cheaper"
    assert all(p.on_frontier is None for p in points({"unsure": unsure}).values())
    blind = candidate(10, 1.0, broken=0)
    blind = Candidate(
        outcomes=blind.outcomes, costs=blind.costs, violations={**blind.violations, "t000": [None]}
    )
    gated = points({"blind": blind, "seen": candidate(9, 1.0, broken=0)}, gate=0.5)
    assert gated["blind"].passes_gate is None and gated["seen"].passes_gate


def test_what_cannot_be_compared_is_refused():
    one = candidate(5, 1.0)
    with pytest.raises(ValueError, match="no system"):
        points({})
    with pytest.raises(ValueError, match="compare the same tasks"):
        points({"a": one, "b": candidate(5, 1.0, tasks=19)})
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="pareto"):
            points({"a": candidate(5, bad)})
    with pytest.raises(ValueError, match="needs to know the violations"):
        points({"a": one}, gate=0.1)
    with pytest.raises(ValueError, match="no task"):
        points({"a": Candidate(outcomes={}, costs={})})
    with pytest.raises(ValueError, match="not a rate"):
        points({"a": candidate(5, 1.0, broken=0)}, gate=2)


def test_the_same_seed_gives_the_same_points():
    systems = {"a": candidate(12, 2.0), "b": candidate(11, 1.0)}
    assert points(systems) == points(dict(reversed(systems.items())))


def unsure(known, unknown, cost, tasks=20):
    outcomes = [True] * known + [None] * unknown + [False] * (tasks - known - unknown)
    return Candidate(outcomes=single(outcomes, lambda v: v), costs=single([cost] * tasks))


def test_a_rival_without_a_place_leaves_open_what_it_may_beat():
    found = points({"b": unsure(8, 8, 1.0), "a": candidate(10, 2.0)})
    assert (found["a"].on_frontier, found["a"].frontier_probability) == (None, None)
    assert "by what is unknown of b" in found["a"].notes[0] and found["b"].on_frontier is None
    dearer = points({"b": unsure(8, 8, 3.0), "a": candidate(10, 2.0)})
    assert (dearer["a"].on_frontier, dearer["a"].frontier_probability) == (True, 1.0)


def test_a_rival_that_wins_whatever_is_unknown_beats_all_the_same():
    found = points({"b": unsure(15, 1, 1.0), "a": candidate(10, 2.0)})
    assert (found["a"].on_frontier, found["a"].dominated_by) == (False, ["b"])


def test_an_unknown_cost_is_taken_as_nothing_and_as_more_than_all():
    paid = Candidate(outcomes=single([True] * 20, bool), costs=single([None] + [1.0] * 19, lambda v: v))
    found = points({"b": paid, "a": candidate(10, 0.99), "c": candidate(10, 2.0), "d": candidate(10, 0.5)})
    assert [found[name].on_frontier for name in "acd"] == [False, False, True]
    alone = points({"b": paid, "a": candidate(10, 0.99)})
    assert alone["a"].on_frontier is None
