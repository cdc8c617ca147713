"""How a change of goal was taken up: adoption, residue, conflict (D6)."""

import msgspec

from seatrial.journal.events import GoalChanged
from seatrial.measure.coverage import only_of
from seatrial.measure.scene import Scene


class GoalMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown, or no goal changed.

    Attributes:
        adopted: whether anything was done that only the new version asks for.
        adoption_step: first action that changed what only subgoals of the new version read, or after which a
            subgoal that only it has came to pass.
        residue_actions: actions after the change that left something which only cancelled subgoals read.
    """

    goal_final: int | None = None
    adopted: bool | None = None
    adoption_step: int | None = None
    residue_actions: int | None = None


def measure_goals(scene: Scene) -> GoalMeasures:
    """All columns of the last change of goal."""
    changes = scene.all_of(GoalChanged)
    if not changes:
        return GoalMeasures(goal_final=scene.goal_version)
    change = changes[-1]
    order = next(i for i, event in enumerate(scene.events) if event is change)
    step, known = adoption_step(scene, change, order)
    return GoalMeasures(
        goal_final=scene.goal_version,
        adopted=True if step is not None else (False if known else None),
        adoption_step=step,
        residue_actions=residue(scene, change, order),
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
        if (readers := scene.coverage.readers(entry.path)) and readers <= new
    )
    steps = [step for step in (rise, next(serving, None)) if step is not None]
    return (min(steps), True) if steps else (None, scene.course.stepwise)


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
        readers = [scene.coverage.readers(path) for path in left]
        count += any(names and names <= cancelled for names in readers)
    return count
