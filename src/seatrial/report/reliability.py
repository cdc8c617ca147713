"""Attempts with their reasons, and how calls of tools and models went, with denominators (C15, C16)."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from seatrial.records.trial import TrialRecord
from seatrial.report.tables import WHOLE, Cell, ok_calls


class AttemptLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``attempts`` in ``report.json``.

    Attributes:
        trials: planned trials with an ended attempt.
        attempts: all ended attempts.
        repeated: trials that took more than one.
        most: attempts of the trial that took most.
        without_valid: trials none of whose attempts says anything about the system.
        infrastructure: attempts that ended for reasons of infrastructure, counted by stop reason
            (``not begun`` where not even a journal could be started).
    """

    system: str
    arm: str
    trials: int
    attempts: int
    repeated: int
    most: int
    without_valid: int
    infrastructure: dict[str, int]


class CallLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``calls`` in ``report.json``: sums over the valid trials.

    A call is one request to the gateway; it succeeds when its outcome is ok, so a command that ends with
    another exit code than 0 is a failed call. Sums and rates are null where a trial's part is unknown.

    Attributes:
        trials: valid trials.
        calls: all calls; those of each outcome follow.
        malformed: failed calls whose tool or arguments were not as declared.
        success_rate: ok over all calls, in [0, 1].
        malformed_rate: malformed over all calls, in [0, 1].
        model_calls: calls of the model's endpoint; of these, those that repeat one, and those without a
            usable answer.
    """

    system: str
    arm: str
    trials: int
    calls: int | None
    ok: int | None
    failed: int | None
    partial: int | None
    denied: int | None
    unknown: int | None
    malformed: int | None
    success_rate: float | None
    malformed_rate: float | None
    model_calls: int | None
    model_retries: int | None
    model_failures: int | None


def attempt_lines(groups: Iterable[Cell]) -> list[AttemptLine]:
    """One line per system and arm."""
    return [attempt_line(cell) for cell in groups if cell.stratum == WHOLE]


def attempt_line(cell: Cell) -> AttemptLine:
    """How many attempts the trials of one cell took, and why."""
    taken = Counter((record.experiment, record.trial) for record in cell.every)
    lost = [record for record in cell.every if record.terminal_class == "infrastructure"]
    reasons = Counter(record.stop_reason or "not begun" for record in lost)
    return AttemptLine(
        system=cell.system,
        arm=cell.arm,
        trials=len(cell.records),
        attempts=len(cell.every),
        repeated=sum(count > 1 for count in taken.values()),
        most=max(taken.values(), default=0),
        without_valid=len(cell.records) - len(cell.valid),
        infrastructure=dict(sorted(reasons.items())),
    )


def call_lines(groups: Iterable[Cell]) -> list[CallLine]:
    """One line per system and arm."""
    return [call_line(cell) for cell in groups if cell.stratum == WHOLE]


def call_line(cell: Cell) -> CallLine:
    """How the calls of one cell's valid trials went."""
    valid = cell.valid
    calls, malformed = total(valid, "actions"), total(valid, "malformed_actions")
    ok = added(ok_calls(record) for record in valid)
    return CallLine(
        system=cell.system,
        arm=cell.arm,
        trials=len(valid),
        calls=calls,
        ok=ok,
        failed=total(valid, "failed_actions"),
        partial=total(valid, "partial_actions"),
        denied=total(valid, "denied_actions"),
        unknown=total(valid, "unknown_actions"),
        malformed=malformed,
        success_rate=None if ok is None or not calls else ok / calls,
        malformed_rate=None if malformed is None or not calls else malformed / calls,
        model_calls=total(valid, "model_calls"),
        model_retries=total(valid, "model_retries"),
        model_failures=total(valid, "model_failures"),
    )


def total(records: Iterable[TrialRecord], column: str) -> int | None:
    """Sum of one column."""
    return added(getattr(record, column) for record in records)


def added(counts: Iterable[int | None]) -> int | None:
    """A sum; null where a part is unknown, or where there is none."""
    known = list(counts)
    return None if None in known or not known else sum(count or 0 for count in known)
