"""The plan for simulated agents; that its actions do what they must is proved with the task."""

import tomllib
from pathlib import Path

import pytest

from seatrial.families.repair.rehearse import Rehearsal
from seatrial.spec.loading import load_task


def test_every_subgoal_has_one_step_with_every_action(task: Path):
    loaded = load_task(task)
    assert loaded.plan is not None
    steps = loaded.plan.step
    assert [step.subgoal for step in steps] == [subgoal.id for subgoal in loaded.spec.subgoal]
    assert all(step.wrong and step.drift and step.shortcut and step.look for step in steps)


def test_actions_lead_to_the_same_end_from_every_state(task: Path):
    steps = tomllib.loads((task / "plan.toml").read_text())["step"]
    repairs = [step for step in steps if step["subgoal"].startswith("repair-")]
    with Rehearsal(task) as rehearsal:
        for step in repairs:
            rehearsal.play("plan", [step["do"]])
        right = rehearsal.files
        # In any order, again and again, whatever stands there.
        for keys in (("wrong", "drift", "do"), ("drift", "wrong", "wrong", "do", "do")):
            for key in keys:
                for step in reversed(repairs):
                    rehearsal.play("plan", [step[key]])
            assert rehearsal.files == right


@pytest.mark.parametrize("order", [1, -1])
def test_a_drift_leaves_products_alone_and_is_made_good_by_its_own_repair(task: Path, order: int):
    steps = tomllib.loads((task / "plan.toml").read_text())["step"]
    with Rehearsal(task) as rehearsal:
        for step in steps:
            rehearsal.play("plan", [step["do"]])
        assert all(rehearsal.passes().values())
        repairs = [step for step in steps if step["subgoal"].startswith("repair-")][::order]
        for step in repairs:
            rehearsal.play("plan", [step["drift"]])
        broken = [name for name, passed in rehearsal.passes().items() if not passed]
        assert sorted(broken) == sorted(step["subgoal"] for step in repairs)
        for step in repairs:
            rehearsal.play("plan", [step["do"]])
        assert all(rehearsal.passes().values())
