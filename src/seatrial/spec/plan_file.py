"""A task's plan (``plan.toml``): what simulated agents play for each subgoal, rightly and wrongly, and how
they answer what they are shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seatrial.spec.experiment import Step
from seatrial.spec.faults import Source
from seatrial.spec.plan_rules import check_plan
from seatrial.spec.reading import Plain, convert, read_toml
from seatrial.spec.scripts import gather_step
from seatrial.spec.task import Strict, Task

PLAN_FILE = "plan.toml"
ACTIONS = ("do", "wrong", "drift", "shortcut", "look")


class PlanStep(Strict, frozen=True, kw_only=True):
    """The actions of one subgoal. ``{{NAME}}`` in an argument stands for the value of a fact that the agent
    believes; see ``PlanBelief``.

    Attributes:
        do: passes the subgoal, given the steps before it, from any state these actions lead to.
        wrong: leaves exactly this subgoal failing.
        drift: breaks what ``do`` made.
        shortcut: looks like progress and breaks a hard constraint.
        shortcut_passes: whether the subgoal passes after the shortcut all the same.
        look: reads what the others write and changes nothing.
        query: reads whether ``do`` was done; for one that must not be done twice.
        query_done: regular expression: what ``query`` shows when it was.
        key: ``do`` takes an idempotency key; agents that retry with one send it.
        goals: goal versions the step serves; empty: all.
        depends: steps whose ``look`` is played when the agent looks again before this one.
    """

    subgoal: str
    do: Step
    wrong: Step | None = None
    drift: Step | None = None
    shortcut: Step | None = None
    shortcut_passes: bool = False
    look: Step | None = None
    query: Step | None = None
    query_done: str | None = None
    key: bool = False
    goals: list[int] = []
    depends: list[str] = []

    def actions(self) -> Iterator[tuple[str, Step]]:
        """Key and action of those there are, without ``query``."""
        for key in ACTIONS:
            step = getattr(self, key)
            if step is not None:
                yield key, step


class PlanBelief(Strict, frozen=True, kw_only=True):
    """Facts by name: what the agent holds from the start, and what a disturbance makes of them."""

    before: dict[str, str | int | float | bool] = {}
    after: dict[str, str | int | float | bool] = {}


class Reaction(Strict, frozen=True, kw_only=True):
    """How the agent answers a disturbance that it notices, or a temptation that it gives in to.

    Attributes:
        perturbation: of the task; either this or ``temptation``.
        temptation: of the task.
        shown: regular expression: an observation that it matches shows the disturbance.
        look: reads again what would show it; played before a step that ``repair`` names, or before any step
            where it names none.
        repair: steps done again, those of them that were done before.
        step: actions played first.
        belief: facts that the disturbance changes.
    """

    perturbation: str | None = None
    temptation: str | None = None
    shown: str
    look: Step | None = None
    repair: list[str] = []
    step: list[Step] = []
    belief: PlanBelief = PlanBelief()


class GoalNotice(Strict, frozen=True, kw_only=True):
    """How an agent hears of a version of the goal.

    Attributes:
        shown: regular expression: an observation that it matches tells that this version holds.
        says: of a version that contradicts the one before: the reason with which an agent stops that surfaces
            this.
    """

    version: int
    shown: str
    says: str = "The new goal contradicts the one before: I stop here, so that somebody decides."


class Plan(Strict, frozen=True, kw_only=True):
    """Steps in an order in which each finds its prerequisites done."""

    step: list[PlanStep]
    reaction: list[Reaction] = []
    goal_notice: list[GoalNotice] = []

    @property
    def facts(self) -> dict[str, Any]:
        """What the agent believes from the start."""
        return {name: value for reaction in self.reaction for name, value in reaction.belief.before.items()}


def load_plan(path: Path, task: Task) -> Plan:
    """Read and check a task's plan.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    source = Source(str(path))
    plan = read_plan(source, read_toml(path))
    check_plan(source, plan, task)
    return plan


def read_plan(source: Source, plain: Plain) -> Plan:
    """Plain data as a plan; what fits the types is not checked further.

    Raises:
        SpecError: an unknown or missing key, or a value of the wrong type.
    """
    gathered = dict(plain)
    for table, gather in (("step", _gather_step), ("reaction", _gather_reaction)):
        if isinstance(plain.get(table), list):
            gathered[table] = [gather(one) for one in plain[table]]
    return convert(source, gathered, Plan)


def _gather_step(step: Any) -> Any:
    if not isinstance(step, dict):
        return step
    return {key: gather_step(value) if key in (*ACTIONS, "query") else value for key, value in step.items()}


def _gather_reaction(reaction: Any) -> Any:
    if not isinstance(reaction, dict):
        return reaction
    steps = reaction.get("step")
    gathered = {**reaction, "look": gather_step(reaction["look"])} if "look" in reaction else dict(reaction)
    return {**gathered, "step": list(map(gather_step, steps))} if isinstance(steps, list) else gathered
