"""Samples for human review, drawn more often where the risk is higher, and totals weighed back from them.

Every picked item keeps the probability it was picked with; without it nothing can be said of the whole.
"""

import math
from collections.abc import Mapping
from statistics import NormalDist, fmean, variance

import msgspec
import numpy as np

from seatrial.estimate.estimate import NO_ENDS, Estimate, Said, say
from seatrial.estimate.rates import wilson

METHOD = "Horvitz–Thompson, normal by stratum"


class Picked(msgspec.Struct, frozen=True, kw_only=True):
    """One item to review.

    Attributes:
        item, stratum: its name, and its class of risk.
        probability: chance it had of being picked, in (0, 1].
    """

    item: str
    stratum: str
    probability: float


class ReviewSample(msgspec.Struct, frozen=True, kw_only=True):
    """What to review.

    Attributes:
        picked: by name.
        sizes: stratum to how many items it holds in all.
    """

    picked: list[Picked]
    sizes: dict[str, int]


def draw_for_review(
    strata: Mapping[str, str], wanted: Mapping[str, int], rng: np.random.Generator
) -> ReviewSample:
    """Simple random samples without replacement inside each stratum.

    Args:
        strata: item to its stratum of risk.
        wanted: stratum to how many items to review, at least 1 of every stratum, so that none is blind;
            all of them where it holds fewer.
        rng: source of all randomness.

    Raises:
        ValueError: a stratum without items or without a wanted number, or a number below 1.
    """
    members: dict[str, list[str]] = {}
    for item in sorted(strata):
        members.setdefault(strata[item], []).append(item)
    if other := sorted(set(members) ^ set(wanted)):
        raise ValueError(f"draw_for_review: stratum {other[0]} has items or a wanted number only")
    if few := sorted(name for name, number in wanted.items() if number < 1):
        raise ValueError(
            f"draw_for_review: {wanted[few[0]]} items of {few[0]}; review at least 1 of each stratum"
        )
    picked = []
    for name, items in sorted(members.items()):
        number = min(wanted[name], len(items))
        chosen = rng.choice(len(items), number, replace=False)
        picked += [Picked(item=items[i], stratum=name, probability=number / len(items)) for i in chosen]
    return ReviewSample(
        picked=sorted(picked, key=lambda one: one.item),
        sizes={name: len(items) for name, items in sorted(members.items())},
    )


def weighted_total(sample: ReviewSample, found: Mapping[str, float | None], level: float = 0.95) -> Estimate:
    """Total over all items, reviewed or not (Horvitz and Thompson 1952): Σ value/probability.

    Error by stratum: Σ N²(1 − n/N)·s²/n. Where all reviewed items of a stratum agree on yes or no, or one
    alone was reviewed, its spread is unknown, not 0: the interval then reaches as far as Wilson's does there.

    Args:
        sample: as drawn.
        found: picked item to what its review found, for example 1 for an error; null where undecided.
        level: confidence level, in (0, 1).

    Returns:
        Null, with the reason, where a review is undecided. Divide by the number of items for a rate.

    Raises:
        ValueError: a picked item has no finding, or one is not finite.
    """
    by_stratum: dict[str, list[float]] = {}
    undecided = 0
    for one in sample.picked:
        value = found.get(one.item, math.nan)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"weighted_total: no finite finding of {one.item}; null is undecided")
        undecided += value is None
        by_stratum.setdefault(one.stratum, []).append(0.0 if value is None else float(value))
    n_items = sum(sample.sizes.values())
    said = Said(level, "items", len(sample.picked), len(sample.picked))
    notes = [f"{len(sample.picked)} of {n_items} items were reviewed."]
    if undecided:
        notes.append(f"No total: {undecided} reviews are undecided.")
        return say(None, NO_ENDS, METHOD, said, notes)
    total, below, above, blind = 0.0, 0.0, 0.0, []
    z = NormalDist().inv_cdf((1 + level) / 2)
    for name, values in by_stratum.items():
        size, n, mean = sample.sizes[name], len(values), fmean(values)
        total += size * mean
        if n == size:
            continue
        spread = variance(values) if n > 1 else 0.0
        reach = z * math.sqrt(size**2 * (1 - n / size) * spread / n)
        down = up = reach
        if spread == 0:
            if not set(values) <= {0.0, 1.0}:
                blind.append(name)
                continue
            low, high = wilson(sum(values), n, level)
            down, up = size * (mean - low), size * (high - mean)
        below, above = math.hypot(below, down), math.hypot(above, up)
    if blind:
        notes.append(f"No interval: the reviewed items of {blind[0]} show no spread.")
        return say(total, NO_ENDS, METHOD, said, notes)
    return say(total, (total - below, total + above), METHOD, said, notes)
