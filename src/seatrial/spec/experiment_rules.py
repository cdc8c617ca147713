"""What an experiment must hold beyond the types of its keys, given its tasks."""

import re

import msgspec

from seatrial.records.arms import BASELINE, COMPACTED, FORKED, INTERRUPTED, PERTURBED, read_arm
from seatrial.records.trial import TrialRecord
from seatrial.spec.chat import chat_options
from seatrial.spec.experiment import Experiment, Primary, System
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.interrupting import check_interrupting
from seatrial.spec.simulated import read_options
from seatrial.spec.task import Perturbation, Task

ARMS = "baseline, perturbed:ID, interrupted:POINT, compacted:STRATEGY or forked:FROM"
CODE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
# Which keys of a system belong to which kind of agent: those it needs.
NEEDED = {"scripted": ("script",), "python": ("code", "path")}


def check_experiment(source: Source, spec: Experiment, tasks: list[Task]) -> None:
    """Check all of an experiment's rules.

    Raises:
        SpecError: the first rule that is broken.
    """
    if not spec.name.strip():
        raise source.fault("name", f"{shown(spec.name)} is empty", "Give the experiment a name")
    check_range(source, "trials_per_task", spec.trials_per_task, 1, 10**6)
    check_range(source, "seed", spec.seed, 0, 2**63 - 1)
    check_range(source, "final_verdicts", spec.final_verdicts, 1, 100)
    check_range(source, "retry.infrastructure", spec.retry.infrastructure, 0, 2)
    _check_systems(source, spec.system)
    _check_models(source, spec.system, tasks)
    _check_arms(source, spec, tasks)
    check_interrupting(source, spec)
    if spec.primary is not None:
        _check_primary(source, spec.primary, [system.name for system in spec.system])


def _check_systems(source: Source, systems: list[System]) -> None:
    if not systems:
        raise source.fault("system", "[] holds no system", "Add a [[system]]")
    check_unique(source, "system[{}].name", [system.name for system in systems])
    for index, system in enumerate(systems):
        place = f"system[{index}]"
        check_name(source, f"{place}.name", system.name)
        if system.agent == "human":
            raise source.fault(
                f"{place}.agent", "a person is no part of an experiment, whose trials run unattended",
                "Let the person work with `seatrial shell TASK`",
            )  # fmt: skip
        needed = NEEDED.get(system.agent, ())
        for key in ("script", "code", "path"):
            value = getattr(system, key)
            if key in needed and value is None:
                raise source.fault(
                    f"{place}.{key}", f"a {shown(system.agent)} agent needs it", f"Add {key} = …"
                )
            if key not in needed and value is not None:
                problem = f"{shown(value)} means nothing to a {shown(system.agent)} agent"
                raise source.fault(f"{place}.{key}", problem, "Remove it")
        if system.agent == "scripted" and system.options:
            problem = f"{shown(system.options)} means nothing to a {shown(system.agent)} agent"
            raise source.fault(f"{place}.options", problem, "Remove it")
        if system.agent == "simulated":
            read_options(source, f"{place}.options", system.options)
        if system.code is not None and not CODE.fullmatch(system.code):
            raise source.fault(
                f"{place}.code",
                f"{shown(system.code)} is not module:Class",
                'Write it so, such as "agent:Careful"',
            )


def _check_models(source: Source, systems: list[System], tasks: list[Task]) -> None:
    """Options of agents that call a model; money is bounded only where there is a price, in one currency."""
    bounded = next((task.id for task in tasks if task.budget.money is not None), None)
    currency: str | None = None
    for index, system in enumerate(systems):
        if system.agent != "chat":
            continue
        options = chat_options(source, f"system[{index}].options", system.options)
        if bounded is not None and options.price is None:
            raise source.fault(
                f"system[{index}].options.price", f"the task {shown(bounded)} has a money budget",
                "Add price = { name, date, currency, input, output } per million tokens",
            )  # fmt: skip
        if options.price is None:
            continue
        currency = currency or options.price.currency
        if options.price.currency != currency:
            raise source.fault(
                f"system[{index}].options.price.currency",
                f"{shown(options.price.currency)} is not the {shown(currency)} of a system before it",
                "Give all prices in one currency, converted on the day of the price list",
            )  # fmt: skip


def _check_arms(source: Source, spec: Experiment, tasks: list[Task]) -> None:
    arms = spec.arms
    if not arms:
        raise source.fault("arms", "[] names no arm", 'Write arms = ["baseline"]')
    check_unique(source, "arms[{}]", arms)
    known = {perturbation.id: perturbation for task in tasks for perturbation in task.perturbation}
    for index, arm in enumerate(arms):
        place, (kind, subject) = f"arms[{index}]", read_arm(arm)
        if kind == PERTURBED:
            if subject not in known:
                raise source.fault(
                    place,
                    f"unknown arm {shown(arm)}: no task has the perturbation {shown(subject)}",
                    choose(subject, known, "a perturbation"),
                )
            _check_deliverable(source, place, spec, arm, known[subject])
        elif kind == INTERRUPTED:
            change = spec.interruption.while_down
            if change in known:
                _check_deliverable(source, place, spec, arm, known[change])
        elif arm != BASELINE and kind != COMPACTED and (kind != FORKED or not subject.strip()):
            raise source.fault(place, f"unknown arm {shown(arm)}", f"Write {ARMS}")


def _check_deliverable(
    source: Source, place: str, spec: Experiment, arm: str, perturbation: Perturbation
) -> None:
    """Refuse an arm whose perturbation could never reach the agent in this experiment."""
    channel = perturbation.change.get("channel")
    if channel == "memory" and not spec.memory:
        problem = f"{shown(arm)} pollutes a memory that is not offered here"
        raise source.fault(place, problem, "Add memory = true")
    if read_arm(arm).kind != PERTURBED:
        return
    if "compaction" in perturbation.when and spec.compaction is None:
        raise source.fault(
            place, f"{shown(arm)} waits for a compaction, and nothing says when there is one",
            'Add [compaction] with every_tokens = … or at_subgoal = "…"',
        )  # fmt: skip
    if channel == "summary" and "compaction" not in perturbation.when:
        raise source.fault(
            place, f"{shown(arm)} pollutes a summary that no agent is handed in this arm",
            "Name it in [interruption] while_down and add an arm interrupted:POINT:prose",
        )  # fmt: skip


def _check_primary(source: Source, primary: Primary, systems: list[str]) -> None:
    measures = [field.name for field in msgspec.structs.fields(TrialRecord)]
    if primary.measure not in measures:
        raise source.fault(
            "primary.measure", f"unknown measure {shown(primary.measure)}",
            choose(primary.measure, measures, "a column of the trial record"),
        )  # fmt: skip
    for index, name in enumerate(primary.compare):
        if name not in systems:
            place = f"primary.compare[{index}]"
            raise source.fault(place, f"unknown system {shown(name)}", choose(name, systems, "a system"))
    check_unique(source, "primary.compare[{}]", primary.compare)
    if len(primary.compare) == 1:
        raise source.fault(
            "primary.compare", f"{shown(primary.compare)} has nothing to compare with", "Name two"
        )
    if not 0 < primary.alpha < 1:
        raise source.fault(
            "primary.alpha", f"{shown(primary.alpha)} is no level", "Write one between 0 and 1"
        )
