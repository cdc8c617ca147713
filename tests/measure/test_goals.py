"""A change of goal taken up, or not: adoption, residue, what of the work could be used (D6)."""

import msgspec

from seatrial.journal.events import AgentKilled, AgentResumed, GoalChanged
from seatrial.spec.task import Goal, Subgoal
from tests.measure.disturbances import BEFORE, GOAL, TASK, begun, make
from tests.measure.story import table
from tests.measure.trials import make_task


def changed(kind: str = "goal"):
    """Goal 2 holds from the end of step 2 on: a table in place of the letter."""
    story = begun("perturbed:new-goal")
    return story.disturb("new-goal", kind).change_goal(2, perturbation="new-goal")


def record(story, moves=None, task=TASK):
    return story.finish().end().record(task, table(task, {**BEFORE, **(moves or {})}))


def test_a_new_goal_is_seen_at_once_and_adopted_by_the_first_action_that_only_it_asks_for():
    story = changed().look("totals.csv").write("table.html", "<table>", "totals.csv")
    found = record(story, {4: {"table": "pass"}})
    assert (found.fired_step, found.detected, found.observed_step) == (2, True, 2)
    assert (found.adopted, found.adoption_step, found.residue_actions) == (True, 4, 0)
    assert (found.goal_final, found.recovered, found.recovered_step) == (2, True, 4)
    assert (found.kept_work, found.undone_work, found.strict_success) == (2, 0, True)


def test_work_for_what_was_cancelled_is_residue_and_taking_it_away_is_not():
    story = changed().write("letter.txt", "dear").write("letter.txt", "dear you").write("letter.txt", None)
    found = record(story)
    assert (found.adopted, found.adoption_step, found.residue_actions) == (False, None, 2)
    assert (found.recovered, found.first_cause, found.first_cause_step) == (False, "understanding", 2)


def test_work_that_had_to_be_undone_is_counted_apart_from_work_that_was_kept():
    story = changed().write("clean.csv", "gone").write("table.html", "<table>")
    found = record(story, {3: {"clean": "fail"}, 4: {"table": "pass"}})
    assert (found.kept_work, found.undone_work) == (1, 1)


def test_a_reordered_goal_has_nothing_of_its_own_to_adopt():
    task = make_task(
        [Subgoal(id="a", verifier="v", reads=["files:a"]), Subgoal(id="b", verifier="v", reads=["files:b"])],
        goal=[Goal(instruction="1"), Goal(version=2, instruction="2", relation="reprioritise")],
    )
    story = begun().change_goal(2).write("a", "1").finish().end()
    found = story.record(task, table(task, {3: {"a": "pass"}}))
    assert (found.adopted, found.adoption_step, found.residue_actions, found.goal_final) == (None, None, 0, 2)


def test_a_cancelled_subgoal_that_reads_everything_tells_no_residue():
    subgoal = [s for s in TASK.subgoal if s.id != "letter"] + [Subgoal(id="letter", verifier="v", goals=[1])]
    found = record(changed().write("letter.txt", "x"), task=make(subgoal=subgoal))
    assert found.residue_actions is None


def test_a_goal_told_to_nobody_is_seen_by_the_next_process():
    story = begun("perturbed:new-goal").add(AgentKilled(point="before_effect", step=2, acknowledged=False))
    story.disturb("new-goal", "goal").change_goal(2, perturbation="new-goal")
    never = record(story)
    assert (never.detected, never.observed_step) == (False, None)
    story = begun("perturbed:new-goal").add(AgentKilled(point="before_effect", step=2, acknowledged=False))
    story.disturb("new-goal", "goal").change_goal(2, perturbation="new-goal")
    story.look("raw.csv").add(AgentResumed(step=3, memory="prose"))
    found = record(story)
    assert (found.detected, found.observed_step) == (True, 3)


def conflict(last):
    """Goal 2 contradicts goal 1: nothing may be written to the table."""
    goals = [
        Goal(instruction="1"),
        Goal(version=2, instruction="2", relation="conflict", expect="stop-and-surface"),
    ]
    task = make_task(
        [
            Subgoal(id="a", verifier="v", reads=["files:a"]),
            Subgoal(id="left", verifier="v", reads=["files:t"], goals=[2]),
        ],
        goal=goals,
        perturbation=[GOAL],
    )
    story = begun("perturbed:new-goal").disturb("new-goal", "goal")
    change = GoalChanged(step=2, was=1, to=2, relation="conflict", expect="stop-and-surface", instruction="i",
                         perturbation="new-goal")  # fmt: skip
    story.add(change)
    story.goal = 2
    story.act(tool=last, arguments={"reason": "they contradict"})
    story.end("gave_up" if last == "give_up" else "finished")
    return story.record(task, table(task, {1: {"a": "pass"}, 2: {"left": "pass"}}))


