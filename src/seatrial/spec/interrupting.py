"""Arms that kill the agent or shorten its context: their names, their rules and which tasks bear them."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, cast, get_args

from seatrial.records.arms import COMPACTED, INTERRUPTED, PERTURBED, read_arm
from seatrial.spec.experiment import Compaction, Experiment
from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.services import VERBS
from seatrial.spec.task import Task
from seatrial.spec.tools import SERVICES, TOOLS

Point = Literal["subgoal_verified", "before_effect", "after_effect_before_ack", "compaction"]
Form = Literal["structured", "prose", "none"]
Strategy = Literal["raw", "gold", "automatic", "structured"]
POINTS: tuple[str, ...] = get_args(Point)
# Points around what an action does; ``interruption.tool`` says which actions count.
EFFECTS: tuple[Point, ...] = ("before_effect", "after_effect_before_ack")
FORMS: tuple[str, ...] = get_args(Form)
STRATEGIES: tuple[str, ...] = get_args(Strategy)
# The summary a person wrote of what must be known, for the strategy ``gold``.
GOLD_FILE = "compaction/gold.md"
# Base64 of it must fit into one line of the agent's protocol.
MOST_BYTES = 1 << 24


class InterruptionArm(NamedTuple):
    """``interrupted:POINT[:FORM]``; without a form what is persisted is structured."""

    point: Point
    form: Form


def interruption_arm(arm: str) -> InterruptionArm | None:
    """The parts of an arm that interrupts; null for the others."""
    kind, subject = read_arm(arm)
    if kind != INTERRUPTED:
        return None
    point, _, form = subject.partition(":")
    return InterruptionArm(cast(Point, point), cast(Form, form or "structured"))


def checkpoints_offered(task: Task, arms: Collection[str], arm: str) -> Literal["structured", "prose"] | None:
    """In which form an agent may have its state persisted in an arm; null where nobody would use it.

    Arms that do not interrupt offer what the first one that does offers, so that they differ in nothing else.
    """
    own = interruption_arm(arm)
    if own is not None:
        return None if own.form == "none" else own.form
    for other in arms:
        parts = interruption_arm(other)
        if parts is not None and parts.form != "none":
            return parts.form
    return "structured" if _triggered_by(task, arm, "checkpoint") else None


def compaction_strategy(task: Task, compaction: Compaction | None, arm: str) -> Strategy | None:
    """How an arm makes the agent's context shorter; null for those that leave it alone."""
    if compaction is None:
        return None
    kind, subject = read_arm(arm)
    if kind == COMPACTED:
        return cast(Strategy, subject)
    interrupted = interruption_arm(arm)
    if (interrupted and interrupted.point == "compaction") or _triggered_by(task, arm, "compaction"):
        return compaction.strategy
    return None


def _triggered_by(task: Task, arm: str, trigger: str) -> bool:
    return any(read_arm(arm) == (PERTURBED, p.id) and trigger in p.when for p in task.perturbation)


def why_not(task: Task, files: Collection[str], spec: Experiment, arm: str) -> str | None:
    """Why a task cannot bear an arm of this module, in words; null when it can, and for all other arms."""
    interrupted, compaction = interruption_arm(arm), spec.compaction
    if interrupted is not None:
        wanted, change = spec.interruption.subgoal, spec.interruption.while_down
        if interrupted.point == "subgoal_verified" and wanted not in (None, *(s.id for s in task.subgoal)):
            return f"it has no subgoal {shown(wanted)}"
        if change is not None and all(p.id != change for p in task.perturbation):
            return f"it has no perturbation {shown(change)}"
        tool = spec.interruption.tool
        if interrupted.point in EFFECTS and tool and not _fits_a_tool(tool, task.environment.services):
            return f"it has no tool {shown(tool)}"
    strategy = compaction_strategy(task, compaction, arm)
    if compaction is None or strategy is None:
        return None
    if compaction.at_subgoal is not None and all(s.id != compaction.at_subgoal for s in task.subgoal):
        return f"it has no subgoal {shown(compaction.at_subgoal)}"
    return f"it has no {GOLD_FILE}" if strategy == "gold" and GOLD_FILE not in files else None


