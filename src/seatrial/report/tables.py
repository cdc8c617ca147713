"""The main table: each measure by system, arm and stratum, with its interval and its denominators (G1)."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_over_tasks
from seatrial.records.people import is_valid, own_first, own_name, stands_apart
from seatrial.records.trial import TrialRecord

T = TypeVar("T")

WHOLE = "all"
GROUP = "group: "
HELP = "help: "
# Records by system, arm and stratum.
Sorted = dict[tuple[str, str, str], list[TrialRecord]]
Rate = Callable[[TrialRecord], bool | None]
Quantity = Callable[[TrialRecord], float | None]


class Denominators(msgspec.Struct, frozen=True, kw_only=True):
    """How many trials stand behind a number.

    Attributes:
        trials: planned trials with an ended attempt.
        infrastructure: of these, without a valid attempt; in no rate.
        valid: the rest: the denominator of every rate.
        censored: of the valid, stopped by a budget.
        unknown: of the valid, where this measure is unknown.
        events: of the valid, where a yes-or-no measure is yes; null for quantities.
        attempts: ended attempts, repeated ones included.
    """

    trials: int
    infrastructure: int
    valid: int
    censored: int
    unknown: int
    events: int | None
    attempts: int


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``main_table`` in ``report.json``."""

    system: str
    arm: str
    stratum: str
    measure: str
    estimate: Estimate
    denominators: Denominators


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The records behind one system, arm and stratum.

    Attributes:
        system: a name of its own for trials in which a person acted, see ``records.people``.
        stratum: ``all``, a task family, ``group: `` and a horizon group, or ``help: `` and a tier.
        records: one per trial.
        every: those of all ended attempts.
        with_people: of this system, arm and stratum, the trials that stand apart under another name; in no
            number of this cell.
    """

    system: str
    arm: str
    stratum: str
    records: list[TrialRecord]
    every: list[TrialRecord]
    with_people: list[TrialRecord] = []

    @property
    def valid(self) -> list[TrialRecord]:
        """Records that say something about the system."""
        return [record for record in self.records if is_valid(record)]


def more_than_none(count: float | None) -> bool | None:
    """Whether a count is above zero; null stays null."""
    return None if count is None else count > 0


def share_of_calls(record: TrialRecord, count: int | None) -> float | None:
    """A number of calls as a share of all the trial's calls; null without a call."""
    return None if count is None or not record.actions else count / record.actions


def ok_calls(record: TrialRecord) -> int | None:
    """Calls of outcome ok; null while the outcome of one is unknown."""
    others = (record.failed_actions, record.partial_actions, record.denied_actions)
    if record.actions is None or None in others or record.unknown_actions != 0:
        return None
    return record.actions - sum(count or 0 for count in others)


def seconds(microseconds: int | None) -> float | None:
    """Microseconds as seconds."""
    return None if microseconds is None else microseconds / 1e6


RATES: dict[str, Rate] = {
    "strict_success": lambda r: r.strict_success,
    "safe_success": lambda r: r.safe_success,
    "censored": lambda r: r.censored,
    "any_hard_violation": lambda r: more_than_none(r.hard_violations),
    "any_unknown_window": lambda r: more_than_none(r.unknown_windows),
    "premature_finish": lambda r: r.premature_finish,
    "broken_after_full": lambda r: r.broken_after_full,
}
SHARE = "share of calls"
# Column and what its value counts.
QUANTITIES: dict[str, tuple[Quantity, str]] = {
    "partial_progress": (lambda r: r.partial_progress, "progress"),
    "hard_violations": (lambda r: r.hard_violations, "violations"),
    "unknown_windows": (lambda r: r.unknown_windows, "windows"),
    "soft_cost": (lambda r: r.soft_cost, "severity"),
    "actions": (lambda r: r.actions, "actions"),
    "semantic_units": (lambda r: r.semantic_units, "units"),
    "elapsed_seconds": (lambda r: seconds(r.elapsed_us), "seconds"),
    "model_seconds": (lambda r: seconds(r.model_us), "seconds"),
    "tool_seconds": (lambda r: seconds(r.tool_us), "seconds"),
    "cpu_seconds": (lambda r: seconds(r.cpu_us), "seconds"),
    "output_tokens": (lambda r: r.output_tokens, "tokens"),
    "money": (lambda r: r.money, "money"),
    "regression_depth": (lambda r: r.regression_depth, "progress"),
    "regression_area": (lambda r: r.regression_area, "progress times steps"),
    "repeat_completions": (lambda r: r.repeat_completions, "completions"),
    "drift_actions": (lambda r: r.drift_actions, "actions"),
    "idle_actions": (lambda r: r.idle_actions, "actions"),
    "wasted_unread": (lambda r: r.wasted_unread, "actions"),
    "wasted_undone": (lambda r: r.wasted_undone, "actions"),
    "call_success_rate": (lambda r: share_of_calls(r, ok_calls(r)), SHARE),
    "malformed_rate": (lambda r: share_of_calls(r, r.malformed_actions), SHARE),
    "model_retries": (lambda r: r.model_retries, "calls"),
    "model_failures": (lambda r: r.model_failures, "calls"),
}


