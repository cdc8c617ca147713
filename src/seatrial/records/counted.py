"""Which attempt stands for its trial in every denominator."""

from collections.abc import Iterable, Sequence

from seatrial.records.trial import TerminalClass, TrialRecord


def counted_index(classes: Sequence[TerminalClass]) -> int:
    """Of one trial's attempts, in order: the first not ended for reasons of infrastructure, else the last."""
    completed = (index for index, found in enumerate(classes) if found != "infrastructure")
    return next(completed, len(classes) - 1)


def counted_records(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """One record a trial, in the order the trials came in."""
    by_trial: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in records:
        by_trial.setdefault((record.experiment, record.trial), []).append(record)
    found = []
    for attempts in by_trial.values():
        attempts.sort(key=lambda record: record.attempt)
        found.append(attempts[counted_index([record.terminal_class for record in attempts])])
    return found