def check_interrupting(source: Source, spec: Experiment) -> None:
    """Check the tables ``interruption`` and ``compaction`` and the names of the arms that use them.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_range(source, "interruption.state_bytes", spec.interruption.state_bytes, 1, MOST_BYTES)
    check_range(source, "interruption.occasions", spec.interruption.occasions, 1, 1000)
    glob = spec.interruption.tool
    if glob is not None and not _fits_a_tool(glob):
        raise source.fault(
            "interruption.tool", f"{shown(glob)} fits no tool", choose(glob, [*TOOLS, *SERVICES], "a tool")
        )
    if spec.compaction is not None:
        _check_compaction(source, spec, spec.compaction)
    for index, arm in enumerate(spec.arms):
        _check_arm(source, f"arms[{index}]", arm, spec.compaction)


def _fits_a_tool(glob: str, services: Collection[str] = SERVICES) -> bool:
    calls = (f"{service}.{verb}" for service in services for verb in VERBS[service])
    return any(fnmatchcase(name, glob) for name in (*TOOLS, *calls))


def _check_compaction(source: Source, spec: Experiment, compaction: Compaction) -> None:
    if (compaction.every_tokens is None) == (compaction.at_subgoal is None):
        raise source.fault(
            "compaction", "must say when, in one way", 'Write either every_tokens = … or at_subgoal = "…"'
        )
    check_range(source, "compaction.every_tokens", compaction.every_tokens, 1, 10**9, "tokens")
    check_range(source, "compaction.state_bytes", compaction.state_bytes, 1, MOST_BYTES)
    for index, system in enumerate(spec.system):
        if compaction.every_tokens is not None and system.agent != "chat":
            raise source.fault(
                "compaction.every_tokens",
                f"nobody counts the tokens of system[{index}], a {shown(system.agent)} agent",
                'Write at_subgoal = "…" in its place',
            )


def _check_arm(source: Source, place: str, arm: str, compaction: Compaction | None) -> None:
    kind, subject = read_arm(arm)
    if kind == INTERRUPTED:
        point, colon, form = subject.partition(":")
        if point not in POINTS:
            problem = f"unknown arm {shown(arm)}: {shown(point)} is no point of interruption"
            raise source.fault(place, problem, choose(point, POINTS, "a point"))
        if colon and form not in FORMS:
            problem = f"unknown arm {shown(arm)}: {shown(form)} is no form of what is persisted"
            raise source.fault(place, problem, choose(form, FORMS, "a form"))
    elif kind == COMPACTED and subject not in STRATEGIES:
        problem = f"unknown arm {shown(arm)}: {shown(subject)} is no strategy of compaction"
        raise source.fault(place, problem, choose(subject, STRATEGIES, "a strategy"))
    interrupted = interruption_arm(arm)
    needs = kind == COMPACTED or (interrupted is not None and interrupted.point == "compaction")
    if needs and compaction is None:
        raise source.fault(
            place, f"{shown(arm)} needs a compaction, and nothing says when there is one",
            'Add [compaction] with every_tokens = … or at_subgoal = "…"',
        )  # fmt: skip


def check_borne(source: Source, spec: Experiment, tasks: list[tuple[Task, Collection[str]]]) -> None:
    """Refuse an arm that no task can bear.

    Args:
        tasks: each with the paths of its files.

    Raises:
        SpecError: names the arm and why the first task cannot.
    """
    for index, arm in enumerate(spec.arms):
        reasons = [why_not(task, files, spec, arm) for task, files in tasks]
        if reasons and None not in reasons:
            raise source.fault(
                f"arms[{index}]", f"no task can bear {shown(arm)}; of {shown(tasks[0][0].id)}: {reasons[0]}",
                "Leave the arm out, or give a task what it needs",
            )  # fmt: skip