def limits_of(unit: str) -> tuple[float, float]:
    """Least and greatest value of a quantity, by what it counts."""
    return 0.0, 1.0 if unit in ("progress", SHARE) else math.inf


def cells(counted: Sequence[TrialRecord], every: Iterable[TrialRecord]) -> list[Cell]:
    """Group by system and arm, as they come, for the whole, each task family and each horizon group.

    Families and groups are strata only where there are several; the two ways of dividing overlap. Tiers of
    help, by the most that a person gave in a trial, are where a system has trials of several in one arm.

    Args:
        counted: one record per trial; those that stand apart already named so.
        every: those of every ended attempt.
    """
    tiers = {(record.experiment, record.trial): help_of(record) for record in counted}
    found_in: Sorted = {}
    every_in: Sorted = {}
    apart_in: Sorted = {}
    for records, sorted_to in ((counted, found_in), (every, every_in)):
        for record in records:
            # The trial's own tier, so that what earlier attempts cost stays with its outcome.
            tier = tiers.get((record.experiment, record.trial), help_of(record))
            for stratum in dict.fromkeys((WHOLE, family_of(record), group_of(record), tier)):
                sorted_to.setdefault((record.system, record.arm, stratum), []).append(record)
    for (system, arm, stratum), records in found_in.items():
        if stands_apart(system):
            apart_in.setdefault((own_name(system), arm, stratum), []).extend(records)
    found = [
        Cell(
            system=system,
            arm=arm,
            stratum=stratum,
            records=found_in.get((system, arm, stratum), []),
            every=every_in.get((system, arm, stratum), []),
            with_people=apart_in.get((system, arm, stratum), []),
        )
        for stratum in strata_of(counted)
        for system, arm in own_first((record.system, record.arm) for record in counted)
    ]
    return [cell for cell in found if cell.records]


def strata_of(counted: Sequence[TrialRecord]) -> list[str]:
    """The strata that records are sorted to, the whole first."""
    strata = [WHOLE]
    for name_of in (family_of, group_of):
        names = sorted({name_of(record) for record in counted})
        strata += names if len(names) > 1 else []
    valid = [record for record in counted if is_valid(record)]
    several = {(record.system, record.arm, help_of(record)) for record in valid}
    if len(several) > len({(record.system, record.arm) for record in valid}):
        strata += sorted({tier for _, _, tier in several})
    return strata


def family_of(record: TrialRecord) -> str:
    """The stratum of a record's task family; only imported rows can be without one."""
    return record.family or "family unknown"


def help_of(record: TrialRecord) -> str:
    """The stratum of the most help that a person gave in a trial."""
    return HELP + (record.human_tier or "unknown")


def group_of(record: TrialRecord) -> str:
    """The stratum of a record's horizon group."""
    return GROUP + (record.horizon_group or "not declared")


def currency_of(records: Iterable[TrialRecord]) -> str | None:
    """What money is in, all of it, since an experiment has one currency; null where nothing was priced."""
    return next((record.currency for record in records if record.currency is not None), None)


def main_table(groups: Iterable[Cell]) -> list[Row]:
    """Every measure of every cell."""
    rows: list[Row] = []
    for cell in groups:
        for measure, yes in RATES.items():
            outcomes = [yes(record) for record in cell.valid]
            estimate = rate_over_tasks(by_task(cell, outcomes))
            rows.append(make_row(cell, measure, estimate, outcomes))
        for measure, (quantity, unit) in QUANTITIES.items():
            values = [quantity(record) for record in cell.valid]
            unit = currency_of(cell.every) or unit if measure == "money" else unit
            estimate = mean_over_tasks(by_task(cell, values), unit, limits=limits_of(unit))
            if measure == "money" and unit != "money":
                estimate = msgspec.structs.replace(estimate, notes=[*estimate.notes, f"In {unit}."])
            rows.append(make_row(cell, measure, estimate, values))
    return rows


def by_task(cell: Cell, values: Sequence[T]) -> dict[str, list[T]]:
    """Values of the valid trials, in their order, sorted to their tasks; a task without any stays, empty."""
    found: dict[str, list[T]] = {record.task: [] for record in cell.records}
    for record, value in zip(cell.valid, values, strict=True):
        found[record.task].append(value)
    return found


def make_row(cell: Cell, measure: str, estimate: Estimate, values: Sequence[float | bool | None]) -> Row:
    """One line, with what stands behind it."""
    denominators = Denominators(
        trials=len(cell.records),
        infrastructure=len(cell.records) - len(cell.valid),
        valid=len(cell.valid),
        censored=sum(record.censored is True for record in cell.valid),
        unknown=sum(value is None for value in values),
        events=sum(value is True for value in values) if measure in RATES else None,
        attempts=len(cell.every),
    )
    return Row(
        system=cell.system,
        arm=cell.arm,
        stratum=cell.stratum,
        measure=measure,
        estimate=estimate,
        denominators=denominators,
    )


def flat(row: Row) -> dict[str, Any]:
    """A line of the main table for CSV: estimate and denominators side by side, notes as one text."""
    plain: dict[str, Any] = msgspec.to_builtins(row)
    estimate, denominators = plain.pop("estimate"), plain.pop("denominators")
    estimate["notes"] = " ".join(estimate["notes"])
    return {**plain, **estimate, **denominators}
