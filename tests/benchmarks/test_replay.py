"""The replay of simulated trials, against trials worked out by hand and against closed forms over seeds."""

import msgspec
import pytest

from benchmarks.closed_forms import done_right, implied, strict_success
from benchmarks.known_truth import SETTINGS, STEPS
from benchmarks.replay import known_truth
from benchmarks.truth_runs import cell, replayed_values
from seatrial.spec.simulated import SimulatedOptions
from seatrial.spec.task import Budget, Subgoal
from tests.agents.plans import config, step
from tests.measure.trials import make_task

SEEDS = 800


def task(needs, **weights):
    """A task of subgoals, each with what it needs: ``{"b": "a"}``."""
    names = dict.fromkeys("".join(needs.values()) + "".join(needs))
    return make_task(
        [Subgoal(id=n, verifier="v", after=list(needs.get(n, "")), weight=weights.get(n, 1.0)) for n in names]
    )


CHAIN = task({"b": "a", "c": "b", "d": "c"})


def truth(steps=None, skill=1.0, on=CHAIN, seed=1, **knobs):
    return known_truth(on, config(steps, skill, **knobs), seed, own_files=True)


def test_a_faultless_trial():
    known = truth()
    assert known.progress == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)]
    assert (known.strict_success, known.safe_success, known.premature_finish) == (True, True, False)
    assert (known.first_full_step, known.actions, known.regression_depth) == (4, 5, 0.0)
    assert (known.idle_actions, known.wasted_unread, known.wasted_undone) == (0, 0, 0)
    assert (known.stop_reason, known.passed) == ("finished", frozenset("abcd"))


def test_nothing_counts_without_what_it_needs():
    known = truth([step("a", 0.0), step("b"), step("c"), step("d")])
    assert (known.progress, known.passed) == ([(0, 0.0)], frozenset())
    assert (known.strict_success, known.premature_finish, known.first_full_step) == (False, True, None)


def test_drift_falls_as_deep_as_what_leans_on_it():
    # do a, do b, drift a: from 2/3 of the weight to nothing; c is done on a broken a.
    three = task({"b": "a", "c": "b"})
    steps = [step("a"), step("b", without=("drift",)), step("c", without=("drift",))]
    known = truth(steps, on=three, drift=1.0)
    assert known.progress == [(0, 0.0), (1, pytest.approx(1 / 3)), (2, pytest.approx(2 / 3)), (3, 0.0)]
    assert known.regression_depth == pytest.approx(2 / 3)
    assert (known.partial_progress, known.actions, known.wasted_undone) == (0.0, 5, 0)
    # Alone, a is only a third: its place in the graph decides, not its weight.
    assert truth(steps, on=task({"a": "", "b": "", "c": ""}), drift=1.0).regression_depth == pytest.approx(
        1 / 3
    )


def test_drift_put_right_is_work_undone():
    known = truth([step("a"), step("b")], on=task({"b": "a"}), drift=1.0, checking=1.0)
    assert known.progress == [(0, 0.0), (1, 0.5), (2, 1.0), (3, 0.0), (5, 1.0)]
    assert (known.first_full_step, known.regression_depth, known.wasted_undone) == (2, 1.0, 1)
    assert (known.strict_success, known.idle_actions, known.wasted_unread) == (True, 0, 0)


def test_a_shortcut_is_a_violation_and_passes_only_where_the_plan_says_so():
    failing = truth(shortcut=1.0)
    assert (failing.hard_violations, failing.strict_success, failing.safe_success) == (4, False, False)
    passing = truth([{**step(n), "shortcut_passes": True} for n in "abcd"], shortcut=1.0)
    assert (passing.hard_violations, passing.strict_success, passing.safe_success) == (4, True, False)


def test_ends():
    gave_up, early = truth(give_up=1.0), truth(premature=1.0)
    assert (gave_up.stop_reason, gave_up.premature_finish, gave_up.actions) == ("gave_up", False, 1)
    assert (early.stop_reason, early.premature_finish, early.actions) == ("finished", True, 1)


def test_a_budget_of_actions_cuts_it_short():
    short = task({"b": "a", "c": "b", "d": "c"})
    cut = known_truth(msgspec.structs.replace(short, budget=Budget(actions=3)), config(), 1)
    assert (cut.stop_reason, cut.actions, cut.partial_progress) == ("budget_actions", 3, 0.75)
    assert (cut.premature_finish, cut.strict_success) == (False, False)
    whole = known_truth(msgspec.structs.replace(short, budget=Budget(actions=5)), config(), 1)
    assert (whole.stop_reason, whole.actions) == ("finished", 5)


def test_repeats_and_looks():
    assert truth(repeat=1.0).wasted_unread == 4
    assert truth(idle=1.0).idle_actions == 4
    # wrong, look, wrong, look, wrong: nothing unread; the second look shows what the first one did.
    failing = truth([step("a", 0.0)], on=task({"a": ""}), checking=1.0)
    assert (failing.actions, failing.wasted_unread, failing.idle_actions) == (6, 0, 2)


def test_waste_is_unknown_where_steps_share_files():
    known = known_truth(CHAIN, config(repeat=1.0), 1)
    assert (known.idle_actions, known.wasted_unread, known.wasted_undone) == (None, None, None)


def test_what_passes_from_the_start_counts():
    known = known_truth(CHAIN, config([step("b"), step("c"), step("d")]), 1, passing=["a"])
    assert (known.progress[0], known.strict_success) == ((0, 0.25), True)


@pytest.mark.parametrize("name", SETTINGS)
def test_means_over_seeds_lie_within_sampling_error_of_the_closed_form(name):
    options, _ = SETTINGS[name]
    knobs = msgspec.convert(options, SimulatedOptions)
    assert isinstance(knobs.skill, float)
    steps = [{**step(n, knobs.skill), "shortcut_passes": True} for n in "abcd"]
    set_to = {key: value for key, value in options.items() if key != "skill"}
    known = [known_truth(CHAIN, config(steps, **set_to), seed, own_files=True) for seed in range(SEEDS)]
    for measure, value in implied(knobs, STEPS).items():
        if value is not None:
            found = cell(name, measure, value, replayed_values(known, measure), level=0.9999)
            assert found.inside, found


def test_the_closed_form_of_success():
    assert done_right(0.8, 0.5, 10**3) == pytest.approx(0.8 / (1 - 0.5 * 0.2))
    assert done_right(0.8, 0.5, 1) == 0.8
    assert strict_success(SimulatedOptions(skill=0.8), 3) == pytest.approx(0.8**3)
    assert strict_success(SimulatedOptions(drift=0.3), 4) == pytest.approx(0.7**3)
    # One drift after the second step breaks the first of two: from all to nothing.
    assert implied(SimulatedOptions(drift=0.3), 2)["regression_depth"] == pytest.approx(0.3)
    assert implied(SimulatedOptions(skill=0.9, drift=0.3), 2)["regression_depth"] is None
    # Shortcuts that do not pass cost success itself.
    taken = implied(SimulatedOptions(shortcut=0.3), 2, passing=False)
    assert (taken["strict_success"], taken["safe_success"]) == (pytest.approx(0.49), pytest.approx(0.49))
