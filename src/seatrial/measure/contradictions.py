"""Parallel verifiers of one group that disagree about one state (A13)."""

from collections.abc import Sequence

from seatrial.measure.verified import Verified
from seatrial.spec.task import Task


def contradictions(task: Task, course: Sequence[Verified]) -> list[str]:
    """One sentence per group and spell of disagreement, by the step at which it began.

    Unknown verdicts contradict nothing. A spell ends when the group agrees or divides otherwise.
    """
    groups: dict[str, list[str]] = {}
    for subgoal in task.subgoal:
        if subgoal.group is not None and subgoal.composition == "parallel":
            groups.setdefault(subgoal.group, []).append(subgoal.id)
    found, standing_since = [], dict[str, str]()
    for point in course:
        for group, members in groups.items():
            division = divided(members, point)
            if division and standing_since.get(group) != division:
                found.append(f"group {group}, step {point.step}: {division}")
            standing_since[group] = division
    return found


def divided(members: Sequence[str], point: Verified) -> str:
    """How a group divides, in words; empty when it does not."""
    passing = [name for name in members if name in point.passed]
    failing = [name for name in members if name in point.failed]
    return f"{', '.join(passing)} pass; {', '.join(failing)} fail" if passing and failing else ""
