"""Reported beliefs against the world: missing, outdated, wrong, stale plans, goal versions (E5)."""

import pytest

from seatrial.spec.facts import fact_path, fact_value
from seatrial.spec.task import Fact
from tests.measure.disturbances import BASE, BEFORE, NEW, TASK, begun, make
from tests.measure.story import Story, table

TWO = [
    Fact(id="max", file="files:config/limits.toml", pattern=r"max = (\d+)", weight=3),
    Fact(id="min", file="files:config/limits.toml", pattern=r"min = (\d+)"),
]
FACTS = make(fact=TWO)


def held(task, facts, changes=None, **belief):
    """What the last report comes to when the limits changed before it."""
    story = begun().disturb("limits", changes=changes or {"config/limits.toml": NEW}).believe(facts, **belief)
    return story.finish().end().record(task, table(task, {**BEFORE, 2: {"totals": "fail"}}))


@pytest.mark.parametrize(
    ("facts", "missing", "outdated", "wrong"),
    [
        ({"max": 25, "min": "1"}, 0, 0, 0),
        ({"max": "25"}, 0.25, 0, 0),
        ({"min": 1}, 0.75, 0, 0),
        ({"max": 10, "min": 1}, 0, 0.75, 0),
        ({"max": 11, "min": 7}, 0, 0, 1),
        ({"colour": "red"}, 1, 0, 0),
    ],
)
def test_missing_outdated_and_wrong_are_weighed_apart(facts, missing, outdated, wrong):
    found = held(FACTS, facts)
    assert (found.belief_missing, found.belief_outdated, found.belief_wrong) == (missing, outdated, wrong)
    assert found.belief_consistent is (missing + outdated + wrong == 0)


def test_what_was_right_when_reported_is_outdated_when_the_world_moves_on():
    story = begun().believe({"max": 10, "min": 1}).disturb("limits", changes={"config/limits.toml": NEW})
    found = story.finish().end().record(FACTS, table(FACTS, BEFORE))
    assert (found.belief_outdated, found.belief_missing, found.belief_consistent) == (0.75, 0, False)


def test_a_fact_that_no_longer_is_true_of_anything_need_not_be_known():
    found = held(FACTS, {}, {"config/limits.toml": "min = 1\n"})
    assert (found.belief_missing, found.belief_consistent) == (1, False)
    assert held(FACTS, {"min": 1}, {"config/limits.toml": "min = 1\n"}).belief_missing == 0


def test_without_a_report_or_without_its_content_nothing_is_known():
    found = begun().finish().end().record(FACTS, table(FACTS, BEFORE))
    assert (found.belief_missing, found.belief_consistent, found.goal_version_errors) == (None, None, None)
    story = begun().believe({"max": 10}).finish().end()
    story.texts.clear()
    assert story.record(FACTS, table(FACTS, BEFORE)).belief_missing is None


def test_understanding_shows_in_the_first_report_of_what_changed():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.believe({"max": 10}).look("config/limits.toml").believe({"max": 25}).finish().end()
    found = story.record(FACTS, table(FACTS, {**BEFORE, 2: {"totals": "fail"}}))
    # Both facts live in the changed file and "min" was never stated: not all of the change was understood.
    assert (found.understood, found.understood_step, found.chain_broke_at) == (False, None, "understood")
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}}))
    assert (found.understood, found.understood_step, found.chain_broke_at) == (True, 5, "repaired")


def test_a_plan_that_hangs_on_what_was_cancelled_is_stale():
    plan = ["write letter.txt", "put max 10 into totals.csv", "make table.html", {"subgoal": "letter"}]
    story = begun().disturb("limits", changes={"config/limits.toml": NEW}).change_goal(2)
    story.believe({"max": 25}, plan=plan, goal_version=2).finish().end()
    assert story.record(TASK, table(TASK, BEFORE)).stale_plan_items == 3


def test_reports_of_another_goal_than_the_one_that_held_are_counted():
    story = begun().believe(goal_version=1).change_goal(2).believe(goal_version=1).believe(goal_version=2)
    found = story.finish().end().record(TASK, table(TASK, BEFORE))
    assert found.goal_version_errors == 1


def test_belief_makes_recovery_whole():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW}).look("config/limits.toml")
    story.write("totals.csv", "25").believe({"max": 25}).finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}, 4: {"totals": "pass"}}))
    assert (found.recovered, found.undone_work, found.belief_consistent, found.full_recovery) == (
        True,
        0,
        True,
        True,
    )
    story = begun().disturb("limits", changes={"config/limits.toml": NEW}).look("config/limits.toml")
    story.write("totals.csv", "25").believe({"max": 10}).finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}, 4: {"totals": "pass"}}))
    assert (found.recovered, found.full_recovery) == (True, False)


def test_a_row_of_a_service_can_hold_a_fact():
    fact = Fact(id="state", file="service:tickets/tickets/T1", json_key="state")
    row = "services/tickets/tickets/T1.json"
    assert fact_path(fact) == row
    task = make(fact=[fact])
    story = Story({**BASE, row: '{"state":"open"}'}).write(row, '{"state":"closed"}')
    found = story.believe({"state": "open"}).finish().end().record(task, table(task, {}))
    assert (found.belief_outdated, found.belief_wrong) == (1, 0)


@pytest.mark.parametrize(
    ("more", "content", "value"),
    [
        ({}, b"  3 \n", "3"),
        ({"pattern": r"x=(\w+)"}, b"a\nx=7\n", "7"),
        ({"pattern": r"x=(\w+)"}, b"nothing", None),
        ({"json_key": "a.1.b"}, b'{"a": [0, {"b": true}]}', "true"),
        ({"json_key": "a.c"}, b'{"a": [0]}', None),
        ({"json_key": "a"}, b"not json", None),
        ({"json_key": "a"}, b'{"a": {"z": 1, "b": 2}}', '{"b":2,"z":1}'),
        ({}, b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_how_a_value_is_read(more, content, value):
    assert fact_value(Fact(id="f", file="files:x", **more), content) == value
