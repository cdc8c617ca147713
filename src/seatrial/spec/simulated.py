"""The knobs of a simulated agent (``options`` of ``agent = "simulated"``) and what it is configured with."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from seatrial.spec.experiment import Step
from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.graph import depths
from seatrial.spec.plan_file import ACTIONS, Plan
from seatrial.spec.reading import convert
from seatrial.spec.task import Strict, Task

# Another number where the same seed and options would lead to other actions.
HARNESS = "simulated@2"
ATTEMPTS = 100
AT_DEPTH = "depth:"


class SimulatedOptions(Strict, frozen=True, kw_only=True):
    """Numbers are probabilities, 0 to 1, but for ``attempts``. Without options the agent plays the plan
    faultlessly and pays no heed to what it is shown.

    Attributes:
        skill: that a try of a step is right; a number, or a table by subgoal, ``depth:N`` (N nodes on the
            longest chain that ends in the subgoal) or pattern with ``*`` and ``?``. A subgoal's own name
            comes first, then its depth, then the longest pattern.
        checking: that a fault is noticed when it was just made: the agent looks and does the step again.
        attempts: how often a step is tried at most, 1 to 100.
        drift: after each step, that one of the earlier steps that stand is broken, each alike.
        forget: at each step, that the constraints are forgotten from there on: every shortcut is taken.
        shortcut: at each step that has a shortcut, that it is taken knowingly.
        give_up: at each step, that the agent gives up.
        premature: at each step, that it says it has finished.
        repeat: after each try, that the same action is played again without having read anything.
        idle: after each step, that it is looked at twice over.
        detection: each time a disturbance is shown, that it is noticed.
        reread: before each step, that what it depends on is looked at again.
        refresh: that the belief is brought up to date with what was noticed.
        recover: that what was noticed is repaired.
        retry: what follows an end that is unknown, or was never seen because of an interruption.
        checkpoint: at each step, that a checkpoint is wanted before each of its actions.
        memory: whether the agent keeps its progress in the memory that it is offered.
        surfaces: that an agent that is told of a goal which contradicts the one before says so and stops.
        obey: that a new version of the goal is followed when it is told.
        tempted: that a temptation is given in to.
    """

    skill: float | dict[str, float] = 1.0
    checking: float = 0.0
    attempts: int = 3
    drift: float = 0.0
    forget: float = 0.0
    shortcut: float = 0.0
    give_up: float = 0.0
    premature: float = 0.0
    repeat: float = 0.0
    idle: float = 0.0
    detection: float = 0.0
    reread: float = 0.0
    refresh: float = 1.0
    recover: float = 1.0
    retry: Literal["idempotent", "query", "blind", "never"] = "never"
    checkpoint: float = 0.0
    memory: bool = False
    surfaces: float = 0.0
    obey: float = 0.0
    tempted: float = 0.0


# Knobs that are one probability.
HAZARDS = tuple(
    field.name for field in msgspec.structs.fields(SimulatedOptions) if isinstance(field.default, float)
)[1:]


def read_options(source: Source, place: str, options: dict[str, Any]) -> SimulatedOptions:
    """Options as they stand in a system.

    Args:
        source: the experiment.
        place: key path of the options.
        options: plain data.

    Raises:
        SpecError: an unknown knob, a wrong type or a value out of range.
    """
    inside = source.within(place)
    read = convert(inside, options, SimulatedOptions)
    if isinstance(read.skill, dict):
        for key, value in read.skill.items():
            _check_key(inside, key)
            check_range(inside, f"skill.{key}", value, 0, 1)
    else:
        check_range(inside, "skill", read.skill, 0, 1)
    for knob in HAZARDS:
        check_range(inside, knob, getattr(read, knob), 0, 1)
    check_range(inside, "attempts", read.attempts, 1, ATTEMPTS)
    return read


def _check_key(source: Source, key: str) -> None:
    level = key.removeprefix(AT_DEPTH)
    if level != key and not (level.isascii() and level.isdigit() and int(level) > 0):
        raise source.fault(f"skill.{key}", f"{shown(level)} is no depth", f'Write "{AT_DEPTH}1" or more')


def check_covers(source: Source, place: str, options: SimulatedOptions, task: Task, plan: Plan) -> None:
    """Refuse a table of skills that leaves a step of a plan without one.

    Raises:
        SpecError: names the subgoal.
    """
    for step, level in zip(plan.step, _levels(task, plan), strict=True):
        if skill_at(options.skill, step.subgoal, level) is None:
            raise source.fault(
                f"{place}.skill", f"no key covers the subgoal {shown(step.subgoal)} of {shown(task.id)}",
                'Add it, or "*" for all others',
            )  # fmt: skip


def check_fits(
    source: Source, place: str, options: SimulatedOptions, plans: Iterable[tuple[Task, Plan]]
) -> None:
    """Refuse a table of skills with a key that fits no step of any plan: it would mean nothing.

    Raises:
        SpecError: names the key.
    """
    if not isinstance(options.skill, dict):
        return
    subgoals, levels = set[str](), set[str]()
    for task, plan in plans:
        subgoals |= {step.subgoal for step in plan.step}
        levels |= {f"{AT_DEPTH}{level}" for level in _levels(task, plan)}
    for key in options.skill:
        if key not in levels and not any(name == key or fnmatchcase(name, key) for name in subgoals):
            raise source.fault(
                f"{place}.skill.{key}", "it fits no subgoal and no depth in the plans of the tasks",
                choose(key, subgoals | levels, "a subgoal or depth"),
            )  # fmt: skip


def skill_at(skill: float | dict[str, float], subgoal: str, level: int) -> float | None:
    """Probability that a try of a subgoal is right; null when no key of the table covers it."""
    if not isinstance(skill, dict):
        return skill
    for key in (subgoal, f"{AT_DEPTH}{level}"):
        if key in skill:
            return skill[key]
    patterns = [key for key in skill if fnmatchcase(subgoal, key)]
    # Tables are kept without their order, so the order of the file cannot decide.
    return skill[max(patterns, key=lambda key: (len(key), key))] if patterns else None


def agent_config(options: SimulatedOptions, task: Task, plan: Plan) -> dict[str, Any]:
    """What the agent's process is given: the knobs, the steps with skill and actions, how it reacts."""
    numbers = {step.subgoal: number for number, step in enumerate(plan.step)}
    steps = [
        {
            "subgoal": step.subgoal,
            "skill": skill_at(options.skill, step.subgoal, level),
            "shortcut_passes": step.shortcut_passes,
            **{key: _action(getattr(step, key)) for key in (*ACTIONS, "query")},
            "query_done": step.query_done,
            "key": step.key,
            "goals": step.goals,
            "depends": step.depends,
        }
        for step, level in zip(plan.step, _levels(task, plan), strict=True)
    ]
    reactions = [
        {
            "perturbation": reaction.perturbation,
            "temptation": reaction.temptation,
            "shown": reaction.shown,
            "look": _action(reaction.look),
            "repair": sorted(numbers[name] for name in reaction.repair),
            "steps": [_action(step) for step in reaction.step],
            "after": reaction.belief.after,
        }
        for reaction in plan.reaction
    ]
    conflicts = {goal.version for goal in task.goal if goal.expect is not None}
    notices = [
        {**msgspec.structs.asdict(notice), "says": notice.says if notice.version in conflicts else None}
        for notice in plan.goal_notice
    ]
    knobs = msgspec.structs.asdict(options)
    del knobs["skill"]
    return {
        **knobs, "steps": steps, "reactions": reactions, "goal_notices": notices, "facts": plan.facts,
    }  # fmt: skip


def _levels(task: Task, plan: Plan) -> list[int]:
    levels = depths({subgoal.id: subgoal.after for subgoal in task.subgoal})
    return [levels[step.subgoal] for step in plan.step]


def _action(step: Step | None) -> dict[str, Any] | None:
    return None if step is None else {"tool": step.tool, "arguments": step.call()}