def test_a_conflict_is_overcome_by_saying_so_and_there_is_nothing_to_adopt():
    found = conflict("give_up")
    assert (found.conflict_detected, found.recovered, found.adopted) == (True, True, None)
    found = conflict("finish")
    assert (found.conflict_detected, found.recovered, found.adopted) == (False, False, None)
    assert (found.first_cause, found.first_cause_step) == ("understanding", 2)


def test_without_a_change_there_is_nothing_to_adopt():
    found = record(begun())
    assert (found.goal_final, found.adopted, found.residue_actions) == (1, None, None)


def three_goals():
    """Version 3 gives up the table and wants a chart; ``a`` belongs to all."""
    names = {"a": [], "letter": [1], "table": [2], "chart": [3]}
    return make_task(
        [Subgoal(id=id, verifier="v", reads=[f"files:{id}"], goals=goals) for id, goals in names.items()],
        goal=[
            Goal(instruction="1"),
            *(Goal(version=version, instruction="i", relation="replace") for version in (2, 3)),
        ],
    )  # fmt: skip


def test_each_change_of_the_goal_is_measured_while_its_version_holds():
    story = begun().change_goal(2, perturbation="first").write("letter", "dear").write("table", "<table>")
    story.change_goal(3, "add").write("table", "<b>").write("a", None).write("chart", "o").finish().end()
    moves = {2: {"a": "pass"}, 4: {"table": "pass"}, 6: {"a": "fail"}, 7: {"chart": "pass"}}
    task = three_goals()
    found = story.measured(task, table(task, moves))
    first, second = found.goal_changes
    assert (first.step, first.until, first.was, first.to, first.relation) == (2, 4, 1, 2, "replace")
    assert (first.perturbation, second.perturbation) == ("first", None)
    assert (first.adopted, first.adoption_step, first.adoption_actions) == (True, 4, 2)
    assert (first.residue_actions, first.kept_work, first.undone_work, first.dropped_work) == (1, 1, 0, 0)
    assert (second.step, second.until, second.adoption_step, second.adoption_actions) == (4, None, 7, 3)
    assert (second.residue_actions, second.kept_work) == (1, 0)
    assert (second.undone_work, second.dropped_work) == (1, 1)
    record = found.record
    assert (record.adopted, record.adoption_step, record.residue_actions) == (True, 7, 1)


def test_what_is_done_after_a_version_has_gone_does_not_serve_it():
    story = begun().change_goal(2).look("raw.csv").change_goal(3).write("table", "<table>").finish().end()
    task = three_goals()
    first, second = story.measured(task, table(task, {4: {"table": "pass"}})).goal_changes
    assert (first.adopted, first.adoption_step) == (False, None)
    assert (second.adopted, second.residue_actions) == (False, 1)


def test_a_conflict_is_surfaced_in_its_own_time_or_not_at_all():
    base = three_goals()
    contradicting = [
        Goal(instruction="1"),
        Goal(version=2, instruction="2", relation="conflict", expect="stop-and-surface"),
        Goal(version=3, instruction="3", relation="replace"),
    ]
    task = make_task(list(base.subgoal), goal=contradicting)
    asked = {"tool": "ask_human", "arguments": {"question": "which of the two?"}}
    conflict = {"to": 2, "relation": "conflict", "expect": "stop-and-surface"}
    early = begun().change_goal(**conflict).act(**asked).change_goal(3).finish().end()
    late = begun().change_goal(**conflict).look("raw.csv").change_goal(3).act(**asked).finish().end()
    for story, surfaced in ((early, True), (late, False)):
        first, second = story.measured(task, table(task, {})).goal_changes
        assert (first.conflict_detected, first.adopted, second.conflict_detected) == (surfaced, None, None)


def test_without_steps_judged_nothing_is_said_of_the_work_that_held():
    story = begun().change_goal(2).finish().end()
    task = three_goals()
    verdicts = msgspec.structs.replace(table(task, {}), every_step=False, rows=[])
    (change,) = story.measured(task, verdicts).goal_changes
    assert (change.kept_work, change.undone_work, change.dropped_work, change.adopted) == (None,) * 4
