"""What was done on a disturbed world: wrong actions, pollution, rollback, first correct action (D14)."""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.journal.entries import Entry
from seatrial.journal.events import MemoryUsed, ServiceCalled
from seatrial.measure.acts import Act
from seatrial.measure.recovery import affected, is_affected
from seatrial.measure.scene import Firing, Scene
from seatrial.measure.trajectory import descendants
from seatrial.measure.undone import Version, version_of


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown.

    Attributes:
        wrong_actions_after: actions between the firing and its first sight (the end when it was never seen)
            that failed, were denied, or changed what an affected subgoal reads: actions not informed of what
            changed, whose results may be right all the same. Null where the disturbance is cosmetic.
        polluted_products: paths those that wrote left behind, and paths that actions resting on them wrote.
            Of a polluted channel: the same from the actions that read it.
        polluted_left: of these, paths that stand at the end as such an action left them.
        rollback_paths: paths that an action after the sight put back to an earlier version.
        first_correct_step: first action after the sight that made a subgoal of the goal pass, or that left
            something which stands at the end and that a subgoal holding at the end reads. Null when none.
    """

    wrong_actions_after: int | None = None
    polluted_products: int | None = None
    polluted_left: int | None = None
    rollback_paths: int | None = None
    first_correct_step: int | None = None


def measure_effects(scene: Scene, firing: Firing, detected: bool | None, observed: int | None) -> Effects:
    """All columns of what was done after a firing.

    Args:
        detected: whether it was seen; null makes everything that hangs on the sight null.
        observed: when.
    """
    if scene.trail is None or not scene.trusted or firing.spec.kind == "placebo":
        return Effects()
    since = firing.order if observed is None else order_before(scene, observed, firing.order)
    correct = first_correct(scene, since) if detected is not False else None
    polluters = channel_readers(scene, firing)
    if polluters is None and detected is None:
        return Effects()
    back = None if detected is None else (rollbacks(scene, since) if detected else 0)
    if firing.spec.strength == "cosmetic":
        # It makes nothing wrong, so that no work done without knowing of it is tainted.
        return Effects(rollback_paths=back, first_correct_step=correct)
    if polluters is None:
        until = scene.end + 1 if observed is None else observed
        wrong = [
            act for act in scene.after(firing.order) if act.step < until and is_wrong(scene, firing, act)
        ]
        seeds = [
            act.step for act in wrong if act.writes and act.finished and act.finished.outcome != "denied"
        ]
    else:
        wrong, seeds = None, polluters
    polluted = pollution(scene, seeds)
    return Effects(
        wrong_actions_after=None if wrong is None else len(wrong),
        polluted_products=None if polluted is None else len(polluted),
        polluted_left=None if polluted is None else len(polluted & still_as_left(scene, seeds)),
        rollback_paths=back,
        first_correct_step=correct,
    )


def order_before(scene: Scene, step: int, at_least: int) -> int:
    """Place in the journal just before an action's last line."""
    found = next((act.order - 1 for act in scene.acts if act.step == step), at_least)
    return max(found, at_least)


def is_wrong(scene: Scene, firing: Firing, act: Act) -> bool:
    """Whether an action, taken before the sight, failed or built on what no longer holds."""
    if act.talk:
        return False
    names = affected(scene, firing)
    return act.went_wrong or any(is_affected(scene, firing, entry.path, names) for entry in act.writes)


def channel_readers(scene: Scene, firing: Firing) -> list[int] | None:
    """Steps at which a polluted channel was read; null where the disturbance pollutes none."""
    channel = firing.spec.change.get("channel")
    if channel is None:
        return None
    uses = scene.all_of(MemoryUsed)
    polluted = [event for event in uses if event.polluted and event.use == "read"]
    read = {event.step for event in polluted}
    for act in scene.after(firing.order):
        if any(act.read_it(path) for path in firing.paths):
            read.add(act.step)
    # What was recalled is in the agent's mind from then on, until it writes the entry anew.
    later = [act.step for act in scene.after(firing.order) if not act.talk]
    if channel in ("memory", "summary") and polluted:
        keys, begun = {event.key for event in polluted}, min(read)
        cleaned = (
            e.step
            for e in uses
            if e.key in keys and e.use in ("write", "delete") and not e.polluted and e.step > begun
        )
        until = next(cleaned, scene.end + 1)
        return [step for step in later if begun <= step < until]
    return [step for step in later if step in read]


