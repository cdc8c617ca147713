"""A change of goal taken up, or not: adoption, residue, what of the work could be used (D6)."""

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
