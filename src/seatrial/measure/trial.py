"""One trial's journal and verdicts to one TrialRecord."""

from collections.abc import Sequence
from typing import Any

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.events import (
    AgentStarted,
    ContaminationFlagged,
    Event,
    TrialEnded,
    TrialStarted,
)
from seatrial.journal.run import TrialPlanned
from seatrial.measure.belief import measure_belief
from seatrial.measure.conditions import measure_conditions
from seatrial.measure.contradictions import contradictions
from seatrial.measure.costs import count_costs
from seatrial.measure.dag import dependency_depth, human_minutes
from seatrial.measure.deeds import Deltas
from seatrial.measure.disturbed import measure_disturbance
from seatrial.measure.encounters import count_encounters
from seatrial.measure.failure import measure_failure
from seatrial.measure.goals import GoalChange, measure_goals, taken_up
from seatrial.measure.interrupted import measure_interruption
from seatrial.measure.outcome import final_state, outcome
from seatrial.measure.progress import progress_course, progress_curve, progress_measures
from seatrial.measure.retries import count_retries
from seatrial.measure.scene import Scene, scene_of
from seatrial.measure.trajectory import measure_trajectory
from seatrial.measure.verified import check_fits, last_step
from seatrial.measure.violations import count_violations
from seatrial.measure.waste import WastedSteps, count_waste, wasted_steps
from seatrial.records.trial import TrialRecord
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.task import Task


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, measured.

    Attributes:
        progress: pairs (step, value in [0, 1]) at which verified progress changes.
        waste: which actions were idle or wasted.
        goal_changes: how each change of goal was taken up, in order.
    """

    record: TrialRecord
    progress: list[tuple[int, float]]
    waste: WastedSteps
    goal_changes: list[GoalChange] = []


def measure_trial(
    task: Task,
    planned: TrialPlanned,
    events: Sequence[Event],
    verdicts: TrialVerdicts,
    infrastructure: bool,
    experiment_id: str,
    deltas: Deltas | None = None,
) -> Measured:
    """All measures of one attempt, from its journal and verdict table alone.

    Args:
        task: as frozen in the run's manifest.
        planned: the cell of the plan this attempt belongs to.
        events: the whole journal, in order.
        verdicts: of the same attempt; without rows and final verdicts everything they decide is null.
        infrastructure: the run's index says that the end was not the system's doing.
        experiment_id: digest of the five frozen objects.
        deltas: what the journal only names; without it the wasted actions are null.

    Raises:
        JournalError: the verdict table belongs to another attempt, or the journal has no first line.
    """
    started = events[0] if events else None
    if not isinstance(started, TrialStarted):
        raise JournalError(f"trial {planned.trial}: the journal does not begin with trial.started.")
    named = (planned.trial, started.attempt)
    if (verdicts.trial, verdicts.attempt) != named or started.trial != planned.trial:
        raise JournalError(
            f"trial {planned.trial}: plan, journal and verdicts name different attempts: {named}, "
            f"{(started.trial, started.attempt)}, {(verdicts.trial, verdicts.attempt)}. "
            "Judge the run again with `seatrial verify RUN`."
        )
    check_fits(task, events, verdicts)
    final = final_state(task, events, verdicts)
    broken = count_violations(task, events)
    course = progress_course(task, events, verdicts, final.verified)
    waste = wasted_steps(events, deltas)
    result = outcome(task, events, final, broken, infrastructure)
    scene = scene_of(task, events, verdicts, final, deltas)
    changes = taken_up(scene)
    columns = together(
        conditions(started, events),
        result,
        progress_measures(course, verdicts, last_step(events)),
        count_costs(events),
        count_waste(waste),
        measure_goals(scene, changes),
        *shown_by(scene, result.strict_success),
    )
    columns |= measure_disturbance(scene, result.strict_success)
    columns["hard_violations"] = broken.hard
    columns |= together(measure_failure(scene, columns))
    record = TrialRecord(
        experiment=experiment_id,
        trial=planned.trial,
        attempt=started.attempt,
        task=task.id,
        task_version=task.version,
        family=task.family,
        system=planned.system,
        arm=planned.arm,
        seed=planned.seed,
        repeat=planned.repeat,
        unknown_windows=broken.unknown_windows,
        soft_cost=broken.soft_cost,
        human_minutes=human_minutes(task.human_minutes),
        human_source=None if task.human_minutes is None else task.human_minutes.source,
        dependency_depth=dependency_depth(task.subgoals_for(final.verified.goal_version)),
        verification_delay=task.horizon.verification_delay,
        horizon_group=task.horizon.group,
        variant_of=original_of(task),
        contradictions=contradictions(task, course or [final.verified]),
        **columns,
    )
    return Measured(record=record, progress=progress_curve(course), waste=waste, goal_changes=changes)


def unstarted(task: Task, planned: TrialPlanned, attempt: int, experiment_id: str) -> TrialRecord:
    """The row of an attempt that could not even begin a journal: infrastructure, all else unknown."""
    return TrialRecord(
        experiment=experiment_id,
        trial=planned.trial,
        attempt=attempt,
        task=task.id,
        task_version=task.version,
        family=task.family,
        system=planned.system,
        arm=planned.arm,
        seed=planned.seed,
        repeat=planned.repeat,
        horizon_group=task.horizon.group,
        variant_of=original_of(task),
        terminal_class="infrastructure",
    )


def original_of(task: Task) -> str | None:
    """The task that this one is a variant of, as its provenance says; null for an original."""
    named = task.provenance.get("variant_of")
    return named if isinstance(named, str) else None


def together(*parts: msgspec.Struct) -> dict[str, Any]:
    """The fields of several structs, by name; no two have one of the same name."""
    return {name: value for part in parts for name, value in msgspec.structs.asdict(part).items()}


def shown_by(scene: Scene, strict: bool | None) -> list[msgspec.Struct]:
    """Measures that a trial shows whether it was disturbed or not."""
    return [
        measure_interruption(scene),
        count_retries(scene),
        measure_trajectory(scene.graph, scene.task, scene.coverage, scene.course, scene.goal_version),
        measure_belief(scene),
        count_encounters(scene.task, scene.events, scene.final),
        measure_conditions(scene, strict),
    ]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown."""

    agent_confined: bool | None
    privileged: bool | None
    sandboxed: bool | None
    audit: str | None
    contaminated: bool | None


def conditions(started: TrialStarted, events: Sequence[Event]) -> Conditions:
    """What the journal says about how far it can be trusted; null where it does not say."""
    agents = [event.confined for event in events if isinstance(event, AgentStarted)]
    told = [event.details.get("privileged") for event in events if isinstance(event, AgentStarted)]
    ends = [event.audit for event in events if isinstance(event, TrialEnded)]
    sandboxed = started.conditions.get("sandboxed")
    # Not having flagged anything is evidence only where something looked.
    looked = started.conditions.get("contamination_watched") is True
    flagged = any(isinstance(event, ContaminationFlagged) for event in events)
    return Conditions(
        agent_confined=all(agents) if agents else None,
        privileged=told[-1] if told else None,
        sandboxed=sandboxed if isinstance(sandboxed, bool) else None,
        audit=ends[-1] if ends else None,
        contaminated=True if flagged else (False if looked else None),
    )
