"""Whether and when a disturbance was overcome, at what cost, and what earlier work was kept (D4, D5, E9).

What counts as overcome is declared by the task (``recovered_when``): a subgoal that passes, or a file with a
given content. Without a declaration it is that the affected subgoals pass; for a change of goal, that the
subgoals pass which only the new version has, or that a conflict was surfaced
and the conflicting work left alone.
"""

import msgspec

from seatrial.journal.events import SubgoalJudged
from seatrial.measure.acts import Act
from seatrial.measure.coverage import only_of, pattern_of
from seatrial.measure.scene import Firing, Scene
from seatrial.measure.surfacing import conflict_surfaced


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; steps and counts of actions.

    Attributes:
        recovered: null where a verdict is unknown, and where nothing says what recovery is.
        repaired_step: first step after the firing at which the condition comes to hold; null when it never
            does, and when it held all along.
        recovered_step: step from which on it holds to the end; the firing's own when it was never lost.
        recovery_cost: actions from the firing to ``recovered_step``: the sum of the four parts, where these
            are known. They are null where it was overcome before it was seen: nothing was found on the way.
        kept_work, undone_work: subgoals that passed before the firing, that it does not affect and that the
            goal at the end still has, by whether they pass at the end.
    """

    recovered: bool | None = None
    repaired_step: int | None = None
    recovered_step: int | None = None
    recovery_cost: float | None = None
    detect_actions: int | None = None
    locate_actions: int | None = None
    restore_actions: int | None = None
    redo_actions: int | None = None
    kept_work: int | None = None
    undone_work: int | None = None


def measure_recovery(scene: Scene, firing: Firing, observed: int | None) -> Recovery:
    """All columns of recovery.

    Args:
        observed: step at which the disturbance was first seen; null where it was not, or that is unknown.
    """
    if firing.spec.kind == "placebo":
        kept, undone = work(scene, firing.step, firing.order, affected(scene, firing))
        return Recovery(kept_work=kept, undone_work=undone)
    recovered, repaired, step = overcome(scene, firing)
    locate, restore, redo = (None, None, None) if step is None else cost_parts(scene, firing, observed, step)
    kept, undone = work(scene, firing.step, firing.order, affected(scene, firing))
    return Recovery(
        recovered=recovered,
        repaired_step=repaired,
        recovered_step=step,
        recovery_cost=None if step is None else float(step - firing.step),
        detect_actions=detection_cost(firing, observed, step),
        locate_actions=locate,
        restore_actions=restore,
        redo_actions=redo,
        kept_work=kept,
        undone_work=undone,
    )


def goals_of(scene: Scene, firing: Firing) -> list[str]:
    """Subgoals that must pass for it to be overcome; none when nothing is declared or follows."""
    declared = firing.spec.recovered_when.get("subgoal")
    if declared is not None:
        return [declared] if isinstance(declared, str) else list(declared)
    if firing.goal is not None:
        new = only_of(scene.task, firing.goal.to, range(1, firing.goal.to))
        return [subgoal.id for subgoal in new if subgoal.required]
    return list(firing.spec.affects)


def affected(scene: Scene, firing: Firing) -> set[str]:
    """Subgoals whose work the disturbance may have made wrong."""
    return {*firing.spec.affects, *goals_of(scene, firing)}


def overcome(scene: Scene, firing: Firing) -> tuple[bool | None, int | None, int | None]:
    """Whether it was overcome at the end, when first, and since when for good."""
    if not scene.trusted:
        return None, None, None
    if firing.goal is not None and firing.goal.expect is not None:
        # The right answer to a conflict is to say so, and to leave the conflicting work alone.
        required = [s.id for s in scene.task.subgoals_for(scene.goal_version) if s.required]
        both = (conflict_surfaced(scene.task, scene.events), scene.holds_at_end(required))
        return False if False in both else (None if None in both else True), None, None
    if "files" in firing.spec.recovered_when:
        return _by_file(scene, firing)
    names = goals_of(scene, firing)
    recovered = scene.holds_at_end(names)
    course = scene.course
    if not course.stepwise or not names:
        return recovered, None, None
    held = [course.holds_from(names, firing.step)] if recovered else [None]
    rise = course.first_rise(names, firing.step)
    together = None
    if rise is not None:
        moments = sorted({at for name in names for at, _, _ in course.turns(name) if at >= rise})
        whole = (at for at in moments if all(course.at(name, at) is True for name in names))
        together = next(whole, None)
    return recovered, together, held[0]


def _by_file(scene: Scene, firing: Firing) -> tuple[bool | None, int | None, int | None]:
    """Recovery declared as a file's digest: ``{ files = "files:PATH", digest = … }``."""
    wanted, digest = firing.spec.recovered_when, firing.spec.recovered_when.get("digest")
    if scene.trail is None or digest is None:
        return None, None, None
    covers = pattern_of(wanted["files"])
    holds: dict[str, bool] = {}
    right, first, since = False, None, None
    for entry in scene.trail.base.values():
        if covers(entry.path):
            holds[entry.path] = entry.digest == digest
    for move in scene.trail.moves:
        changes = move.writes if isinstance(move, Act) else move.changes
        for entry in changes:
            if covers(entry.path):
                holds[entry.path] = entry.digest == digest
                if entry.kind == "absent":
                    holds.pop(entry.path)
        was, right = right, bool(holds) and all(holds.values())
        if move.order < firing.order:
            since = firing.step if right else None
        elif right and not was:
            first, since = first or move.step, move.step
        elif not right:
            since = None
    return right, first, since


