"""Which passed subgoals count, and what they are worth (A3, A17)."""

from collections.abc import Collection
from fractions import Fraction

from seatrial.spec.graph import ordered
from seatrial.spec.task import Task


def credited(task: Task, passed: Collection[str], goal_version: int) -> set[str]:
    """The subgoals of a goal version that passed and whose prerequisites, and theirs, passed too.

    Args:
        task: the task.
        passed: ids whose verdict on the present state is ``pass``.
        goal_version: the goal that holds.
    """
    after = {s.id: s.after for s in task.subgoal}
    counted: set[str] = set()
    for node in ordered(after):
        if node in passed and counted.issuperset(after[node]):
            counted.add(node)
    return counted & {s.id for s in task.subgoals_for(goal_version)}


def progress(task: Task, passed: Collection[str], goal_version: int) -> float:
    """Share of the weight of a goal version's subgoals that is credited, 0 to 1, higher is better.

    Weights are added as the decimal fractions they were written as, so that three of five equal ones are
    0.6 and all of them are exactly 1.0.
    """
    weights = {s.id: Fraction(repr(s.weight)) for s in task.subgoals_for(goal_version)}
    total = sum(weights.values())
    if not total:
        return 0.0
    return float(sum(weights[node] for node in credited(task, passed, goal_version)) / total)
