"""Order and depth of a task's subgoals, and its human time."""

from collections.abc import Callable, Sequence
from statistics import fmean, geometric_mean, median

from seatrial.spec.graph import depth
from seatrial.spec.task import HumanMinutes, Subgoal


def topological(subgoals: Sequence[Subgoal]) -> list[Subgoal]:
    """Prerequisites first, as declared otherwise. Prerequisites outside the given subgoals do not count."""
    placed: set[str] = set()
    names, waiting, order = {s.id for s in subgoals}, list(subgoals), []
    while waiting:
        # A cycle is refused when the task is loaded; should one come through, the rest keeps its order.
        ready = next((s for s in waiting if names.intersection(s.after) <= placed), waiting[0])
        waiting.remove(ready)
        placed.add(ready.id)
        order.append(ready)
    return order


def dependency_depth(subgoals: Sequence[Subgoal]) -> int:
    """Nodes on the longest chain of prerequisites; 0 without subgoals."""
    names = {subgoal.id for subgoal in subgoals}
    return depth({subgoal.id: names.intersection(subgoal.after) for subgoal in subgoals})


def human_minutes(declared: HumanMinutes | None) -> float | None:
    """One figure in minutes by the declared estimator; failed attempts do not enter. Null without times."""
    if declared is None or not declared.times:
        return None
    estimators: dict[str, Callable[[Sequence[float]], float]] = {
        "geometric-mean": geometric_mean,
        "arithmetic-mean": fmean,
        "median": median,
    }
    return estimators[declared.estimator](declared.times)
