"""What an agent says it knows, held against the world (E5).

A fact's value at a step is read from the state there. Of a report, a fact is missing when it is not named,
right when the value is the present one, outdated when it was the value at an earlier step, and wrong when it
never was. Names that the task does not declare say nothing and are left out.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.journal.entries import Entry
from seatrial.journal.events import BeliefReported
from seatrial.measure.acts import Act
from seatrial.measure.coverage import only_of
from seatrial.measure.scene import Scene
from seatrial.spec.facts import fact_path, fact_value, plain_value
from seatrial.spec.task import Fact, Task


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """The last report held against the world at the end. Names are the TrialRecord's columns.

    Attributes:
        belief_missing: M = Σ weights of facts not reported / Σ weights, in [0, 1]; lower is better.
        belief_outdated, belief_wrong: the same of facts whose reported value was true once, or never.
        stale_plan_items: of the last plan, items that name a cancelled subgoal or a path that only cancelled
            subgoals read, or that hold a fact's outdated value.
        goal_version_errors: reports that name another goal version than the one that held.
        belief_consistent: nothing of the above, by the last report; null without a report, and where the
            task declares no facts.
    """

    belief_missing: float | None = None
    belief_outdated: float | None = None
    belief_wrong: float | None = None
    stale_plan_items: int | None = None
    goal_version_errors: int | None = None
    belief_consistent: bool | None = None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One report held against the world at one step: ids of facts by how they stand."""

    step: int
    missing: list[str]
    right: list[str]
    outdated: list[str]
    wrong: list[str]


# Of each fact, the steps at which its value changed, with the value from then on; null: not true of anything.
Values = Mapping[str, Sequence[tuple[int, str | None]]]


def measure_belief(scene: Scene) -> Belief:
    """All columns of belief; null where nothing was reported, or contents are unknown."""
    reports = scene.all_of(BeliefReported)
    if not reports:
        return Belief()
    last = reports[-1]
    values = fact_values(scene)
    held = (
        None if values is None or not scene.task.fact else held_against(scene.task, last, values, scene.end)
    )
    weights = {fact.id: fact.weight for fact in scene.task.fact}
    stale = stale_items(scene, last.belief.get("plan"), values)
    errors = version_errors(reports)
    if held is None:
        return Belief(stale_plan_items=stale, goal_version_errors=errors)
    present = sum(weights[name] for name in [*held.missing, *held.right, *held.outdated, *held.wrong])

    def share(names: Sequence[str]) -> float | None:
        return round(sum(weights[name] for name in names) / present, 12) if present else None

    behind = last.belief.get("goal_version") not in (None, scene.goal_version)
    return Belief(
        belief_missing=share(held.missing),
        belief_outdated=share(held.outdated),
        belief_wrong=share(held.wrong),
        stale_plan_items=stale,
        goal_version_errors=errors,
        belief_consistent=not (held.missing or held.outdated or held.wrong or stale or behind),
    )


def held_against(task: Task, report: BeliefReported, values: Values, step: int) -> Held:
    """One report against the world as it is after a step."""
    said = reported_facts(report.belief)
    found: dict[str, list[str]] = {"missing": [], "right": [], "outdated": [], "wrong": []}
    for fact in task.fact:
        course = [value for at, value in values[fact.id] if at <= step]
        if not course or course[-1] is None:
            continue  # Nothing is true of it now, so there is nothing to know.
        value = said.get(fact.id)
        if value is None:
            found["missing"].append(fact.id)
        elif value == course[-1]:
            found["right"].append(fact.id)
        else:
            found["outdated" if value in course else "wrong"].append(fact.id)
    return Held(step=step, **found)


def reported_facts(belief: Mapping[str, Any]) -> dict[str, str | None]:
    """Names and values that a report states; none where it states facts in another form."""
    facts = belief.get("facts")
    if not isinstance(facts, Mapping):
        return {}
    return {str(name): plain_value(value) for name, value in facts.items()}


def fact_values(scene: Scene) -> Values | None:
    """Every fact's value along the trial; null where a content is unknown or the state is not trusted."""
    if scene.trail is None or not scene.trusted:
        return None
    found: dict[str, list[tuple[int, str | None]]] = {}
    for fact in scene.task.fact:
        path = fact_path(fact)
        course = [(0, scene.trail.base.get(path))]
        for move in scene.trail.moves:
            changes = move.writes if isinstance(move, Act) else move.changes
            course += [(move.step, entry) for entry in changes if entry.path == path]
        values = [(step, _value(fact, entry, scene.texts)) for step, entry in course]
        if any(not known for _, (known, _) in values):
            return None
        found[fact.id] = [(step, value) for step, (_, value) in values]
    return found


def _value(fact: Fact, entry: Entry | None, texts: Mapping[str, bytes]) -> tuple[bool, str | None]:
    """Whether the content is known, and the value in it."""
    if entry is None or entry.kind != "file" or entry.digest is None:
        return True, None
    content = texts.get(entry.digest)
    return (False, None) if content is None else (True, fact_value(fact, content))


def understood_step(scene: Scene, paths: Sequence[str], since: int) -> int | None:
    """First report from a step on that states what changed paths now say; null where none does.

    A report of the goal version that holds counts where that is what changed.
    """
    values = fact_values(scene)
    changed = [fact for fact in scene.task.fact if fact_path(fact) in paths]
    if values is None or not changed:
        return None
    for report in scene.all_of(BeliefReported):
        if report.step < since:
            continue
        right = held_against(scene.task, report, values, report.step).right
        if all(fact.id in right for fact in changed):
            return report.step
    return None


def stale_items(scene: Scene, plan: object, values: Values | None) -> int | None:
    """Items of a plan that belong to what no longer holds; null where no plan was reported."""
    if not isinstance(plan, list):
        return None
    earlier = range(1, scene.goal_version)
    cancelled = {s.id for v in earlier for s in only_of(scene.task, v, [scene.goal_version])}
    old = {
        value
        for course in (values or {}).values()
        for _, value in course[:-1]
        if value is not None and value != course[-1][1]
    }
    return sum(_is_stale(scene, item, cancelled, old) for item in plan)


def _is_stale(scene: Scene, item: object, cancelled: set[str], old: set[str]) -> bool:
    words = set(re.findall(r"[\w./~-]+", item if isinstance(item, str) else plain_value(item) or ""))
    if words & (cancelled | old):
        return True
    paths = {f"workspace/{word.removeprefix('/workspace/').lstrip('/')}" for word in words if "/" in word}
    paths |= {f"workspace/{word}" for word in words if "." in word}
    readers = [scene.coverage.readers(path) for path in paths]
    return any(names and names <= cancelled for names in readers)


def version_errors(reports: Sequence[BeliefReported]) -> int | None:
    """Reports of another goal version than the one under which they were made; null where none names one."""
    named = [report for report in reports if report.belief.get("goal_version") is not None]
    return sum(r.belief["goal_version"] != r.goal_version for r in named) if named else None
