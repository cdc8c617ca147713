"""Success on tasks and on their variants: what was learnt by heart does not carry over (F28)."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.records.trial import TrialRecord
from seatrial.report.comparisons import own_results
from seatrial.report.tables import RATES, WHOLE, Cell

MEASURE = "safe_success"


class VariantLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``variants`` in ``report.json``: one system and arm, on originals and on their variants.

    Attributes:
        originals, variants: safe success on each, in [0, 1]; the original is the sampling unit of both, and
            the trials on all variants of one stand together.
        n_originals, n_variants: tasks that have a partner, on either side.
        difference: originals less variants, paired by original, which is the sampling unit.
        words: what p allows to be said.
        p, test: as in comparisons; not adjusted, since no such pair was declared.
        left_out: variants whose original is not among the tasks, or is a variant itself.
    """

    system: str
    arm: str
    originals: Estimate
    variants: Estimate
    n_originals: int
    n_variants: int
    difference: Estimate
    words: str
    p: float | None
    test: str
    left_out: list[str]


def variant_lines(groups: Iterable[Cell], seed: int) -> list[VariantLine]:
    """A line for each system and arm that ran a task together with a variant of it.

    Args:
        groups: the cells of the main table.
        seed: of the sampled signs.
    """
    whole = [cell for cell in own_results(groups) if cell.stratum == WHOLE]
    found = [_line(cell, seed) for cell in whole]
    return [line for line in found if line is not None]


def _line(cell: Cell, seed: int) -> VariantLine | None:
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.rates import rate_over_tasks
    from seatrial.estimate.variants import variant_gap

    named = {record.task: record.variant_of for record in cell.records if record.variant_of is not None}
    there = {record.task for record in cell.records} - set(named)
    original_of = {task: source for task, source in named.items() if source in there}
    if not original_of:
        return None
    sources = set(original_of.values())
    originals = _outcomes(record for record in cell.valid if record.task in sources)
    originals |= {task: [] for task in sources - set(originals)}
    variants = _outcomes(record for record in cell.valid if record.task in original_of)
    found = variant_gap(originals, variants, original_of, np.random.default_rng(seed))
    return VariantLine(
        system=cell.system,
        arm=cell.arm,
        originals=rate_over_tasks(originals),
        variants=rate_over_tasks(_by_original(variants, original_of)),
        n_originals=len(sources),
        n_variants=len(original_of),
        difference=found.difference,
        words=_words(found.verdict),
        p=found.p,
        test=found.test,
        left_out=sorted(set(named) - set(original_of)),
    )


def _outcomes(records: Iterable[TrialRecord]) -> dict[str, list[bool | None]]:
    found: dict[str, list[bool | None]] = {}
    for record in records:
        found.setdefault(record.task, []).append(RATES[MEASURE](record))
    return found


def _by_original(
    variants: Mapping[str, Sequence[bool | None]], original_of: Mapping[str, str]
) -> dict[str, list[bool | None]]:
    """Several variants of one task are no several tasks."""
    found: dict[str, list[bool | None]] = {}
    for task, outcomes in variants.items():
        found.setdefault(original_of[task], []).extend(outcomes)
    return found


def _words(verdict: str) -> str:
    return {"A higher": "better on the originals", "B higher": "better on the variants"}.get(
        verdict, "cannot be told apart yet"
    )
