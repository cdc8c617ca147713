"""Why trials failed, and the chain of conditions that success hangs on (E7, E8)."""

from collections.abc import Iterable

import msgspec

from seatrial.estimate.chain import ChainLink, condition_chain
from seatrial.records.trial import TrialRecord
from seatrial.report.disturbances import COSMETIC, PLACEBO, by_task
from seatrial.report.tables import WHOLE, Cell

CONDITIONS = ("local ability", "state kept", "verified right")


class FailureLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``failures`` in ``report.json``: one label of one system and arm.

    Attributes:
        first: trials whose first cause it is.
        secondary: trials that have it beside another first cause.
        opportunities: trials in which its rule could have spoken: the denominator.
        confidence: mean confidence of the rule over ``first``; null without any.
        unsuccessful: trials without success, infrastructure included.
    """

    system: str
    arm: str
    cause: str
    first: int
    secondary: int
    opportunities: int
    confidence: float | None
    unsuccessful: int


class ConditionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``conditions`` in ``report.json``: one system and arm.

    Attributes:
        chain: local ability, state kept, verified right; each over the trials in which those before it held.
        recovery: recovered, over trials with a real disturbance that was delivered and detected.
    """

    system: str
    arm: str
    chain: list[ChainLink]
    recovery: ChainLink


def failure_lines(groups: Iterable[Cell]) -> list[FailureLine]:
    """Labels that a trial of a system and arm has, by how often they come first."""
    found = []
    for cell in groups:
        if cell.stratum != WHOLE:
            continue
        failed = [record for record in cell.records if record.terminal_class != "success"]
        labels = dict.fromkeys(r.first_cause for r in failed if r.first_cause)
        labels |= dict.fromkeys(label for r in failed for label in r.secondary_causes or [])
        lines = [failure_line(cell, failed, str(label)) for label in labels]
        found += sorted(lines, key=lambda line: (-line.first, -line.secondary, line.cause))
    return found


def failure_line(cell: Cell, failed: list[TrialRecord], label: str) -> FailureLine:
    """One label."""
    first = [record for record in failed if record.first_cause == label]
    sure = [r.first_cause_confidence for r in first if r.first_cause_confidence is not None]
    return FailureLine(
        system=cell.system,
        arm=cell.arm,
        cause=label,
        first=len(first),
        secondary=sum(label in (record.secondary_causes or []) for record in failed),
        opportunities=sum(
            label == "unknown" or label in (record.cause_opportunities or []) for record in cell.records
        ),
        confidence=sum(sure) / len(sure) if sure else None,
        unsuccessful=len(failed),
    )


def condition_lines(groups: Iterable[Cell]) -> list[ConditionLine]:
    """The chain of conditions of every system and arm."""
    found = []
    for cell in groups:
        if cell.stratum != WHOLE:
            continue
        harmless = (None, PLACEBO)
        disturbed = [
            r
            for r in cell.valid
            if r.delivered and r.perturbation_kind not in harmless and r.strength != COSMETIC
        ]
        met = condition_chain(
            by_task(disturbed, lambda r: (r.detected, r.recovered)), ("detected", "recovered")
        )
        found.append(
            ConditionLine(
                system=cell.system,
                arm=cell.arm,
                chain=condition_chain(by_task(cell.valid, condition_links), CONDITIONS),
                recovery=met[1],
            )
        )
    return found


def condition_links(record: TrialRecord) -> tuple[bool | None, ...]:
    """The conditions of one trial, in order."""
    kept = None if record.own_breaks is None else record.own_breaks == 0
    return (record.local_ability, kept, record.verified_right)
