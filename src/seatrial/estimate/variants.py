"""Originals against variants of themselves: does success hold where only the surface changed?"""

from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.estimate.paired import PairedDifference, paired_difference
from seatrial.estimate.permutation import FLIPS
from seatrial.estimate.trials import Outcomes, measured


def variant_gap(
    originals: Outcomes,
    variants: Outcomes,
    original_of: Mapping[str, str],
    rng: np.random.Generator,
    level: float = 0.95,
    flips: int = FLIPS,
) -> PairedDifference:
    """Success on originals less success on their variants, paired by original, which is the sampling unit.

    Trials of all variants of one original stand together: many variants of one task are one task.

    Args:
        originals: original task to the outcomes of its valid trials.
        variants: variant task to the outcomes of its valid trials.
        original_of: every variant's original.
        rng: source of the sampled signs.
        level: confidence level, in (0, 1).
        flips: sampled sign patterns, at least 1.

    Returns:
        A is the original. Originals without a variant are left out and named in the notes.

    Raises:
        ValueError: a variant has no original, or one without trials of its own.
    """
    pooled: dict[str, list[bool | None]] = {}
    for variant, trials in measured(variants).items():
        source = original_of.get(variant)
        if source is None or source not in originals:
            raise ValueError(f"variant_gap: {variant} has no original among the tasks")
        pooled.setdefault(source, []).extend(trials)
    names = ("the original", "a variant")
    sides = (dict(originals), {task: pooled.get(task, []) for task in originals})
    found = paired_difference(*sides, rng, alpha=1 - level, flips=flips, names=names)
    note = (
        f"{len(measured(variants))} variants of {len(pooled)} originals; the original is the sampling unit."
    )
    difference = msgspec.structs.replace(found.difference, notes=[note, *found.difference.notes])
    return msgspec.structs.replace(found, difference=difference)
