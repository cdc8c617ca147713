"""The replay of disturbed trials, against trials worked out by hand and against closed forms over seeds."""

from collections import Counter

import pytest

from benchmarks.disturbed_replay import disturbed_truth
from benchmarks.disturbed_runs import config_of
from benchmarks.disturbed_studies import CLASH, GOAL, HALF, POINTS, RATE, implied, measure_of
from benchmarks.disturbed_task import ORDER, write_disturbed
from benchmarks.shadow import Offered, Shadow
from benchmarks.truth_runs import cell
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task

SEEDS = 600
BELIEF = Offered(belief=True)
ALERT = {"reread": 1.0, "detection": 1.0, "obey": 1.0}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(write_disturbed(tmp_path_factory.mktemp("disturbed") / "small"))


@pytest.fixture
def truth(task):
    def of(arm, seed=1, offered=BELIEF, **options):
        return disturbed_truth(config_of(task, options), seed, arm, offered)

    return of


@pytest.fixture
def moves(task):
    def of(arm, offered=BELIEF, **options):
        course = Shadow(config_of(task, options), 1, arm, offered).play()
        return [f"{deed.move.kind} {deed.move.subgoal}".strip() for deed in course.deeds]

    return of


def test_the_task_is_clean_and_its_plan_follows_its_order(task):
    assert lint_task(task) == []
    assert [step.subgoal for step in task.plan.step] == list(ORDER)


def test_undisturbed_it_does_the_first_goal(moves, truth):
    assert moves("baseline") == [f"do {name}" for name in ORDER if name not in ("new", "apart")] + ["finish"]
    known = truth("baseline")
    assert (known.strict_success, known.actions, known.delivered, known.fired_step) == (True, 10, None, None)
    assert (known.recovered, known.killed_step, known.adoption_step, known.goal_final) == (
        None,
        None,
        None,
        1,
    )


def test_a_changed_rate_that_is_noticed(moves, truth):
    assert moves(RATE, **ALERT) == [
        "do local-1", "look", "do part-1", "look", "do part-2", "do paid", "look", "belief", "do part-1",
        "do part-2", "do part-3", "look", "do part-4", "look", "do part-5", "do old", "do local-2", "finish",
    ]  # fmt: skip
    known = truth(RATE, **ALERT)
    assert (known.fired_step, known.observed_step, known.understood_step) == (5, 7, 8)
    assert (known.repaired_step, known.recovered_step, known.recovery_cost) == (10, 10, 5.0)
    assert (known.strict_success, known.recovered, known.delivered) == (True, True, True)


def test_a_changed_rate_that_is_seen_and_not_noticed_or_never_looked_at(truth):
    seen, unseen = truth(RATE, reread=1.0), truth(RATE, detection=1.0)
    for known in (seen, unseen):
        assert (known.recovered, known.recovered_step, known.strict_success) == (False, None, False)
        assert (known.understood_step, known.local_right) == (None, True)
    assert (seen.detected, seen.observed_step, unseen.detected) == (True, 7, False)
    assert (seen.looks, unseen.looks) == (3, 0)


def test_a_changed_goal_is_obeyed_or_not(truth):
    obeyed, ignored = truth(GOAL, obey=1.0), truth(GOAL)
    assert (obeyed.strict_success, obeyed.adoption_step, obeyed.residue_actions) == (True, 9, 0)
    assert (ignored.strict_success, ignored.adoption_step, ignored.residue_actions) == (False, None, 1)
    assert (obeyed.goal_final, ignored.goal_final) == (2, 2)
    assert (obeyed.understood_step, ignored.understood_step) == (6, None)


