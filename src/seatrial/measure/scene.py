"""All that measures of disturbance look at in one trial, gathered once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from seatrial.journal.entries import Entry
from seatrial.journal.events import (
    ActionFinished,
    BeliefReported,
    EffectRecorded,
    Event,
    GoalChanged,
    PerturbationArmed,
    PerturbationFired,
    TrialEnded,
)
from seatrial.measure.acts import Act, Shift, Trail, rest_of, trail_of
from seatrial.measure.coverage import Coverage
from seatrial.measure.deeds import Deltas, changes_in
from seatrial.measure.outcome import FinalState
from seatrial.measure.trajectory import Graph, dependence
from seatrial.measure.verdict_course import VerdictCourse
from seatrial.measure.verified import last_step
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.facts import fact_path
from seatrial.spec.task import Perturbation, Task

E = TypeVar("E", bound=Event)
# Larger texts are not looked into: what they show is then unknown.
MOST_BYTES = 1 << 20


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """The first time the trial was disturbed.

    Attributes:
        order: place of the line in the journal.
        spec: as the task declares it.
        paths: state paths that were changed.
        goal: the change of goal it brought; null for other kinds.
    """

    step: int
    order: int
    spec: Perturbation
    event: PerturbationFired
    paths: list[str]
    goal: GoalChanged | None


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt.

    Attributes:
        trusted: the audit found the tracked state equal to the live one, and every action's change is known.
        trail: null where large deltas were not handed in.
        graph: which action rests on which; null where reads were not seen, or the state is not trusted.
        texts: objects by digest, as far as they were handed in.
        end: the last step.
    """

    task: Task
    events: Sequence[Event]
    trail: Trail | None
    graph: Graph | None
    coverage: Coverage
    course: VerdictCourse
    final: FinalState
    texts: Mapping[str, bytes]
    trusted: bool
    firing: Firing | None
    end: int

    def all_of(self, kind: type[E]) -> list[E]:
        """Every event of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def goal_version(self) -> int:
        """Current at the end."""
        return self.final.verified.goal_version

    @property
    def acts(self) -> list[Act]:
        """Every action, where its changes can be trusted; else none."""
        return self.trail.acts if self.trail is not None and self.trusted else []

    def after(self, order: int) -> list[Act]:
        """Actions whose last line comes after a place in the journal; of one that was under way, its rest."""
        begun: dict[int, list[Shift]] = {}
        for move in () if self.trail is None else self.trail.moves:
            if isinstance(move, Shift) and move.own and move.order < order:
                begun.setdefault(move.step, []).append(move)
        later = (act for act in self.acts if act.order > order)
        return [rest_of(act, begun[act.step]) if act.step in begun else act for act in later]

    def holds_at_end(self, subgoals: Iterable[str]) -> bool | None:
        """Whether all of some subgoals pass in the final state, judged afresh; null where unknown."""
        names, last = set(subgoals), self.final.verified
        if not names or not self.trusted:
            return None
        return False if names & last.failed else (None if names & last.unknown else True)

    def changed_by(self, firing: Firing) -> list[Entry]:
        """What a firing changed in the state."""
        return [] if self.trail is None else changes_of_firing(self.trail, firing)

    def content_before(self, path: str, order: int) -> Entry | None:
        """What stood at a path before a place in the journal; null where nothing did."""
        assert self.trail is not None
        found = self.trail.base.get(path)
        for move in self.trail.moves:
            if move.order >= order:
                break
            changes = move.writes if isinstance(move, Act) else move.changes
            found = next((entry for entry in changes if entry.path == path), found)
        return None if found is None or found.kind == "absent" else found


def scene_of(
    task: Task, events: Sequence[Event], verdicts: TrialVerdicts, final: FinalState, deltas: Deltas | None
) -> Scene:
    """Gather one attempt.

    Args:
        deltas: what the journal only names; without it no path is known.
    """
    ended = next((event for event in reversed(events) if isinstance(event, TrialEnded)), None)
    trail = None if deltas is None else trail_of(events, deltas)
    firing = first_firing(task, events)
    if firing is not None and trail is not None:
        # The event names the first few paths only; the change before it has them all.
        changed = {entry.path for entry in changes_of_firing(trail, firing)}
        firing = msgspec.structs.replace(firing, paths=sorted(changed.union(firing.paths)))
    trusted = ended is not None and ended.audit == "equal" and (trail is None or trail.finished)
    return Scene(
        task=task,
        events=events,
        trail=trail,
        graph=dependence(trail) if trusted and trail is not None else None,
        coverage=Coverage(task),
        course=VerdictCourse(verdicts),
        final=final,
        texts={} if deltas is None else deltas.texts,
        trusted=trusted,
        firing=firing,
        end=last_step(events),
    )


def changes_of_firing(trail: Trail, firing: Firing) -> list[Entry]:
    """What a firing changed in the state: the change that the harness recorded just before it."""
    shifts = [move for move in trail.moves if isinstance(move, Shift) and move.order < firing.order]
    own = bool(shifts) and shifts[-1].note == f"perturbation {firing.spec.id}"
    return list(shifts[-1].changes) if own else []


def first_firing(task: Task, events: Sequence[Event]) -> Firing | None:
    """The first firing that changed what it was to change; null where there is none."""
    specs = {spec.id: spec for spec in task.perturbation}
    for order, event in enumerate(events):
        if (
            isinstance(event, PerturbationFired)
            and event.perturbation in specs
            and "undelivered" not in event.details
        ):
            changed = (e for e in events if isinstance(e, GoalChanged))
            goal = next((e for e in changed if e.perturbation == event.perturbation), None)
            return Firing(
                step=event.step,
                order=order,
                spec=specs[event.perturbation],
                event=event,
                paths=list(event.paths),
                goal=goal if event.change == "goal" else None,
            )
    return None


def needed_texts(task: Task, events: Sequence[Event], deltas: Deltas) -> set[str]:
    """Digests of the objects that measures of a disturbed trial, or of beliefs, look into.

    Nothing for a trial that was not disturbed and reported no belief, so that others cost nothing.
    """
    wanted: set[str] = set()
    fired = [i for i, event in enumerate(events) if isinstance(event, PerturbationFired)]
    paths: set[str] = set()
    if fired:
        paths |= {path for event in events if isinstance(event, PerturbationFired) for path in event.paths}
        for event in events[fired[0] :]:
            if isinstance(event, ActionFinished) and event.shown_bytes <= MOST_BYTES:
                wanted.add(event.observation)
    if task.fact and any(isinstance(event, BeliefReported) for event in events):
        paths |= {fact_path(fact) for fact in task.fact}
    if not paths:
        return wanted
    entries = [deltas.base[path] for path in paths if path in deltas.base]
    for event in events:
        if isinstance(event, ActionFinished | EffectRecorded):
            entries += [entry for entry in changes_in(event, deltas) if entry.path in paths]
    small = (e for e in entries if e.kind == "file" and e.digest is not None and e.size <= MOST_BYTES)
    return wanted | {entry.digest for entry in small if entry.digest is not None}


def armed(events: Sequence[Event]) -> PerturbationArmed | None:
    """The perturbation that might have fired; null where none was armed.

    Of several, as a fork may have, the one whose firing is measured; the first where none fired.
    """
    waiting = [event for event in events if isinstance(event, PerturbationArmed)]
    fired = {event.perturbation for event in came_about(events)[:1]}
    return next((event for event in waiting if event.perturbation in fired), next(iter(waiting), None))


def came_about(events: Iterable[Event]) -> list[PerturbationFired]:
    """Firings that disturbed something, or were placebos: not those whose change could not be made."""
    fired = [event for event in events if isinstance(event, PerturbationFired)]
    return [event for event in fired if "undelivered" not in event.details]