def pollution(scene: Scene, seeds: Sequence[int]) -> set[str] | None:
    """Paths that the seeds wrote and that actions resting on them wrote; null where reads were not seen."""
    if not seeds:
        return set()
    if scene.graph is None:
        return None
    tainted = {*seeds, *descendants(scene.graph, seeds)}
    return {path for step in tainted for path in scene.graph.written.get(step, ())}


def still_as_left(scene: Scene, seeds: Sequence[int]) -> set[str]:
    """Paths whose last writer is a seed or rests on one."""
    assert scene.trail is not None
    tainted = set(seeds) | (descendants(scene.graph, seeds) if scene.graph is not None else set())
    last: dict[str, tuple[int, bool]] = {}
    for move in scene.trail.moves:
        changes = move.writes if isinstance(move, Act) else move.changes
        writer = move.step if isinstance(move, Act) else -1
        for entry in changes:
            last[entry.path] = (writer, entry.kind != "absent")
    return {path for path, (writer, there) in last.items() if there and writer in tainted}


def rollbacks(scene: Scene, since: int) -> int:
    """Paths that the agent, after a place in the journal, put back to a version before the one they had."""
    assert scene.trail is not None
    past: dict[str, tuple[set[Version], Version]] = {}
    back: set[str] = set()
    for move in scene.trail.moves:
        for entry in move.writes if isinstance(move, Act) else move.changes:
            now, base = version_of(entry), version_of(scene.trail.base.get(entry.path))
            earlier, latest = past.get(entry.path, (set(), base))
            if isinstance(move, Act) and move.order > since and now in earlier and now != latest:
                back.add(entry.path)
            past[entry.path] = (earlier, now)
            earlier.add(latest)
    return len(back)


def first_correct(scene: Scene, since: int, not_these: Iterable[bytes] = ()) -> int | None:
    """First correct action after a place in the journal; see ``Effects``. Null when there is none.

    Args:
        not_these: requests that do not count, such as those that repeat earlier work.
    """
    current = {subgoal.id for subgoal in scene.task.subgoals_for(scene.goal_version)}
    rises = {
        step for name in current for step, _, value in scene.course.turns(name) if value is True and step > 0
    }
    standing, left_out = end_versions(scene), set(not_these)
    holding = scene.final.verified.passed & current
    for act in scene.after(since):
        if not act.ran_well or act.talk or act.asked in left_out:
            continue
        stands = (entry for entry in act.writes if standing.get(entry.path) == version_of(entry))
        if act.step in rises or scene.coverage.touches((entry.path for entry in stands), holding):
            return act.step
    return None


def end_versions(scene: Scene) -> dict[str, Version]:
    """The version of each changed path at the end."""
    last: dict[str, Entry] = {}
    for move in scene.trail.moves if scene.trail is not None else ():
        for entry in move.writes if isinstance(move, Act) else move.changes:
            last[entry.path] = entry
    return {path: version_of(entry) for path, entry in last.items()}


def duplicates(calls: Sequence[ServiceCalled]) -> list[ServiceCalled]:
    """Effects on a service that repeat an earlier one: same verb and arguments, another ledger row.

    An effect that was later compensated counts all the same: it happened. Requests answered from an earlier
    row by their key had no second effect.
    """
    seen: set[bytes] = set()
    found = []
    for call in calls:
        if not call.effect or call.repeats is not None or call.compensates is not None:
            continue
        intent = msgspec.json.encode([call.service, call.verb, call.arguments], order="deterministic")
        found += [call] if intent in seen else []
        seen.add(intent)
    return found
