"""What came of a kill and a new start, from the journal alone (D8)."""

from collections.abc import Sequence

from seatrial.journal.events import AgentKilled, AgentResumed, CheckpointTaken, EffectRecorded, ServiceCalled
from seatrial.spec.task import Environment
from tests.measure.disturbances import BASE, make
from tests.measure.story import Story, table

TASK = make(environment=Environment(services=["mail"]))
ARM = "interrupted:after_effect_before_ack:structured"


def send(story: Story, to: str, effect: bool = True, key: str = "", **more) -> Story:
    """A letter sent through the service, as the server saw it."""
    call = ServiceCalled(
        step=story.step + 1, service="mail", verb="send", arguments={"to": to}, key=key, status=200,
        effect=effect, ledger=story.step + 1, irreversible=True, **more,
    )  # fmt: skip
    row = {f"services/mail/messages/{story.step + 1}.json": to} if effect else {}
    return story.act(tool="mail.send", arguments={"to": to}, writes=row, during=[call])


def interrupted(checkpoint: bool = True) -> Story:
    """Killed at step 3, after the letter went out; the last checkpoint is of step 1."""
    story = Story(BASE, arm=ARM).write("clean.csv", "1\n2\n", "raw.csv")
    if checkpoint:
        kept = CheckpointTaken(step=1, memory="structured", state="o", size=10, fingerprint="f")
        story.add(kept)
    story.write("totals.csv", "3", "clean.csv")
    send(story, "ann")
    return story.add(AgentKilled(point="after_effect_before_ack", step=3, acknowledged=False))


def resumed(story: Story, changed: Sequence = ()) -> Story:
    story.add(*changed)
    return story.add(AgentResumed(step=3, memory="structured", checkpoint_step=1, state="o"))


def record(story: Story, moves=None):
    moves = {1: {"clean": "pass"}, 2: {"totals": "pass"}, **(moves or {})}
    return story.finish().end().record(TASK, table(TASK, moves))


def test_one_that_looks_before_it_sends_again_repeats_nothing():
    story = resumed(interrupted())
    look = ServiceCalled(step=4, service="mail", verb="list", status=200)
    story.act(tool="mail.list", during=[look]).write("letter.txt", "sent")
    found = record(story, {5: {"letter": "pass"}})
    assert (found.interrupted_point, found.killed_step, found.resumed_step) == (
        "after_effect_before_ack",
        3,
        3,
    )
    assert (found.delivered, found.memory_arm) == (True, "structured")
    assert (found.repeated_effects, found.duplicate_effects, found.redone_actions) == (0, 0, 0)
    assert (found.resume_correct_step, found.resumed_from_old_goal) == (5, False)
    assert found.first_cause is None


def test_one_that_sends_again_blindly_did_it_twice():
    story = send(resumed(interrupted()), "ann")
    found = record(story)
    assert (found.repeated_effects, found.duplicate_effects, found.redone_actions) == (1, 1, 1)
    assert (found.first_cause, found.first_cause_step) == ("recovery", 3)


def test_the_same_key_has_no_second_effect_and_another_letter_is_another_intent():
    story = send(resumed(interrupted()), "ann", effect=False, repeats=3)
    found = record(send(story, "bob"))
    assert (found.repeated_effects, found.duplicate_effects) == (0, 0)


def test_work_done_again_and_what_the_checkpoint_could_not_know():
    moved = EffectRecorded(pre="a", post="b", actor="environment", changes=[])
    story = resumed(interrupted(), [moved])
    asked = story.events[5].arguments  # of step 2
    story.write("totals.csv", "3", "clean.csv", arguments=asked).write("letter.txt", "x")
    found = record(story, {5: {"letter": "pass"}})
    # The totals of step 2 and the row of step 3 came after the checkpoint.
    assert (found.redone_actions, found.resume_divergence) == (1, 2)
    assert found.resume_correct_step == 5
    assert record(resumed(interrupted(checkpoint=False))).resume_divergence == 3


def test_going_on_for_a_goal_that_changed_while_it_was_down_is_a_failed_recovery():
    story = interrupted().change_goal(2)
    story = resumed(story).write("letter.txt", "for goal one").write("table.html", "<table>")
    found = record(story, {5: {"table": "pass"}})
    assert (found.resumed_from_old_goal, found.goal_final) == (True, 2)
    right = resumed(interrupted().change_goal(2)).write("table.html", "<table>")
    assert record(right, {4: {"table": "pass"}}).resumed_from_old_goal is False


def test_a_point_that_was_never_reached_is_not_delivered():
    found = Story(BASE, arm=ARM).finish().end().record(TASK, table(TASK, {}))
    assert (found.delivered, found.interrupted_point, found.repeated_effects) == (False, None, None)
    assert found.duplicate_effects == 0


def test_without_services_there_are_no_external_effects_to_count():
    task = make()
    found = Story(BASE).finish().end().record(task, table(task, {}))
    assert found.duplicate_effects is None
