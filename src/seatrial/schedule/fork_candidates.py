"""What is compared at a forked step: candidates, and the control that each is paired with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seatrial.errors import UsageError
from seatrial.journal.events import PerturbationArmed
from seatrial.spec.faults import choose
from seatrial.spec.task import Perturbation, Task
from seatrial.trial.forks.point import ForkPoint, next_call, still_armed

CONTINUED, CONTROL, UNDISTURBED = "continued", "control", "undisturbed"


@dataclass(frozen=True)
class ForkOrders:
    """What is to be forked, and how.

    Attributes:
        count: forks of each candidate.
        actions: name and calls of each action to be compared with the one that came next.
        systems: to be compared with the one that acted.
        perturbations: ids of those to be armed there, each by itself, compared with what was armed.
        undisturbed: compare also with nothing armed.
        control: beside each comparison as many continuations with what there was.
        seed: from which the seed of each fork is drawn.
        same_seed: all forks have the seed of their original instead.
        memory: ``none`` begins every agent with the instruction alone.
        non_causal: go on where something of the state cannot be copied.
    """

    count: int
    seed: int
    actions: Sequence[tuple[str, list[dict[str, Any]]]] = ()
    systems: Sequence[str] = ()
    perturbations: Sequence[str] = ()
    undisturbed: bool = False
    control: bool = True
    same_seed: bool = False
    memory: Literal["kept", "none"] = "kept"
    non_causal: bool = False


@dataclass(frozen=True)
class Candidate:
    """What is changed at the forked step.

    Attributes:
        label: ``continued``, ``control``, ``action=NAME``, ``component=SYSTEM``, ``perturbation=ID`` or
            ``undisturbed``.
        system: that goes on.
        armed: perturbations that wait for their triggers.
        calls: carried out first, in place of what the agent asks for; null leaves it its own choice.
    """

    label: str
    system: str
    armed: Sequence[str]
    calls: list[dict[str, Any]] | None = None


def comparisons(point: ForkPoint, task: Task, system: str, orders: ForkOrders) -> dict[str, list[Candidate]]:
    """By kind of comparison, what is compared with each other.

    Args:
        system: that acted.

    Raises:
        UsageError: something of it cannot be changed there.
    """
    armed = still_armed(point, task)
    found: dict[str, list[Candidate]] = {}
    if orders.actions:
        same = [Candidate(CONTROL, system, armed, next_call(point))] if orders.control else []
        found["action"] = same + [
            Candidate(f"action={name}", system, armed, calls) for name, calls in orders.actions
        ]
    same = [Candidate(CONTROL, system, armed)] if orders.control else []
    if orders.systems:
        found["component"] = same + [Candidate(f"component={name}", name, armed) for name in orders.systems]
    if orders.perturbations or orders.undisturbed:
        others = [Candidate(UNDISTURBED, system, ())] if orders.undisturbed else []
        if orders.undisturbed and not armed:
            raise UsageError(
                f"{point.where}: no perturbation waits there, so nothing tells forks without one from the "
                "others. Choose a step before it fires, or arm one with --perturbation ID."
            )
        for name in orders.perturbations:
            _refuse_arming(point, task, name, armed)
            others.append(Candidate(f"perturbation={name}", system, [*armed, name]))
        found["perturbation"] = same + others
    return found or {CONTINUED: [Candidate(CONTINUED, system, armed)]}


def _refuse_arming(point: ForkPoint, task: Task, name: str, armed: Sequence[str]) -> None:
    """Refuse a perturbation that cannot be armed, or could never reach the agent."""
    known = {perturbation.id: perturbation for perturbation in task.perturbation}
    where = f"--perturbation {name!r}"
    if name not in known:
        raise UsageError(f"{where}: {task.id} has none of that id. {choose(name, known, 'one')}")
    if name in armed:
        raise UsageError(
            f"{where}: waits at {point.where} already, in every fork. Say --without-perturbation for forks "
            "without it."
        )
    if any(isinstance(event, PerturbationArmed) and event.perturbation == name for event in point.past):
        raise UsageError(
            f"{where}: had fired by {point.where}, so what it did is in the state of every fork. Choose a "
            "step before it."
        )
    if (lacking := _lacking(point, known[name])) is not None:
        raise UsageError(f"{where}: could never reach the agent, for {lacking}. Choose another one.")


def _lacking(point: ForkPoint, perturbation: Perturbation) -> str | None:
    """What a perturbation needs and the trial does not have, in words."""
    conditions, channel = point.journal.started.conditions, perturbation.change.get("channel")
    if "checkpoint" in perturbation.when and not conditions.get("checkpoints"):
        return "this trial offers no checkpoints"
    if ("compaction" in perturbation.when or channel == "summary") and not conditions.get("compaction"):
        return "this trial makes no context shorter"
    if channel == "memory" and not conditions.get("memory"):
        return "this trial offers no memory"
    return None
