"""What came of a kill and a new start (D8)."""

import msgspec

from seatrial.journal.events import (
    AgentKilled,
    AgentResumed,
    BeliefReported,
    CheckpointTaken,
    GoalChanged,
    ServiceCalled,
)
from seatrial.measure.acts import Act
from seatrial.measure.coverage import only_of
from seatrial.measure.effects import duplicates, first_correct
from seatrial.measure.goals import residue
from seatrial.measure.scene import Scene
from seatrial.measure.waste import turned_away


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown, or nobody was killed.

    Attributes:
        resume_correct_step: first correct action after the new start that does not repeat earlier work.
        repeated_effects: external effects after the kill that repeat an earlier one of the trial.
        redone_actions: actions after the new start equal to one before it that ran and changed something;
            not those that were turned away or answered by their key.
        resume_divergence: paths that changed between the checkpoint and the new start: what its holder cannot
            know; all that changed when there was no checkpoint.
        resumed_from_old_goal: after the new start it worked for, or reported, a goal that no longer held.
        duplicate_effects: external effects of the whole trial that repeat an earlier one.
    """

    interrupted_point: str | None = None
    killed_step: int | None = None
    resumed_step: int | None = None
    resume_correct_step: int | None = None
    repeated_effects: int | None = None
    redone_actions: int | None = None
    resume_divergence: int | None = None
    memory_arm: str | None = None
    resumed_from_old_goal: bool | None = None
    duplicate_effects: int | None = None


def measure_interruption(scene: Scene) -> Interruption:
    """All columns of an interruption; of others only what a trial shows without one."""
    killed = next(iter(scene.all_of(AgentKilled)), None)
    twice = duplicates(scene.all_of(ServiceCalled))
    counted = len(twice) if scene.task.environment.services else None
    if killed is None:
        return Interruption(duplicate_effects=counted)
    resumed = next(iter(scene.all_of(AgentResumed)), None)
    places = {id(event): place for place, event in enumerate(scene.events)}
    order = places[id(killed if resumed is None else resumed)]
    found = Interruption(
        interrupted_point=killed.point,
        killed_step=killed.step,
        resumed_step=None if resumed is None else resumed.step,
        repeated_effects=None if counted is None else sum(places[id(call)] > order for call in twice),
        memory_arm=None if resumed is None else resumed.memory,
        duplicate_effects=counted,
    )
    if resumed is None or scene.trail is None or not scene.trusted:
        return found
    work = {act.asked for act in scene.acts if act.order < order and changed_something(act)}
    return msgspec.structs.replace(
        found,
        resume_correct_step=first_correct(scene, order, work),
        redone_actions=sum(act.asked in work and not was_turned_away(act) for act in scene.after(order)),
        resume_divergence=len(changed_between(scene, checkpoint_place(scene, order), order)),
        resumed_from_old_goal=from_old_goal(scene, order),
    )


def was_turned_away(act: Act) -> bool:
    """Whether a request ran nothing: denied, malformed, or the answer to a key given before."""
    return act.finished is not None and turned_away(act.finished)


def checkpoint_place(scene: Scene, before: int) -> int:
    """Place of the last checkpoint before a place in the journal; 0, the beginning, without one."""
    kept = (i for i in reversed(range(before)) if isinstance(scene.events[i], CheckpointTaken))
    return next(kept, 0)


def changed_something(act: Act) -> bool:
    """Whether an action ran and left a change or an external effect."""
    return act.ran_well and (bool(act.writes) or any(call.effect for call in act.calls))


def changed_between(scene: Scene, since: int, until: int) -> set[str]:
    """Paths that changed between two places in the journal."""
    assert scene.trail is not None
    return {
        entry.path
        for move in scene.trail.moves
        if since < move.order < until
        for entry in (move.writes if isinstance(move, Act) else move.changes)
    }


def from_old_goal(scene: Scene, order: int) -> bool | None:
    """Whether work went on for a goal that had been changed before; null where that cannot be told."""
    reports = (event for event in scene.events[order:] if isinstance(event, BeliefReported))
    if any(event.belief.get("goal_version") not in (None, event.goal_version) for event in reports):
        return True
    changes = [event for event in scene.events[:order] if isinstance(event, GoalChanged)]
    if not changes:
        return False
    change = changes[-1]
    left = residue(scene, change, order)
    return None if left is None or not only_of(scene.task, change.was, [change.to]) else left > 0
