"""What people did in trials, and what that does to the numbers, in words (C6)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from seatrial.records.people import NO_HELP, UNSAID, is_valid, left_alone, own_name, stands_apart
from seatrial.records.trial import TrialRecord
from seatrial.report.tables import HELP, RATES, WHOLE, Cell
from seatrial.report.wording import UNKNOWN, counted, share

SELECTED = (
    "Trials leave a system's own numbers by what happened in them, and people step in where it goes badly: "
    "what is left holds only where nobody had to. To learn what people change, run the same tasks with "
    "different tiers of help offered in every trial, and count all trials of each."
)
STRATA = f"by tier they stand in the strata “{HELP}…”"


def people_limits(groups: Iterable[Cell], divided: str = STRATA) -> list[str]:
    """All that people's help does to the numbers of some systems; nothing where no person did anything.

    Args:
        groups: cells; only those of the whole are looked at.
        divided: where the tiers of one system stand by themselves, in words.
    """
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    apart = list(apart_sentences(whole).values())
    found = [*apart, *([SELECTED] if apart else [])]
    for cell in whole:
        found += tier_sentences(cell, divided)
    unsaid = Counter(
        cell.system
        for cell in whole
        if not stands_apart(cell.system)
        for record in cell.valid
        if record.human_machine is None
    )
    found += [
        f"Of {counted(n, 'valid trial')} of {system} nobody says whether a person edited a call or acted. "
        "Their source says so of no trial, and they count as its own."
        for system, n in unsaid.items()
    ]
    return found


def apart_sentences(groups: Sequence[Cell]) -> dict[tuple[str, str], str]:
    """What stands apart and what that leaves of the system, by the name of what stands apart and its arm.

    Args:
        groups: cells of one stratum.
    """
    own = {(cell.system, cell.arm): cell.records for cell in groups if not stands_apart(cell.system)}
    apart = [cell for cell in groups if stands_apart(cell.system)]
    found = {}
    for cell in apart:
        system, n = own_name(cell.system), len(cell.records)
        alone = own.get((system, cell.arm), [])
        others = [
            r for one in apart if (own_name(one.system), one.arm) == (system, cell.arm) for r in one.records
        ]
        all_of_them = counted(len(alone) + len(others), "trial")
        what = f"in {n} of {all_of_them} a person edited a call or acted"
        if cell.system.endswith(UNSAID):
            what = f"of {n} of {all_of_them} nobody says whether a person edited a call or acted"
        stand, are = ("It stands", "is") if n == 1 else ("They stand", "are")
        found[cell.system, cell.arm] = (
            f"{system} ({cell.arm}): {what}. {stand} apart as {cell.system}, {are} in no number of {system} "
            f"and {are} compared with nobody. {left_words(system, alone, others)}"
        )
    return found


def left_words(system: str, alone: Sequence[TrialRecord], others: Sequence[TrialRecord]) -> str:
    """How far the trials that stand apart leave open what a system would have reached without people.

    Args:
        system: its own name.
        alone: its own trials.
        others: its trials that stand apart.
    """
    if not any(is_valid(record) for record in alone):
        return f"No valid trial of {system} is its own."
    safe = any(record.safe_success is not None for record in alone)
    name = "safe_success" if safe else "strict_success"
    outcomes: dict[str, list[bool | None]] = {}
    for record in [*alone, *map(left_alone, others)]:
        if is_valid(record):
            outcomes.setdefault(record.task, []).append(RATES[name](record))
    least, most = (
        fmean(fmean(as_what if end is None else end for end in ends) for ends in outcomes.values())
        for as_what in (False, True)
    )
    return (
        f"Had it been left alone in all, its {name.replace('_', ' ')} would be between {share(least)} and "
        f"{share(most)}, as a mean over tasks."
    )


def tier_sentences(cell: Cell, divided: str = STRATA) -> list[str]:
    """The tiers of help in a cell's valid trials, where anybody helped; one sentence at most."""
    tiers = Counter(record.human_tier or UNKNOWN for record in cell.valid)
    if set(tiers) <= {NO_HELP, UNKNOWN} or (len(tiers) == 1 and stands_apart(cell.system)):
        return []
    told = ", ".join(f"{tier} {count}" for tier, count in sorted(tiers.items()))
    means = f"Its numbers are of that mix; {divided}." if len(tiers) > 1 else "It is no autonomous result."
    return [f"{cell.system} ({cell.arm}), the most help that people gave in a valid trial: {told}. {means}"]
