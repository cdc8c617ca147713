"""What must be measured for a trial on the disturbed task, worked out from its seed without any sandbox.

Written apart from the rooms that measure. Names are the TrialRecord's columns, and mean the same.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks.disturbed_task import (
    ACK_LOST,
    GOAL_CHANGED,
    GOAL_CLASHES,
    NEW_RATE,
    PLACEBO,
    RATE_CHANGED,
    place_of,
    subgoals,
)
from benchmarks.shadow import CONFIG, TOLD, Course, Deed, Offered, Shadow

NEEDS = {name: after for name, after, _ in subgoals()}
GOALS = {name: goals for name, _, goals in subgoals()}
# What must pass for a disturbance to be overcome.
RECOVERED = {RATE_CHANGED: "part-2", GOAL_CHANGED: "new", ACK_LOST: "paid"}


@dataclass(frozen=True)
class DisturbedTruth:
    """Steps are null where nothing of the kind happened.

    Attributes:
        local_right: whether the purely local part is right at the end; null where the goal no longer has it.
        looks: times the changed rate was shown before it was understood, or to the end.
    """

    delivered: bool | None
    strict_success: bool
    actions: int
    goal_final: int
    fired_step: int | None
    detected: bool | None
    observed_step: int | None
    understood_step: int | None
    repaired_step: int | None
    recovered: bool | None
    recovered_step: int | None
    recovery_cost: float | None
    adopted: bool | None
    adoption_step: int | None
    residue_actions: int | None
    conflict_detected: bool | None
    killed_step: int | None
    resumed_step: int | None
    redone_actions: int | None
    repeated_effects: int | None
    duplicate_effects: int
    local_right: bool | None
    looks: int


# In the record these have another place, or none.
BESIDE = ("local_right", "looks")


def disturbed_truth(config: dict[str, Any], seed: int, arm: str, offered: Offered) -> DisturbedTruth:
    """Replay one trial and say what must be measured; see ``Shadow`` for the arguments."""
    course = Shadow(config, seed, arm, offered).play()
    kind, _, disturbs = arm.partition(":")
    disturbs = disturbs if kind == "perturbed" else ""
    deeds, end = course.deeds, course.deeds[-1]
    after = [deed for deed in deeds if deed.order >= course.order_fired] if course.fired is not None else []
    fired = course.fired if kind == "perturbed" else None
    observed, detected = _observed(disturbs, fired, after)
    repaired, recovered, since = _recovery(disturbs, course)
    resumed = [deed for deed in deeds if deed.order >= course.order_resumed] if course.killed else []
    planned = {"perturbed": fired is not None, "interrupted": course.killed is not None}
    charges = [deed for deed in deeds if deed.charged]
    surfaced = end.move.kind == "surface" if course.goal == 3 else None
    if surfaced is not None:
        recovered, since = surfaced and "apart" in end.right, None
    return DisturbedTruth(
        delivered=planned.get(kind),
        strict_success=_succeeds(end.right, course.goal) and surfaced is not False,
        actions=len(deeds),
        goal_final=course.goal,
        fired_step=fired,
        detected=detected,
        observed_step=observed,
        understood_step=_understood(disturbs, after),
        repaired_step=repaired,
        recovered=recovered,
        recovered_step=since,
        recovery_cost=None if since is None or fired is None else float(since - fired),
        adopted=_adopted(after) is not None if course.goal == 2 else None,
        adoption_step=_adopted(after) if course.goal == 2 else None,
        residue_actions=_residue(after, course.goal) if course.goal > 1 else None,
        conflict_detected=surfaced,
        killed_step=course.killed,
        resumed_step=course.resumed,
        redone_actions=_redone(course, resumed) if course.killed else None,
        repeated_effects=sum(d in resumed for d in charges[1:]) if course.killed else None,
        duplicate_effects=max(0, len(charges) - 1),
        local_right={"local-1", "local-2"} <= end.right if course.goal in GOALS["local-1"] else None,
        looks=_looks(after),
    )


def _succeeds(right: frozenset[str], goal: int) -> bool:
    return {name for name, goals in GOALS.items() if goal in goals} <= right


def _observed(disturbs: str, fired: int | None, after: list[Deed]) -> tuple[int | None, bool | None]:
    if fired is None or disturbs == PLACEBO:
        return None, None
    if disturbs in (GOAL_CHANGED, GOAL_CLASHES, ACK_LOST):
        return fired, True
    step = next((deed.step for deed in after if _shows_rate(deed)), None)
    return step, step is not None


def _shows_rate(deed: Deed) -> bool:
    return deed.move.action["arguments"].get("path") == CONFIG and deed.outcome == "ok"


def _understood(disturbs: str, after: list[Deed]) -> int | None:
    """First report that says what is now so."""
    reports = [deed for deed in after if deed.move.action["tool"] == "report_belief"]
    told = [(deed.step, deed.move.action["arguments"]) for deed in reports]
    if disturbs == RATE_CHANGED:
        return next((step for step, said in told if said["facts"]["rate"] == NEW_RATE), None)
    if disturbs in TOLD:
        version, _ = TOLD[disturbs]
        return next((step for step, said in told if said["goal_version"] == version), None)
    return None


def _looks(after: list[Deed]) -> int:
    count = 0
    for deed in after:
        if deed.move.kind == "belief":
            break
        count += _shows_rate(deed)
    return count


def _credited(right: frozenset[str], name: str) -> bool:
    return name in right and all(_credited(right, needed) for needed in NEEDS[name])


def _recovery(disturbs: str, course: Course) -> tuple[int | None, bool | None, int | None]:
    """Step at which what must pass first came to pass after the firing, whether it does at the end, and since
    when for good."""
    if course.fired is None or disturbs not in RECOVERED:
        return None, None, None
    name, rises, before = RECOVERED[disturbs], [], None
    for deed in course.deeds:
        passes = name in deed.right
        if deed.step > course.fired and passes and not before:
            rises.append(deed.step)
        before = passes
    holds = name in course.deeds[-1].right
    since = None
    if holds:
        failing = [deed.step for deed in course.deeds if name not in deed.right]
        since = max(course.fired, (failing[-1] if failing else 0) + 1)
    return (rises[0] if rises else None), holds, since


def _adopted(after: list[Deed]) -> int | None:
    return next((deed.step for deed in after if deed.changed == place_of("new")), None)


def _residue(after: list[Deed], goal: int) -> int:
    """Actions that left a file that only subgoals of the first version, and not of the new one, are about."""
    dropped = {place_of(name) for name, goals in GOALS.items() if 1 in goals and goal not in goals}
    return sum(deed.changed in dropped for deed in after)


def _redone(course: Course, resumed: list[Deed]) -> int:
    """Actions after the new start that ran and are equal to one before it that changed something."""
    work = {deed.asked for deed in course.deeds if deed not in resumed and deed.worked}
    return sum(deed.asked in work and not deed.repeats for deed in resumed)