def detection_cost(firing: Firing, observed: int | None, recovered: int | None) -> int | None:
    """Actions from the firing to the sight; null where there was none, or only after it was overcome."""
    if observed is None or (recovered is not None and recovered < observed):
        return None
    return observed - firing.step


Parts = tuple[int | None, int | None, int | None]


def cost_parts(scene: Scene, firing: Firing, observed: int | None, recovered: int) -> Parts:
    """Locate, restore and redo: the way from the first sight to recovery, cut at two repairing changes.

    The first is the first action, from the sight on, that changes an affected artefact: a path that the
    disturbance changed or that an affected subgoal reads. The other is the last such action that changes one
    which stood already when the disturbance was seen; what is left after it is redone work.
    """
    if observed is None or recovered < observed or scene.trail is None:
        return None, None, None
    if recovered == observed:
        return 0, 0, 0
    names = affected(scene, firing)
    standing, first, last = standing_paths(scene, observed), None, None
    for act in scene.acts:
        if not observed <= act.step <= recovered:
            continue
        paths = {entry.path for entry in act.writes if is_affected(scene, firing, entry.path, names)}
        if not paths:
            continue
        first = act.step if first is None else first
        last = act.step if last is None or paths & standing else last
    if first is None or last is None:
        return None, None, None
    return first - observed, last - first, recovered - last


def is_affected(scene: Scene, firing: Firing, path: str, names: set[str]) -> bool:
    """Whether a path is one that the disturbance changed or that an affected subgoal declares to read."""
    if path in firing.paths:
        return True
    readers = scene.coverage.readers(path) & names
    return bool(readers) and not (scene.coverage.reads_all(readers) and path.startswith(("tmp/", "var-tmp/")))


def standing_paths(scene: Scene, step: int) -> set[str]:
    """Paths there were before an action ran."""
    assert scene.trail is not None
    found = {path for path, entry in scene.trail.base.items() if entry.kind != "dir"}
    for move in scene.trail.moves:
        if move.step >= step and isinstance(move, Act):
            break
        for entry in move.writes if isinstance(move, Act) else move.changes:
            (found.discard if entry.kind == "absent" else found.add)(entry.path)
    return found


def work(scene: Scene, step: int, order: int, spared: set[str]) -> tuple[int | None, int | None]:
    """How much of the work that held before a step stands at the end, and how much does not.

    Args:
        step: of the disturbance or change.
        order: its place in the journal: a verdict taken online before it counts too.
        spared: subgoals that do not count, since the disturbance itself spoilt them.
    """
    if not scene.trusted or not scene.course.stepwise:
        return None, None
    asked = {s.id for s in scene.task.subgoals_for(scene.goal_version)}
    names = asked & held_before(scene, step, order) - spared
    if names & scene.final.verified.unknown:
        return None, None
    return len(names & scene.final.verified.passed), len(names & scene.final.verified.failed)


def held_before(scene: Scene, step: int, order: int) -> set[str]:
    """Subgoals that passed when a disturbance or change came, in a trial that was judged step by step."""
    before = scene.course.passing(max(step - 1, 0)) | online_passes(scene, order)
    if any(act.step == step and act.order < order for act in scene.acts):
        # The action had ended: what passes after it and in spite of the disturbance was good work too.
        before |= scene.course.passing(step)
    return before


def online_passes(scene: Scene, order: int) -> set[str]:
    """Subgoals judged to pass before a place in the journal, by their latest verdict there."""
    latest: dict[str, bool] = {}
    for event in scene.events[:order]:
        if isinstance(event, SubgoalJudged):
            latest[event.subgoal] = event.verdict == "pass"
    return {name for name, passed in latest.items() if passed}
