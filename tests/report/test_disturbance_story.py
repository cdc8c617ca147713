"""One trial's disturbance in sentences."""

from pathlib import Path

from seatrial.measure.goals import GoalChange
from seatrial.report.disturbance_story import disturbance_story
from seatrial.report.show import trial_detail
from tests.report.test_disturbances import FIRED, MISSED, SEEN, killed, record


def test_a_trial_that_got_over_it(disturbed_run: Path):
    assert trial_detail(disturbed_run, "t-2")["disturbance"] == [
        "limits (state, core) fired at step 2.",
        "The agent saw it at step 5, after 1 uninformed action.",
        "Overcome from step 7 on: 5 actions (detect/locate/restore/redo 3/2/0/0); the declared reference "
        "needs 3.",
        "1 path rested on uninformed work; at the end 0 stand as it left them.",
    ]


def test_a_trial_that_never_saw_it(disturbed_run: Path):
    assert trial_detail(disturbed_run, "t-4")["disturbance"] == [
        "limits (state, core) fired at step 2.",
        "The agent never saw it: 1 uninformed action until the end.",
        "Not overcome.",
        "2 paths rested on uninformed work; at the end 2 stand as it left them.",
        "The chain broke at: observed.",
        "Why it did not succeed: state, from step 2 (confidence 0.8), then verification.",
    ]


def test_what_never_came_about_and_what_was_not_planned(disturbed_run: Path):
    (line,) = trial_detail(disturbed_run, "t-5")["disturbance"]
    assert line == "limits (state, core) was armed and never came about: not delivered."
    assert trial_detail(disturbed_run, "t-1")["disturbance"] == []
    point = record("x", "interrupted:before_effect")
    assert disturbance_story(point) == [
        "The point at which it was to be killed was never reached: not delivered."
    ]


def test_a_placebo_fires_and_that_is_all():
    quiet = record("x", "perturbed:calm", **{**FIRED, "perturbation_kind": "placebo", "firings": 1})
    assert disturbance_story(quiet) == ["limits (placebo) fired at step 2."]


def test_no_damage_is_told_of_what_is_cosmetic():
    ignored = {**FIRED, "strength": "cosmetic", "firings": 1, "detected": False, "recovered": True}
    assert disturbance_story(
        record("x", "perturbed:limits", recovered_step=2, recovery_cost=0.0, **ignored)
    ) == [
        "limits (state, cosmetic) fired at step 2.",
        "The agent never saw it.",
        "It called for no recovery; what it concerns is right at the end.",
    ]
    assert disturbance_story(record("x", "perturbed:limits", **{**ignored, "recovered": None}))[-1] == (
        "It called for no recovery; whether what it concerns is right at the end is unknown."
    )


def test_a_cost_is_divided_only_where_the_parts_add_up_to_it():
    early = {**FIRED, **SEEN, "recovered_step": 4, "recovery_cost": 2.0, "oracle_cost": None}
    told = disturbance_story(record("x", "perturbed:limits", **early))
    assert told[-1] == "Overcome from step 4 on: 2 actions, before it was seen."
    unseen = record("x", "perturbed:limits", **{**early, "detected": False, "observed_step": None})
    assert disturbance_story(unseen)[-1] == "Overcome from step 4 on: 2 actions, without its being seen."


def test_what_rests_on_a_polluted_channel_is_told_as_that():
    read = {**FIRED, **SEEN, "polluted_products": 2, "polluted_left": None}
    told = disturbance_story(record("x", "perturbed:limits", **read))
    assert told[-1] == "2 paths rested on what was planted; at the end unknown stand as it left them."


def test_a_kill_and_what_came_of_it():
    first, second, third = disturbance_story(
        killed("prose", 1, resume_correct_step=None, repeated_effects=2, resumed_from_old_goal=True)
    )
    assert first == "The agent was killed at step 3 (before_effect)."
    assert "no correct action known, 1 actions done again, 2 external effects repeated" in second
    assert third == "It went on for a goal that had changed: a failed recovery."


def test_a_goal_that_changed():
    served = record("x", goal_final=2, adopted=True, adoption_step=4, residue_actions=2)
    assert disturbance_story(served) == [
        "Goal 2 holds at the end, first served at step 4; 2 actions for the old one."
    ]
    conflict = record("x", goal_final=2, adopted=None, conflict_detected=False, residue_actions=0)
    assert disturbance_story(conflict) == ["Goal 2 holds at the end, a conflict that was never surfaced."]


def test_what_is_unknown_is_said_to_be():
    blind = record("x", "perturbed:limits", **{**FIRED, **MISSED, "detected": None, "recovered": None})
    assert disturbance_story(blind)[1:3] == [
        "Whether the agent saw it is unknown.", "Whether it was overcome is unknown.",
    ]  # fmt: skip
    told = record("x", "perturbed:limits", **{**FIRED, **SEEN, "understood": False})
    assert "It never reported it." in disturbance_story(told)


def test_each_change_of_the_goal_has_its_sentence():
    served = record("x", goal_final=3, adopted=False, residue_actions=0)
    plain = {"was": 1, "relation": "replace", "perturbation": None}
    changes = [
        GoalChange(step=2, until=5, to=2, adopted=True, adoption_step=4, residue_actions=1, **plain),
        GoalChange(step=5, until=None, to=3, adopted=False, **plain),
    ]
    assert disturbance_story(served, changes) == [
        "Goal 2 held from step 2 to step 5, first served at step 4; 1 action for the old one.",
        "Goal 3 holds at the end, never served.",
    ]
