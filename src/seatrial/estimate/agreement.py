"""Whether raters agree beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, ICC.

Items are the sampling unit: intervals come from a bootstrap over items. Where nobody ever varies, agreement
is complete and chance agreement too, so these measures are undefined: null, and said.
"""

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

import numpy as np

from seatrial.estimate.bootstrap import CELLS, DRAWS, Floats, task_weights
from seatrial.estimate.draws import defined_interval, drawn_statistic
from seatrial.estimate.estimate import NO_ENDS, Estimate, Said, say

Rating = str | int | float | bool
# One row an item, one column a rater.
Ratings = Sequence[Sequence[Rating | None]]
Scale = Literal["nominal", "ordinal", "interval"]

BOOTSTRAP = "bootstrap over items, percentile"
UNDEFINED = "Undefined: all ratings are the same, so chance alone would agree as fully."


def cohen_kappa(
    ratings: Ratings, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Estimate:
    """Two raters, categories without order: (p_o − p_e)/(1 − p_e) (Cohen 1960), in [−1, 1].

    Args:
        ratings: shape (items, 2); an item one of them did not rate is left out and counted.
        rng, level, draws: of the bootstrap over items.

    Raises:
        ValueError: an item has other than two ratings, or a rating is NaN.
    """
    _refuse(ratings, "cohen_kappa")
    if any(len(item) != 2 for item in ratings):
        raise ValueError("cohen_kappa: every item needs two places, one a rater. Use fleiss_kappa for more.")
    full = [(one, other) for one, other in ratings if one is not None and other is not None]
    names = _categories(full)
    cells = np.zeros((len(full), len(names) ** 2))
    for row, (one, other) in enumerate(full):
        cells[row, names[one] * len(names) + names[other]] = 1

    def kappa(sums: Floats) -> Floats:
        table = sums.reshape(-1, len(names), len(names))
        n = table.sum(axis=(1, 2))
        seen = np.trace(table, axis1=1, axis2=2) / n
        return _beyond_chance(seen, (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1) / n**2)

    left_out = len(ratings) - len(full)
    notes = [f"{left_out} items not rated by both are left out."] if left_out else []
    agree = [float(one == other) for one, other in full]
    return _over_items(cells, kappa, (agree, 2 * len(full)), "Cohen's kappa", (rng, level, draws), notes)


def fleiss_kappa(
    ratings: Ratings, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Estimate:
    """As many ratings of every item, by whomever, categories without order (Fleiss 1971), in [−1, 1].

    Args:
        ratings: shape (items, raters), none missing: use ``krippendorff_alpha`` where some are.
        rng, level, draws: of the bootstrap over items.

    Raises:
        ValueError: items differ in their number of ratings, have fewer than two, or one is missing.
    """
    _refuse(ratings, "fleiss_kappa")
    sizes = {len(item) for item in ratings}
    if len(sizes) > 1 or any(None in item for item in ratings) or min(sizes, default=2) < 2:
        raise ValueError(
            "fleiss_kappa: every item needs as many ratings, at least 2, none missing. "
            "Use krippendorff_alpha where some are."
        )
    counts, raters = _counts(ratings), max(sizes, default=2)
    agree = ((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))) if len(counts) else np.zeros(0)

    def kappa(sums: Floats) -> Floats:
        n = sums[:, 1:].sum(axis=1) / raters
        shares = sums[:, 1:] / (n * raters)[:, None]
        return _beyond_chance(sums[:, 0] / n, (shares**2).sum(axis=1))

    rows = np.column_stack([agree, counts]) if len(counts) else np.zeros((0, 1))
    size = (agree.tolist(), raters * len(counts))
    return _over_items(rows, kappa, size, "Fleiss' kappa", (rng, level, draws), [])


def krippendorff_alpha(
    ratings: Ratings,
    rng: np.random.Generator,
    scale: Scale = "nominal",
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """Any number of raters, missing ratings allowed: 1 − D_o/D_e (Krippendorff 2011); at most 1.

    The squared distance of two values is 0 or 1 (nominal), (c − k)² (interval), or the same of their mid
    ranks among all ratings that pair (ordinal). An item with fewer than two ratings pairs none and is left
    out and counted.

    Args:
        ratings: items by raters; numbers unless the scale is nominal.
        rng, level, draws: of the bootstrap over items.
        scale: how far apart two values are.

    Raises:
        ValueError: a rating is no number on a scale that needs one, or is NaN.
    """
    _refuse(ratings, "krippendorff_alpha")
    paired = [[v for v in item if v is not None] for item in ratings]
    paired = [item for item in paired if len(item) > 1]
    if scale != "nominal" and any(isinstance(v, str) for item in paired for v in item):
        raise ValueError(f"krippendorff_alpha: the {scale} scale needs numbers")
    counts, size = _counts(paired), np.array([len(item) for item in paired], float)
    left_out = len(ratings) - len(paired)
    notes = [f"{left_out} items with fewer than two ratings are left out."] if left_out else []
    said = Said(level, "items", len(paired), int(size.sum()), notes)
    method = f"Krippendorff's alpha, {scale}"
    if not paired:
        return say(None, NO_ENDS, method, said, ["No item has two ratings."])
    if counts.shape[1] == 1:
        return say(None, NO_ENDS, method, said, [UNDEFINED])
    values = np.array([0.0 if isinstance(v, str) else float(v) for v in _categories(paired)])
    alpha = _Alpha(counts, size, values, scale)
    value = alpha(np.ones((1, len(paired))))[0]
    if len(paired) == 1:
        return say(float(value), NO_ENDS, method, said, ["No interval: there is one item."])
    sample, step = np.empty(draws), max(1, CELLS // max(counts.shape))
    for start in range(0, draws, step):
        part = sample[start : start + step]
        part[:] = alpha(task_weights(len(paired), len(part), rng).astype(float))
    low, high, lost = defined_interval(sample, level)
    return say(float(value), (low, high), f"{method}; {BOOTSTRAP}", said, lost)


class _Alpha:
    """Alpha for many rows of item weights at once.

    Attributes:
        counts: how often each item got each value, shape (items, values).
        size: ratings of each item, at least 2.
        values: the values themselves on the interval scale; none on the others.
    """

    def __init__(self, counts: Floats, size: Floats, values: Floats, scale: Scale) -> None:
        self.counts, self.size, self.values, self.scale = counts, size, values, scale

    def __call__(self, weights: Floats) -> Floats:
        totals = weights @ self.counts
        n = totals.sum(axis=1)
        if self.scale == "nominal":
            own = (self.size**2 - (self.counts**2).sum(axis=1)) / (self.size - 1)
            seen, chance = weights @ own, n**2 - (totals**2).sum(axis=1)
        else:
            seen, chance = self._squared(weights, totals, n)
        one_value = (totals > 0).sum(axis=1) == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(one_value, np.nan, 1 - (n - 1) * seen / chance), float)

    def _squared(self, weights: Floats, totals: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Squared distances inside items and over all, from Σᵢⱼ (xᵢ − xⱼ)² = 2(n·Σx² − (Σx)²)."""
        at = np.cumsum(totals, axis=1) - totals / 2
        if self.scale == "interval":
            at = np.broadcast_to(self.values, totals.shape)
        at = at - at.mean(axis=1, keepdims=True)
        scaled = self.counts * (self.size / (self.size - 1))[:, None]
        inside = (at @ self.counts.T) ** 2 / (self.size - 1)
        seen = 2 * (((weights @ scaled) * at**2).sum(axis=1) - (weights * inside).sum(axis=1))
        return seen, 2 * (n * (totals * at**2).sum(axis=1) - (totals * at).sum(axis=1) ** 2)


def icc(
    ratings: Sequence[Sequence[float]],
    rng: np.random.Generator,
    form: Literal["single", "mean"] = "single",
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """Intraclass correlation, two-way random effects, absolute agreement (Shrout and Fleiss 1979).

    ICC(2,1), of one rater: (MS_r − MS_e)/(MS_r + (k − 1)·MS_e + k(MS_c − MS_e)/n). ICC(2,k), of the mean of
    all k: (MS_r − MS_e)/(MS_r + (MS_c − MS_e)/n). At most 1; below 0 items differ less than raters.

    Args:
        ratings: shape (items, raters), none missing, at least 2 by 2; finite.
        rng, level, draws: of the bootstrap over items.
        form: of a single rater, or of the raters' mean.

    Raises:
        ValueError: the table is not complete, not finite, or too small.
    """
    if len({len(item) for item in ratings}) != 1 or len(ratings) < 2 or len(ratings[0]) < 2:
        raise ValueError("icc: needs at least two items, each rated by the same two raters or more")
    table = np.asarray(ratings, float)
    if not np.isfinite(table).all():
        raise ValueError("icc: a rating is missing or not finite. Use krippendorff_alpha where some are.")
    raters = table.shape[1]
    table = table - table.mean()
    means = table.mean(axis=1)
    rows = np.column_stack([table, means**2, (table**2).sum(axis=1)])

    def correlation(sums: Floats) -> Floats:
        n = len(table)
        columns = sums[:, :raters] / n
        grand = columns.mean(axis=1)
        items = raters * (sums[:, raters] - n * grand**2)
        by_rater = n * ((columns - grand[:, None]) ** 2).sum(axis=1)
        rest = sums[:, raters + 1] - raters * n * grand**2 - items - by_rater
        ms_items, ms_raters = items / (n - 1), by_rater / (raters - 1)
        ms_rest = np.maximum(rest, 0.0) / ((n - 1) * (raters - 1))
        bias = (ms_raters - ms_rest) / n
        below = ms_items + bias if form == "mean" else ms_items + (raters - 1) * ms_rest + raters * bias
        scale = sums[:, raters + 1] / (n * raters)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below > 1e-12 * scale, (ms_items - ms_rest) / below, np.nan)

    method = f"ICC({'2,1' if form == 'single' else '2,k'}), two-way random, absolute agreement"
    return _over_items(rows, correlation, ([], table.size), method, (rng, level, draws), [])


Resampling = tuple[np.random.Generator, float, int]  # source, level, draws


def _refuse(ratings: Ratings, where: str) -> None:
    if any(value != value for item in ratings for value in item):
        raise ValueError(f"{where}: a rating is NaN. Give null where it is missing.")


def _categories(ratings: Ratings) -> dict[Rating, int]:
    """Every rating given, in order, with its place."""
    given = {value for item in ratings for value in item if value is not None}
    ordered = sorted(given, key=lambda v: (1, 0.0, v) if isinstance(v, str) else (0, float(v), ""))
    return {value: place for place, value in enumerate(ordered)}


def _counts(ratings: Ratings) -> Floats:
    """How often each item got each rating, shape (items, categories)."""
    places = _categories(ratings)
    found = np.zeros((len(ratings), len(places)))
    for row, item in enumerate(ratings):
        for value in item:
            if value is not None:
                found[row, places[value]] += 1
    return found


def _beyond_chance(seen: Floats, chance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1 - 1e-12, (seen - chance) / (1 - chance), np.nan)


def _over_items(
    rows: Floats,
    statistic: Callable[[Floats], Floats],
    size: tuple[Sequence[float], int],
    method: str,
    how: Resampling,
    notes: list[str],
) -> Estimate:
    """A statistic of sums over items, bootstrapped; ``size`` is each item's agreement and all ratings."""
    rng, level, draws = how
    agreements, n_ratings = size
    notes = [*notes, f"Raw agreement is {fmean(agreements):.3g}."] if len(agreements) else notes
    said = Said(level, "items", len(rows), n_ratings, notes)
    if not len(rows):
        return say(None, NO_ENDS, method, said, ["No item has enough ratings."])
    value = float(statistic(rows.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return say(None, NO_ENDS, method, said, [UNDEFINED])
    if len(rows) == 1:
        return say(value, NO_ENDS, method, said, ["No interval: there is one item."])
    low, high, lost = defined_interval(drawn_statistic(rows, statistic, rng, draws), level)
    return say(value, (low, high), f"{method}; {BOOTSTRAP}", said, lost)
