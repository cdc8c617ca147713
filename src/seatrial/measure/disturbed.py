"""One trial's disturbance: was it delivered, seen, understood, repaired, overcome (D1–D9, D14, E9)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from seatrial.journal.events import (
    AgentKilled,
    BeliefReported,
    ContextCompacted,
    Event,
    PerturbationArmed,
    TrialStarted,
)
from seatrial.measure.belief import Belief, measure_belief, understood_step
from seatrial.measure.detection import Detection, detect
from seatrial.measure.effects import Effects, measure_effects
from seatrial.measure.mechanism import Link, Mechanism, measure_mechanism
from seatrial.measure.recovery import Recovery, measure_recovery
from seatrial.measure.scene import Firing, Scene, armed, came_about
from seatrial.records.arms import COMPACTED, INTERRUPTED, read_arm
from seatrial.spec.task import Task


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """What was planned and whether it came about. Names are the TrialRecord's columns.

    Attributes:
        oracle_cost: actions of the reference recovery, as the task declares; no journal says whether it was
            calibrated.
        delivered: everything that the arm plans came about; null for an arm that plans nothing.
        firings: how often the perturbation fired; null without one.
        understood_step: first report that states what changed.
        understood: null where nothing that could show it was reported.
        full_recovery: overcome, no earlier work undone, and the last belief consistent with the world.
    """

    perturbation: str | None = None
    perturbation_kind: str | None = None
    strength: str | None = None
    scenario: str | None = None
    oracle_cost: float | None = None
    delivered: bool | None = None
    firings: int | None = None
    fired_step: int | None = None
    understood_step: int | None = None
    understood: bool | None = None
    full_recovery: bool | None = None


def measure_disturbance(scene: Scene, strict: bool | None) -> dict[str, Any]:
    """All columns of a disturbance, by name; null for a trial that was not disturbed.

    Args:
        strict: whether the trial succeeded strictly.
    """
    firing = scene.firing
    found = planned(scene.task, scene.events)
    detection, recovery, effects, chain = Detection(), Recovery(), Effects(), Mechanism()
    if firing is not None:
        detection = detect(scene, firing)
        recovery = measure_recovery(scene, firing, detection.observed_step)
        effects = measure_effects(scene, firing, detection.detected, detection.observed_step)
        step, understood = understanding(scene, firing)
        found = msgspec.structs.replace(
            found,
            understood_step=step,
            understood=understood,
            full_recovery=full_recovery(recovery, measure_belief(scene)),
        )
        # Nobody has to get over what is cosmetic: leaving it alone breaks no chain.
        if firing.spec.kind != "placebo" and firing.spec.strength != "cosmetic":
            chain = measure_mechanism(links(firing, detection, understood, recovery, strict))
    parts: Sequence[msgspec.Struct] = (found, detection, recovery, effects, chain)
    return {name: value for part in parts for name, value in msgspec.structs.asdict(part).items()}


def planned(task: Task, events: Sequence[Event]) -> Disturbance:
    """What the arm planned, and what of it came about."""
    plan = armed(events)
    fired = came_about(events)
    expected = expectations(events, plan)
    if plan is None:
        return Disturbance(delivered=all(expected) if expected else None)
    own = [event for event in fired if event.perturbation == plan.perturbation]
    spec = next((p for p in task.perturbation if p.id == plan.perturbation), None)
    cost = None if spec is None else spec.oracle.get("actions")
    return Disturbance(
        perturbation=plan.perturbation,
        perturbation_kind=plan.change,
        strength=plan.strength,
        scenario=None if spec is None else spec.scenario,
        oracle_cost=float(cost) if isinstance(cost, int | float) else None,
        delivered=all(expected),
        firings=len(own),
        fired_step=own[0].step if own else None,
    )


def expectations(events: Sequence[Event], plan: PerturbationArmed | None) -> list[bool]:
    """What the arm plans, each with whether it came about; an interruption's kill, a compaction, a firing."""
    kind = read_arm(next((event.arm for event in events if isinstance(event, TrialStarted)), "")).kind
    found = []
    if kind == INTERRUPTED:
        found.append(any(isinstance(event, AgentKilled) for event in events))
    if kind == COMPACTED:
        found.append(any(isinstance(event, ContextCompacted) for event in events))
    if plan is not None:
        found.append(any(event.perturbation == plan.perturbation for event in came_about(events)))
    return found


def understanding(scene: Scene, firing: Firing) -> tuple[int | None, bool | None]:
    """When a report first stated what changed, and whether one ever did; null where none could have."""
    reports = [report for report in scene.all_of(BeliefReported) if report.step >= firing.step]
    if firing.goal is not None:
        named = [report for report in reports if report.belief.get("goal_version") is not None]
        right = (r.step for r in named if r.belief["goal_version"] == firing.goal.to)
        step = next(right, None)
        return step, step is not None if named else None
    step = understood_step(scene, firing.paths, firing.step)
    if step is not None:
        return step, True
    stated = [report for report in reports if report.belief.get("facts")]
    knowable = {fact.id for fact in scene.task.fact} & {
        name for report in stated for name in report.belief["facts"]
    }
    return None, False if knowable and scene.trusted else None


def full_recovery(recovery: Recovery, belief: Belief) -> bool | None:
    """The triple of D5: fault cleared, earlier valid work kept, belief consistent with the world."""
    kept = None if recovery.undone_work is None else recovery.undone_work == 0
    parts = (recovery.recovered, kept, belief.belief_consistent)
    return False if False in parts else (None if None in parts else True)


def links(
    firing: Firing,
    detection: Detection,
    understood: bool | None,
    recovery: Recovery,
    strict: bool | None,
) -> dict[Link, bool | None]:
    """Which links of the mechanism chain held."""
    repaired: bool | None = recovery.repaired_step is not None or recovery.recovered is True
    if not repaired and recovery.recovered is None:
        repaired = None
    return {
        # A change that no reading shows is seen by who runs into it, such as a denial after a revocation.
        "visible": not firing.event.visible.get("hidden") or detection.detected,
        "observed": detection.detected,
        "understood": understood,
        "repaired": repaired,
        "finished": strict,
    }
