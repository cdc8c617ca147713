"""How each change of goal was taken up: adoption, residue, conflict, what of the work could be used (D6).

A change is watched until the next one: what was done after that served, or did not serve, a later version.
"""

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from seatrial.journal.events import GoalChanged
from seatrial.measure.acts import Act
from seatrial.measure.coverage import only_of
from seatrial.measure.recovery import held_before
from seatrial.measure.scene import Scene
from seatrial.measure.surfacing import surfaced_while


class GoalChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of goal; steps and counts of actions, null is unknown.

    Attributes:
        step: under way when it was made.
        until: step under way at the next change; null for the last one, which is watched to the end.
        was, to: versions of the goal.
        relation: of the new version to the old one, as declared.
        perturbation: that brought it; null without one.
        adopted: whether anything was done that only the new version asks for; null of a conflict.
        adoption_step: first action that changed what only subgoals of the new version read, or after which a
            subgoal that only it has came to pass.
        adoption_actions: ``adoption_step - step``.
        residue_actions: actions that left something which only cancelled subgoals read.
        conflict_detected: whether a conflict was surfaced; null where the version expects no such thing.
        kept_work, undone_work: subgoals that passed before and that the new version has too, by whether they
            pass when its time ends.
        dropped_work: subgoals that passed before and that it no longer has.
    """

    step: int
    until: int | None
    was: int
    to: int
    relation: str
    perturbation: str | None
    adopted: bool | None = None
    adoption_step: int | None = None
    adoption_actions: int | None = None
    residue_actions: int | None = None
    conflict_detected: bool | None = None
    kept_work: int | None = None
    undone_work: int | None = None
    dropped_work: int | None = None


class GoalMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns, of the last change; null is unknown, or no goal changed."""

    goal_final: int | None = None
    adopted: bool | None = None
    adoption_step: int | None = None
    residue_actions: int | None = None
    conflict_detected: bool | None = None


class Reign(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the goal while it held.

    Attributes:
        change: that brought it.
        begin: place of that line in the journal.
        end: place of the next change; null where there is none.
        until: step under way at the next change, else the last step.
    """

    change: GoalChanged
    begin: int
    end: int | None
    until: int


def reigns(scene: Scene) -> list[Reign]:
    """Every version that came after the first, in order."""
    places = [(i, event) for i, event in enumerate(scene.events) if isinstance(event, GoalChanged)]
    found = []
    for (begin, change), later in zip_longest(places, places[1:]):
        end, until = (None, scene.end) if later is None else (later[0], later[1].step)
        found.append(Reign(change=change, begin=begin, end=end, until=until))
    return found


def measure_goals(scene: Scene, changes: Sequence[GoalChange]) -> GoalMeasures:
    """The columns of a record, of the last of a trial's changes."""
    if not changes:
        return GoalMeasures(goal_final=scene.goal_version)
    last = changes[-1]
    return GoalMeasures(
        goal_final=scene.goal_version,
        adopted=last.adopted,
        adoption_step=last.adoption_step,
        residue_actions=last.residue_actions,
        conflict_detected=last.conflict_detected,
    )


def taken_up(scene: Scene) -> list[GoalChange]:
    """Every change of goal, measured while its version held, in order."""
    return [_measured(scene, reign) for reign in reigns(scene)]


def _measured(scene: Scene, reign: Reign) -> GoalChange:
    change = reign.change
    # A conflict is to be surfaced, and there is nothing to adopt.
    step, known = adoption_step(scene, reign) if change.expect is None else (None, False)
    kept, undone, dropped = migrated(scene, reign)
    return GoalChange(
        step=change.step,
        until=None if reign.end is None else reign.until,
        was=change.was,
        to=change.to,
        relation=change.relation,
        perturbation=change.perturbation,
        adopted=True if step is not None else (False if known else None),
        adoption_step=step,
        adoption_actions=None if step is None else step - change.step,
        residue_actions=residue(scene, change, reign.begin, reign.end),
        conflict_detected=surfaced_while(scene.task, scene.events, change, reign.end),
        kept_work=kept,
        undone_work=undone,
        dropped_work=dropped,
    )


def adoption_step(scene: Scene, reign: Reign) -> tuple[int | None, bool]:
    """When a version was first served while it held, and whether a null means that it never was.

    Unknown where no subgoal is the new version's alone: nothing then tells serving it from serving the old.
    """
    change = reign.change
    new = {subgoal.id for subgoal in only_of(scene.task, change.to, [change.was])}
    if not new or scene.trail is None or not scene.trusted:
        return None, False
    rise = scene.course.first_rise(new, change.step)
    serving = (
        act.step
        for act in acts_between(scene, reign.begin, reign.end)
        for entry in act.writes
        if (readers := readers_between(scene, change, entry.path)) and readers <= new
    )
    steps = [step for step in (rise, next(serving, None)) if step is not None and step <= reign.until]
    return (min(steps), True) if steps else (None, scene.course.stepwise)


def acts_between(scene: Scene, begin: int, end: int | None) -> list[Act]:
    """Actions whose last line comes after one place in the journal and before another, or its end."""
    return [act for act in scene.after(begin) if end is None or act.order < end]


def readers_between(scene: Scene, change: GoalChanged, path: str) -> set[str]:
    """Subgoals of the old or the new version that read a path."""
    versions = (change.was, change.to)
    names = {subgoal.id for version in versions for subgoal in scene.task.subgoals_for(version)}
    return names & scene.coverage.readers(path)


def residue(scene: Scene, change: GoalChanged, begin: int, end: int | None = None) -> int | None:
    """Actions for what was cancelled: they left a path that only subgoals read which are no longer asked for.

    Taking such a path away is no residue. 0 where nothing was cancelled; null where a cancelled subgoal
    declares no reads, so that no path is its alone.

    Args:
        begin, end: places in the journal between which actions count; null for the journal's end.
    """
    cancelled = {subgoal.id for subgoal in only_of(scene.task, change.was, [change.to])}
    if scene.trail is None or not scene.trusted:
        return None
    if not cancelled:
        return 0
    if scene.coverage.reads_all(cancelled):
        return None
    count = 0
    for act in acts_between(scene, begin, end):
        left = [entry.path for entry in act.writes if entry.kind != "absent"]
        readers = [readers_between(scene, change, path) for path in left]
        count += any(names and names <= cancelled for names in readers)
    return count


def migrated(scene: Scene, reign: Reign) -> tuple[int | None, int | None, int | None]:
    """Work that held when the goal changed: kept, undone by the end of its time, no longer asked for."""
    change = reign.change
    if not scene.trusted or not scene.course.stepwise:
        return None, None, None
    before = held_before(scene, change.step, reign.begin)
    asked = {subgoal.id for subgoal in scene.task.subgoals_for(change.to)}
    held = before & {subgoal.id for subgoal in scene.task.subgoals_for(change.was)}
    dropped = len(held - asked)
    common = held & asked
    if reign.end is None:
        passed, failed = scene.final.verified.passed, scene.final.verified.failed
    else:
        verdicts = {name: scene.course.at(name, reign.until) for name in common}
        passed = frozenset(name for name, verdict in verdicts.items() if verdict is True)
        failed = frozenset(name for name, verdict in verdicts.items() if verdict is False)
    if not common <= passed | failed:
        return None, None, dropped
    return len(common & passed), len(common & failed), dropped
