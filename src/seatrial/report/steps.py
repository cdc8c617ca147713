"""A trial step by step: what was asked, what came of it, what changed, and which verdicts moved."""

from collections.abc import Sequence
from typing import Any

import msgspec

from seatrial.evidence.read import AttemptEvidence
from seatrial.journal.entries import State, fold
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    ConstraintViolated,
    EffectRecorded,
    Event,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, base_state, changes_of
from seatrial.records.verdicts import TrialVerdicts
from seatrial.report.filediff import PathChange, describe_changes
from seatrial.report.happenings import happening


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """A subgoal whose verdict moved; ``before`` is null at its first verdict."""

    subgoal: str
    before: str | None
    after: str
    evidence: Any = None


class StepShown(msgspec.Struct, kw_only=True):
    """One step; step 0 is the proven reset and has no action.

    Attributes:
        outcome: null when the action was requested and never finished.
        observation: the text the agent was shown; null when there is none.
        progress: verified progress after the step, in [0, 1]; null when not judged.
        violations: constraint, hard, certain and severity of each.
        unwatched: constraints that could not be watched during this action.
        happened: disturbances, kills, people and temptations in words, in their order.
        waste: ``idle``, ``unread``, ``undone``, as the measures have it; empty also where that is unknown.
    """

    step: int
    goal_version: int = 1
    tool: str | None = None
    arguments: dict[str, Any] = {}
    decision: str | None = None
    reason: str = ""
    outcome: str | None = None
    exit_code: int | None = None
    observation: str | None = None
    changes: list[PathChange] = []
    verdicts: list[VerdictChange] = []
    violations: list[dict[str, Any]] = []
    unwatched: list[str] = []
    progress: float | None = None
    happened: list[str] = []
    waste: list[str] = []


def trial_steps(journal: Journal, attempt: AttemptEvidence, objects: ObjectStore) -> list[StepShown]:
    """Every step of a trial, step 0 first. Reads objects for diffs and observations.

    Args:
        journal: of the attempt.
        attempt: as measured.
        objects: the run's.

    Raises:
        JournalError: an object that the journal names is missing or damaged.
    """
    state = base_state(journal, objects)
    steps = [StepShown(step=0)]
    for event in journal.events:
        if isinstance(event, ActionRequested):
            steps.append(StepShown(step=event.step, tool=event.tool, arguments=event.arguments))
        take_event(steps, event, state, objects)
    add_verdicts(steps, attempt.verdicts)
    values = dict(attempt.progress)
    kinds = {kind: set(found or ()) for kind, found in msgspec.structs.asdict(attempt.waste).items()}
    value: float | None = None
    for shown in steps:
        shown.progress = value = values.get(shown.step, value)
        shown.waste = [kind for kind, wasted in kinds.items() if shown.step in wasted]
    return steps


def take_event(steps: list[StepShown], event: Event, state: State, objects: ObjectStore) -> None:
    """Enter one event into the step it belongs to, and fold its changes into the state."""
    current = steps[-1]
    current.goal_version = max(current.goal_version, event.goal_version)
    told = happening(event)
    if told is not None:
        current.happened = [*current.happened, told]
    match event:
        case ActionDecided():
            current.decision, current.reason = event.decision, event.reason or (event.constraint or "")
        case ActionFinished():
            current.outcome, current.exit_code = event.outcome, event.exit_code
            current.observation = objects.get(event.observation).decode("utf-8", "replace")
            current.unwatched = list(event.windows)
            take_changes(current, event, state, objects)
        case EffectRecorded() if not event.is_told_again:
            take_changes(current, event, state, objects)
        case ConstraintViolated():
            found = {"constraint": event.constraint, "hard": event.hard, "certain": event.certain}
            evidence = {"severity": event.severity, "evidence": event.evidence}
            current.violations = [*current.violations, {**found, **evidence}]


def take_changes(
    current: StepShown, event: ActionFinished | EffectRecorded, state: State, objects: ObjectStore
) -> None:
    """Describe an event's changes before they are folded in."""
    changes = changes_of(event, objects)
    actor = event.actor if isinstance(event, EffectRecorded) else None
    current.changes = current.changes + describe_changes(state, changes, objects, actor)
    fold(state, changes)


def add_verdicts(steps: Sequence[StepShown], verdicts: TrialVerdicts) -> None:
    """Enter the verdicts that moved at each step."""
    by_step = {shown.step: shown for shown in steps}
    latest: dict[str, str] = {}
    for row in sorted(verdicts.rows, key=lambda row: row.step):
        before, now = latest.get(row.subgoal), row.verdict
        if before != now and row.step in by_step:
            change = VerdictChange(subgoal=row.subgoal, before=before, after=now, evidence=row.evidence)
            by_step[row.step].verdicts = [*by_step[row.step].verdicts, change]
        latest[row.subgoal] = now
