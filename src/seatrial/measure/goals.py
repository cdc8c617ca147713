"""How a change of goal was taken up: adoption, residue, conflict (D6)."""

import msgspec

from seatrial.journal.events import GoalChanged
from seatrial.measure.coverage import only_of
from seatrial.measure.scene import Scene
from seatrial.measure.surfacing import conflict_surfaced


class GoalMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown, or no goal changed.

    Attributes:
        adopted: whether anything was done that only the new version asks for; null of a conflict.
        adoption_step: first action that changed what only subgoals of the new version read, or after which a
            subgoal that only it has came to pass.
        residue_actions: actions after the change that left something which only cancelled subgoals read.
        conflict_detected: whether a conflict was surfaced; null where the goal expects no such thing.
    """

    goal_final: int | None = None
    adopted: bool | None = None
    adoption_step: int | None = None
    residue_actions: int | None = None
    conflict_detected: bool | None = None


def measure_goals(scene: Scene) -> GoalMeasures:
    """All columns of the last change of goal."""
    changes = scene.all_of(GoalChanged)
    if not changes:
        return GoalMeasures(goal_final=scene.goal_version)
    change = changes[-1]
    order = next(i for i, event in enumerate(scene.events) if event is change)
    # A conflict is to be surfaced, and there is nothing to adopt.
    step, known = adoption_step(scene, change, order) if change.expect is None else (None, False)
    return GoalMeasures(
        goal_final=scene.goal_version,
        adopted=True if step is not None else (False if known else None),
        adoption_step=step,
        residue_actions=residue(scene, change, order),
        conflict_detected=conflict_surfaced(scene.task, scene.events),
    )


def adoption_step(scene: Scene, change: GoalChanged, order: int) -> tuple[int | None, bool]:
    """When the new version was first served, and whether a null means that it never was.

    Unknown where no subgoal is the new version's alone: nothing then tells serving it from serving the old.
    """
    new = {subgoal.id for subgoal in only_of(scene.task, change.to, [change.was])}
    if not new or scene.trail is None or not scene.trusted:
        return None, False
    rise = scene.course.first_rise(new, change.step)
    serving = (
        act.step
        for act in scene.after(order)
        for entry in act.writes
        if (readers := readers_between(scene, change, entry.path)) and readers <= new
    )
    steps = [step for step in (rise, next(serving, None)) if step is not None]
    return (min(steps), True) if steps else (None, scene.course.stepwise)


def readers_between(scene: Scene, change: GoalChanged, path: str) -> set[str]:
    """Subgoals of the old or the new version that read a path."""
    versions = (change.was, change.to)
    names = {subgoal.id for version in versions for subgoal in scene.task.subgoals_for(version)}
    return names & scene.coverage.readers(path)


def residue(scene: Scene, change: GoalChanged, order: int) -> int | None:
    """Actions for what was cancelled: they left a path that only subgoals read which are no longer asked for.

    Taking such a path away is no residue. 0 where nothing was cancelled; null where a cancelled subgoal
    declares no reads, so that no path is its alone.
    """
    cancelled = {subgoal.id for subgoal in only_of(scene.task, change.was, [change.to])}
    if scene.trail is None or not scene.trusted:
        return None
    if not cancelled:
        return 0
    if scene.coverage.reads_all(cancelled):
        return None
    count = 0
    for act in scene.after(order):
        left = [entry.path for entry in act.writes if entry.kind != "absent"]
        readers = [readers_between(scene, change, path) for path in left]
        count += any(names and names <= cancelled for names in readers)
    return count