def test_a_conflict_is_surfaced_obeyed_or_passed_over(moves, truth):
    begun = ["do local-1", "do part-1", "do part-2", "do paid", "do part-3"]
    assert moves(CLASH, surfaces=1.0) == [*begun, "surface"]
    assert moves(CLASH, obey=1.0) == [*begun, "belief", "do apart", "finish"]
    said, obeyed, ignored = truth(CLASH, surfaces=1.0), truth(CLASH, obey=1.0), truth(CLASH)
    assert (said.conflict_detected, said.strict_success, said.recovered) == (True, True, True)
    assert (obeyed.conflict_detected, obeyed.strict_success, obeyed.recovered) == (False, False, False)
    assert (ignored.conflict_detected, ignored.strict_success, ignored.goal_final) == (False, False, 3)
    assert (said.residue_actions, obeyed.residue_actions, ignored.residue_actions) == (0, 0, 4)
    assert (said.adopted, said.understood_step, obeyed.understood_step) == (None, None, 6)


@pytest.mark.parametrize(
    ("retry", "paid_twice", "actions"),
    [("idempotent", 0, 11), ("query", 0, 11), ("blind", 1, 11), ("never", 0, 10)],
)
def test_a_lost_acknowledgement(truth, retry, paid_twice, actions):
    known = truth("perturbed:ack-lost", retry=retry)
    assert (known.duplicate_effects, known.actions) == (paid_twice, actions)
    assert known.strict_success is (paid_twice == 0)


# Effects beyond the first payment with a checkpoint before every action, by retry and point.
TWICE = {
    "idempotent": (0, 0, 0, 0),
    "query": (0, 0, 0, 0),
    "blind": (0, 0, 1, 0),
    "never": (0, 0, 0, 0),
}


@pytest.mark.parametrize("retry", TWICE)
def test_kills_around_the_payment(truth, retry):
    arms = [f"interrupted:{point}" for point in POINTS]
    known = [truth(f"{arm}:structured", retry=retry, checkpoint=1.0) for arm in arms]
    assert tuple(one.duplicate_effects for one in known) == TWICE[retry]
    # Who never retries leaves out what the kill kept from happening.
    assert [one.strict_success for one in known] == [
        retry != "never", retry != "never", retry != "blind", retry != "never",
    ]  # fmt: skip
    assert {one.killed_step for one in known} == {4}
    # Without a checkpoint all is done again; only a key or the service tells that it was paid before.
    again = [truth(f"{arm}:none", retry=retry) for arm in arms]
    twice = 1 if retry in ("blind", "never") else 0
    assert [one.duplicate_effects for one in again] == [twice, 0, twice, twice]
    # A payment that its key answers, or that the service shows, is not done again.
    assert [one.redone_actions for one in again] == ([4, 3, 4, 4] if twice else [3, 3, 3, 3])


def test_memory_stands_in_for_a_checkpoint(truth):
    remembering = Offered(memory=True)
    arm = "interrupted:after_effect_before_ack:none"
    kept = truth(arm, offered=remembering, memory=True, retry="idempotent")
    lost = truth(arm, offered=remembering, retry="idempotent")
    assert (kept.redone_actions, lost.redone_actions) == (0, 3)
    assert kept.strict_success and lost.strict_success


def test_a_checkpoint_that_is_cut_is_of_no_use(truth):
    cut = truth(
        "interrupted:before_effect:structured",
        checkpoint=1.0,
        retry="idempotent",
        offered=Offered(state_bytes=40),
    )
    assert (cut.redone_actions, cut.strict_success) == (3, True)


def test_means_over_seeds_lie_within_sampling_error_of_what_was_set(truth):
    for (arm, measure), should in implied().items():
        values = [measure_of(truth(arm, seed, **HALF), measure) for seed in range(SEEDS)]
        found = cell("half", measure, should, [value for value in values if value is not None], level=0.9999)
        assert found.inside, found


def test_costs_are_those_of_the_looks_that_it_took(truth):
    costs = Counter(truth(RATE, seed, **HALF).recovery_cost for seed in range(SEEDS))
    assert set(costs) == {5.0, 7.0, 9.0, None}
