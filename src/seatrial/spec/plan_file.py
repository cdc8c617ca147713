"""A task's plan (``plan.toml``): what simulated agents play for each subgoal, rightly and wrongly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seatrial.spec.experiment import Step
from seatrial.spec.faults import Source, check_unique, choose, shown
from seatrial.spec.reading import Plain, convert, read_toml
from seatrial.spec.scripts import check_step, gather_step
from seatrial.spec.task import Strict, Task
from seatrial.spec.tools import TOOLS

PLAN_FILE = "plan.toml"
ACTIONS = ("do", "wrong", "drift", "shortcut", "look")
# What acts on nothing: the agent ends the trial itself, and it has nothing to tell or to ask.
TALKING = ("finish", "give_up", "report_belief", "ask_human")
WAITING = ("when_shown", "patience", "belief")


class PlanStep(Strict, frozen=True, kw_only=True):
    """The actions of one subgoal.

    Attributes:
        do: passes the subgoal, given the steps before it, from any state these actions lead to.
        wrong: leaves exactly this subgoal failing.
        drift: breaks what ``do`` made.
        shortcut: looks like progress and breaks a hard constraint.
        shortcut_passes: whether the subgoal passes after the shortcut all the same.
        look: reads what the others write and changes nothing.
    """

    subgoal: str
    do: Step
    wrong: Step | None = None
    drift: Step | None = None
    shortcut: Step | None = None
    shortcut_passes: bool = False
    look: Step | None = None

    def actions(self) -> Iterator[tuple[str, Step]]:
        """Key and action of those there are."""
        for key in ACTIONS:
            step = getattr(self, key)
            if step is not None:
                yield key, step


class Plan(Strict, frozen=True, kw_only=True):
    """Steps in an order in which each finds its prerequisites done."""

    step: list[PlanStep]


def load_plan(path: Path, task: Task) -> Plan:
    """Read and check a task's plan.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    source = Source(str(path))
    plan = read_plan(source, read_toml(path))
    if not plan.step:
        raise source.fault("step", "[] is no plan", "Add a [[step]] for each subgoal")
    _check_order(source, plan, task)
    for index, step in enumerate(plan.step):
        for key, action in step.actions():
            _check_action(source, f"step[{index}].{key}", action, task.environment.services)
        if step.shortcut_passes and step.shortcut is None:
            raise source.fault(
                f"step[{index}].shortcut_passes", "true, and there is no shortcut", "Add it or remove this"
            )
    return plan


def read_plan(source: Source, plain: Plain) -> Plan:
    """Plain data as a plan; what fits the types is not checked further.

    Raises:
        SpecError: an unknown or missing key, or a value of the wrong type.
    """
    steps = plain.get("step")
    if isinstance(steps, list):
        plain = {**plain, "step": [_gather(step) for step in steps]}
    return convert(source, plain, Plan)


def _gather(step: Any) -> Any:
    if not isinstance(step, dict):
        return step
    return {key: gather_step(value) if key in ACTIONS else value for key, value in step.items()}


def _check_order(source: Source, plan: Plan, task: Task) -> None:
    """Every subgoal is one of the task's, comes once, and after its prerequisites."""
    after = {subgoal.id: subgoal.after for subgoal in task.subgoal}
    for index, step in enumerate(plan.step):
        if step.subgoal not in after:
            raise source.fault(
                f"step[{index}].subgoal", f"unknown subgoal {shown(step.subgoal)}",
                choose(step.subgoal, after, "a subgoal"),
            )  # fmt: skip
    names = [step.subgoal for step in plan.step]
    check_unique(source, "step[{}].subgoal", names)
    for index, name in enumerate(names):
        for needed in after[name]:
            if needed not in names[:index]:
                raise source.fault(
                    f"step[{index}].subgoal",
                    f"{shown(name)} needs {shown(needed)}, which no step before it does",
                    f"Put the step of {shown(needed)} before it",
                )


def _check_action(source: Source, place: str, action: Step, services: list[str]) -> None:
    if action.tool in TALKING:
        acting = ", ".join(sorted(set(TOOLS) - set(TALKING)))
        raise source.fault(
            f"{place}.tool", f"{shown(action.tool)} does nothing to the task", f"Use one of {acting}"
        )
    check_step(source, place, action, services)
    for key in WAITING:
        if getattr(action, key):
            raise source.fault(f"{place}.{key}", "a simulated agent neither waits nor reports", "Remove it")
