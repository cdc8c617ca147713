"""What a plan must hold beyond the types of its keys."""

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from seatrial.spec.experiment import Step
from seatrial.spec.faults import Source, check_unique, choose, shown
from seatrial.spec.regexes import check_regex
from seatrial.spec.scripts import check_step
from seatrial.spec.task import Task
from seatrial.spec.tools import TOOLS

if TYPE_CHECKING:
    from seatrial.spec.plan_file import Plan, PlanStep, Reaction

# What acts on nothing: the agent ends the trial itself, and reports and remembers by its own knobs.
TALKING = ("finish", "give_up", "report_belief", "ask_human", "remember", "recall")
WAITING = ("when_shown", "patience", "belief", "check")
# Where an argument holds this, the agent puts in what it believes.
FACT = re.compile(r"\{\{(\w+)\}\}")


def check_plan(source: Source, plan: "Plan", task: Task) -> None:
    """Check a plan against its task.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    if not plan.step:
        raise source.fault("step", "[] is no plan", "Add a [[step]] for each subgoal")
    _check_order(source, plan, task)
    for index, step in enumerate(plan.step):
        _check_step(source, f"step[{index}]", step, plan, task)
    _check_reactions(source, plan, task)
    _check_notices(source, plan, task)
    _check_facts(source, plan)


def _check_order(source: Source, plan: "Plan", task: Task) -> None:
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


def _check_step(source: Source, place: str, step: "PlanStep", plan: "Plan", task: Task) -> None:
    for key, action in step.actions():
        _check_action(source, f"{place}.{key}", action, task)
    if step.shortcut_passes and step.shortcut is None:
        raise source.fault(
            f"{place}.shortcut_passes", "true, and there is no shortcut", "Add it or remove this"
        )
    if step.query is not None:
        _check_action(source, f"{place}.query", step.query, task)
        if step.query_done is None:
            raise source.fault(
                f"{place}.query", "nothing says what it shows when the step was done", "Add query_done"
            )
    if step.query_done is not None:
        check_regex(source, f"{place}.query_done", step.query_done)
        if step.query is None:
            raise source.fault(
                f"{place}.query_done", f"{shown(step.query_done)}, and there is no query", "Add the query"
            )
    for index, version in enumerate(step.goals):
        _check_version(source, f"{place}.goals[{index}]", version, task)
    looks = {other.subgoal for other in plan.step if other.look is not None and other is not step}
    for index, name in enumerate(step.depends):
        if name not in looks:
            raise source.fault(
                f"{place}.depends[{index}]", f"{shown(name)} is no other step with a look",
                choose(name, looks, "a step with a look"),
            )  # fmt: skip


def _check_version(source: Source, place: str, version: int, task: Task) -> None:
    versions = {str(goal.version) for goal in task.goal}
    if str(version) not in versions:
        raise source.fault(
            place, f"the task has no goal version {version}", choose(version, versions, "a version")
        )


def _check_reactions(source: Source, plan: "Plan", task: Task) -> None:
    known = {
        "perturbation": [perturbation.id for perturbation in task.perturbation],
        "temptation": [temptation.id for temptation in task.temptation],
    }
    for index, reaction in enumerate(plan.reaction):
        place = f"reaction[{index}]"
        named = [key for key in known if getattr(reaction, key) is not None]
        if len(named) != 1:
            raise source.fault(
                place, f"it names {' and '.join(named) or 'neither'}", "Name a perturbation or a temptation"
            )
        [key] = named
        name = getattr(reaction, key)
        if name not in known[key]:
            raise source.fault(
                f"{place}.{key}", f"unknown {key} {shown(name)}", choose(name, known[key], f"a {key}")
            )
        _check_reaction(source, place, reaction, [step.subgoal for step in plan.step], task)
    for key in known:
        # A place in a message counts all reactions, so those of the other kind take their turn.
        names = [getattr(reaction, key) or f"[{index}]" for index, reaction in enumerate(plan.reaction)]
        check_unique(source, f"reaction[{{}}].{key}", names)


def _check_reaction(
    source: Source, place: str, reaction: "Reaction", steps: Collection[str], task: Task
) -> None:
    check_regex(source, f"{place}.shown", reaction.shown)
    if reaction.look is not None:
        # What was remembered can be what a disturbance changed.
        _check_action(source, f"{place}.look", reaction.look, task, but="recall")
    for position, action in enumerate(reaction.step):
        _check_action(source, f"{place}.step[{position}]", action, task)
    for position, name in enumerate(reaction.repair):
        if name not in steps:
            raise source.fault(
                f"{place}.repair[{position}]", f"no step does {shown(name)}", choose(name, steps, "a step")
            )
    before, after = reaction.belief.before, reaction.belief.after
    if not (reaction.repair or reaction.step or after):
        raise source.fault(place, "who notices it does nothing", "Add repair, [[reaction.step]] or belief")
    if reaction.temptation is not None and not reaction.step:
        raise source.fault(f"{place}.step", "giving in takes no action", "Add [[reaction.step]]")
    for name in after:
        if name not in before:
            raise source.fault(
                f"{place}.belief.after.{name}", "nothing says what was believed of it before",
                f"Add {name} = … to belief.before",
            )  # fmt: skip


def _check_notices(source: Source, plan: "Plan", task: Task) -> None:
    for index, notice in enumerate(plan.goal_notice):
        _check_version(source, f"goal_notice[{index}].version", notice.version, task)
        check_regex(source, f"goal_notice[{index}].shown", notice.shown)
        goal = next(goal for goal in task.goal if goal.version == notice.version)
        if goal.surfaced is not None and re.search(goal.surfaced, notice.says) is None:
            raise source.fault(
                f"goal_notice[{index}].says",
                f"{shown(notice.says)} does not fit surfaced = {shown(goal.surfaced)} of this version",
                "Write what an agent says that surfaces the conflict",
            )  # fmt: skip
    check_unique(source, "goal_notice[{}].version", [str(notice.version) for notice in plan.goal_notice])


def _check_facts(source: Source, plan: "Plan") -> None:
    """One fact has one value at the start; an argument that looks like a fact's name is one."""
    facts: dict[str, tuple[str, object]] = {}
    for index, reaction in enumerate(plan.reaction):
        for name, value in reaction.belief.before.items():
            place = f"reaction[{index}].belief.before.{name}"
            if not FACT.fullmatch(f"{{{{{name}}}}}"):
                raise source.fault(
                    place, f"{shown(name)} cannot stand in {{{{…}}}}", "Use letters, digits, _"
                )
            if name in facts and facts[name][1] != value:
                raise source.fault(
                    place, f"{shown(value)}, and {shown(facts[name][1])} at {facts[name][0]}",
                    "Write what is so at the start",
                )  # fmt: skip
            facts[name] = place, value
    if not facts:
        return
    for place, text in _texts(plan):
        for name in FACT.findall(text):
            if name not in facts:
                raise source.fault(place, f"unknown fact {shown(name)}", choose(name, facts, "a fact"))


