"""What was found of a task's disturbances: that each comes about, is got over, and at what least cost."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from seatrial.records.trial import TerminalClass

PLACEBO = "placebo"
# What a recovery may cost: columns of the trial record by the name that `oracle` has for them.
UNITS = {"actions": "actions", "approvals": "approvals_asked"}
Costs = dict[str, int | None]


class DisturbedEnd(msgspec.Struct, kw_only=True, frozen=True):
    """One trial of a recovery in the arm that disturbs it.

    Attributes:
        delivered, recovered: as in the trial record.
        costs: of the whole trial, by unit; null where it is not known.
        failing: subgoals that failed at the end.
    """

    terminal_class: TerminalClass
    delivered: bool | None
    recovered: bool | None
    costs: Costs
    failing: list[str] = []


class Oracle(msgspec.Struct, kw_only=True, frozen=True):
    """One perturbation and its reference recovery.

    Attributes:
        script: what was played: its recovery, or the reference where it has none.
        declared: what the task says it costs.
        overcome: whether the task says what it affects, so that recovery can be told.
        unplayed: why no script can be disturbed so; null where one can.
        base: costs of the undisturbed reference, trial by trial.
        ends: how the trials ended.
        cost: what the recovery takes beyond the reference, by unit; null without a recovery.
        problem: what is wrong; null when nothing is.
    """

    perturbation: str
    kind: str
    script: str
    declared: dict[str, Any] = {}
    overcome: bool = True
    unplayed: str | None = None
    base: list[Costs] = []
    ends: list[DisturbedEnd] = []
    cost: Costs | None = None
    problem: str | None = None


def weighed(found: Oracle) -> Oracle:
    """With cost and problem worked out from all the rest."""
    cost = cost_of(found)
    found = msgspec.structs.replace(found, cost=cost)
    return msgspec.structs.replace(found, problem=_problem(found))


def recovers(found: Oracle) -> bool:
    """Whether what was played is meant to get over it; without a recovery only the firing is looked at."""
    return found.kind == PLACEBO or found.script != "reference"


def cost_of(found: Oracle) -> Costs | None:
    """What is taken beyond the reference; null where nothing was played that recovers."""
    if found.unplayed is not None or not recovers(found):
        return None
    return {unit: _difference(unit, found.base, [end.costs for end in found.ends]) for unit in UNITS}


def _difference(unit: str, base: Sequence[Costs], ends: Sequence[Costs]) -> int | None:
    """Null unless every trial took the same."""
    before, after = {each.get(unit) for each in base}, {each.get(unit) for each in ends}
    if len(before) != 1 or len(after) != 1:
        return None
    [low], [high] = before, after
    return None if low is None or high is None else high - low


def _problem(found: Oracle) -> str | None:
    """What is wrong, in words that go on from the perturbation's name."""
    script = f"solutions/{found.script}.toml"
    if found.unplayed is not None:
        return None
    if any(end.delivered is not True for end in found.ends):
        return f"never came about when {script} was played"
    if not recovers(found):
        return None
    for end in found.ends:
        if end.terminal_class != "success":
            at = f" at {', '.join(end.failing)}" if end.failing else ""
            return f"is not got over by {script}, which ended as {end.terminal_class}{at}"
        if found.kind != PLACEBO and found.overcome and end.recovered is not True:
            return f"is not got over by {script}: recovered is {_word(end.recovered)} at its end"
    return _misdeclared(found, script)


def _misdeclared(found: Oracle, script: str) -> str | None:
    cost = found.cost or {}
    if found.kind == PLACEBO:
        wanted: Mapping[str, object] = dict.fromkeys(UNITS, 0)
        said = "changes nothing, so it must cost"
    else:
        wanted, said = found.declared, "is declared to cost"
    for unit, value in wanted.items():
        taken = cost.get(unit)
        if taken is None:
            return f"{said} {value} {unit}, and what {script} takes of them was not the same in each trial"
        if value != taken or isinstance(value, bool):
            return f"{said} {value} {unit}, but {script} takes {taken} more than solutions/reference.toml"
    return None


def oracle_contradiction(found: Oracle) -> str | None:
    """What an entry denies of what it says elsewhere; null when nothing."""
    again = weighed(found)
    if again.cost != found.cost:
        return f"says it costs {found.cost}, but by its trials it is {again.cost}"
    if again.problem != found.problem:
        return f"says its problem is {found.problem!r}, but by its trials it is {again.problem!r}"
    if found.unplayed is None and not found.ends:
        return "holds no trial"
    return None


def _word(value: bool | None) -> Literal["yes", "no", "unknown"]:
    return "unknown" if value is None else "yes" if value else "no"