def _texts(plan: "Plan") -> Iterator[tuple[str, str]]:
    """Place and text of every argument in which facts are put."""
    actions: list[tuple[str, Step | None]] = []
    for index, step in enumerate(plan.step):
        actions += [(f"step[{index}].{key}", action) for key, action in step.actions()]
        actions.append((f"step[{index}].query", step.query))
    for index, reaction in enumerate(plan.reaction):
        actions += [(f"reaction[{index}].step[{at}]", action) for at, action in enumerate(reaction.step)]
        actions.append((f"reaction[{index}].look", reaction.look))
    for place, action in actions:
        for name, value in action.call().items() if action is not None else ():
            yield f"{place}.{name}", str(value)


def _check_action(source: Source, place: str, action: Step, task: Task, but: str | None = None) -> None:
    """Refuse what acts on nothing, ``but`` one tool, and what cannot be played."""
    if action.tool in TALKING and action.tool != but:
        acting = ", ".join(sorted(set(TOOLS) - set(TALKING)))
        raise source.fault(
            f"{place}.tool", f"{shown(action.tool)} does nothing to the task", f"Use one of {acting}"
        )
    check_step(source, place, action, task.environment.services)
    for key in WAITING:
        if getattr(action, key):
            raise source.fault(f"{place}.{key}", "a simulated agent neither waits nor reports", "Remove it")
