"""How often a verifier errs on products of known quality, and what success rate its verdicts then mean."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, percentile_interval
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import effective_trials, rate_over_tasks, wilson
from seatrial.estimate.trials import Outcomes, completed, count_trials, count_unknown, measured

UNIT = "calibration products"


class VerifierError(msgspec.Struct, frozen=True, kw_only=True):
    """A verifier on products whose quality is known otherwise. Higher is better for all.

    Attributes:
        recall_good: share of good products accepted (sensitivity).
        recall_bad: share of bad products rejected (specificity).
        precision: share of good products among the accepted; null where nothing is accepted.
        accuracy: share judged right in this mix; says little where the mix is one-sided.
        idempotence: share of products judged at least twice whose verdicts all agree.
    """

    recall_good: Estimate
    recall_bad: Estimate
    precision: Estimate
    accuracy: Estimate
    idempotence: Estimate


def verifier_error(good: Outcomes, bad: Outcomes, level: float = 0.95) -> VerifierError:
    """Error rates of a verifier, apart for good and for bad products.

    Args:
        good, bad: product to whether each judging of it accepted; null where the verifier gave no verdict.
            Each product counts once, however often it was judged.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: a product is both good and bad.
    """
    if both := sorted(set(good) & set(bad)):
        raise ValueError(f"verifier_error: {both[0]} is given as good and as bad")
    rejected = {p: [None if v is None else not v for v in verdicts] for p, verdicts in bad.items()}
    repeated = {p: verdicts for p, verdicts in {**good, **bad}.items() if len(verdicts) > 1}
    agree: dict[str, list[bool | None]] = {p: [len(set(verdicts)) == 1] for p, verdicts in repeated.items()}
    return VerifierError(
        recall_good=_rate(good, level),
        recall_bad=_rate(rejected, level),
        precision=_precision(good, bad, level),
        accuracy=_rate({**good, **rejected}, level),
        idempotence=_rate(agree, level),
    )


def _rate(products: Outcomes, level: float) -> Estimate:
    found = rate_over_tasks(products, level)
    return msgspec.structs.replace(
        found, unit=UNIT, notes=[note.replace("task", "product") for note in found.notes]
    )


def _precision(good: Outcomes, bad: Outcomes, level: float) -> Estimate:
    """Share of good ones among the accepted; unknown verdicts are taken both ways."""
    found: list[tuple[float, float]] = []
    for way in (False, True):
        right, wrong = completed(measured(good), way), completed(measured(bad), not way)
        accepted = [math.fsum(fmean(verdicts) for verdicts in side.values()) for side in (right, wrong)]
        found.append((accepted[0], math.fsum(accepted)))
    n_trials = count_trials(good) + count_trials(bad)
    n_products = len(measured(good)) + len(measured(bad))
    notes = ["It holds for this mix of good and bad products only."]
    known = [(right, total) for right, total in found if total]
    values = [right / total for right, total in known]
    # A fraction of an accepted product still is one observation at least.
    ends = [
        wilson(min(1.0, right / total) * max(1.0, total), max(1.0, total), level) for right, total in known
    ]
    if len(known) < 2:
        notes.append("Nothing is accepted for certain, so the precision is undefined.")
    same = len(known) == 2 and values[0] == values[1]
    return Estimate(
        value=values[0] if same else None,
        low=min(end[0] for end in ends) if len(known) == 2 else None,
        high=max(end[1] for end in ends) if len(known) == 2 else None,
        level=level,
        method="Wilson on the accepted products" if len(known) == 2 else "none",
        unit=UNIT,
        n_tasks=n_products,
        n_trials=n_trials,
        notes=notes,
    )


def rogan_gladen(apparent: float, recall_good: float, recall_bad: float) -> float:
    """The rate whose verdicts would look like ``apparent``: (a + r_bad − 1)/(r_good + r_bad − 1).

    Rogan and Gladen (1978); not clipped, so it may leave [0, 1].

    Args:
        apparent: rate of accepted products, in [0, 1].
        recall_good, recall_bad: shares of good ones accepted and of bad ones rejected, in [0, 1].

    Raises:
        ValueError: an argument is out of range, or r_good + r_bad <= 1: such a verifier tells nothing.
    """
    if not all(0 <= rate <= 1 for rate in (apparent, recall_good, recall_bad)):
        raise ValueError(f"rogan_gladen({apparent}, {recall_good}, {recall_bad}): rates lie in [0, 1]")
    if recall_good + recall_bad <= 1:
        raise ValueError(
            "rogan_gladen: a verifier that accepts bad products as often as good ones tells nothing"
        )
    return (apparent + recall_bad - 1) / (recall_good + recall_bad - 1)


def delta_error(apparent: tuple[float, float], good: tuple[float, float], bad: tuple[float, float]) -> float:
    """Standard error of ``rogan_gladen`` by the delta method, all three rates uncertain.

    √(a(1−a)/n + π²·s(1−s)/n₁ + (1−π)²·t(1−t)/n₂) / (s + t − 1).

    Args:
        apparent, good, bad: (count, total) of accepted trials, accepted good and rejected bad products.
    """
    (a, n), (s, n_good), (t, n_bad) = ((count / total, total) for count, total in (apparent, good, bad))
    rate = rogan_gladen(a, s, t)
    parts = (a * (1 - a) / n, rate**2 * s * (1 - s) / n_good, (1 - rate) ** 2 * t * (1 - t) / n_bad)
    return math.sqrt(math.fsum(parts)) / (s + t - 1)


def corrected_rate(
    outcomes: Outcomes,
    good: Outcomes,
    bad: Outcomes,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """Success rate over tasks corrected for what the verifier gets wrong.

    The interval joins three uncertainties: each rate is drawn from a beta distribution (Jeffreys' prior) on
    its effective counts, the correction is applied to every draw and clipped to [0, 1]. A draw whose
    verifier tells nothing counts as 0 for the low end and 1 for the high end. Where the value is clipped the
    interval reaches as far as Wilson's does there, since clipped draws alone would have next to no width.

    Args:
        outcomes: task to the verdicts of its valid trials.
        good, bad: calibration products to verdicts, as for ``verifier_error``.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: samples, at least 1.

    Returns:
        Null value, with the reason, where a verdict is unknown, a side has no product, or the verifier
        tells nothing.
    """
    judged = measured(outcomes)
    apparent = rate_over_tasks(outcomes, level)
    sides = [measured(good), measured(bad)]
    reason = ""
    if not judged or not all(sides):
        reason = "there is no trial, no good or no bad product"
    elif any(map(count_unknown, (judged, *sides))):
        reason = "a verdict is unknown"
    if reason:
        return _corrected(apparent, None, (None, None), [f"No corrected rate: {reason}."])
    counts = [_effective(side) for side in (judged, *sides)]
    rates = [count / total for count, total in counts]
    recall_bad = 1 - rates[2]
    drawn = [rng.beta(count + 0.5, total - count + 0.5, draws) for count, total in counts]
    telling = drawn[1] - drawn[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        sample = np.clip((drawn[0] - drawn[2]) / telling, 0, 1)
    blind = telling <= 0
    ends = (
        percentile_interval(np.where(blind, 0.0, sample), level)[0],
        percentile_interval(np.where(blind, 1.0, sample), level)[1],
    )
    notes = [f"{int(blind.sum())} of {draws} draws make the verifier tell nothing."] if blind.any() else []
    if rates[1] + recall_bad <= 1:
        notes.append("No corrected rate: the verifier accepts bad products as often as good ones.")
        return _corrected(apparent, None, ends, notes)
    raw = rogan_gladen(rates[0], rates[1], recall_bad)
    value = min(1.0, max(0.0, raw))
    if value != raw:
        notes.append(f"The correction gives {raw:.3g}, outside [0, 1]; it is clipped.")
        around = wilson(value * counts[0][1], counts[0][1], level)
        ends = (min(ends[0], around[0]), max(ends[1], around[1]))
    return _corrected(apparent, value, (min(value, ends[0]), max(value, ends[1])), notes)


def _effective(side: Mapping[str, Sequence[bool | None]]) -> tuple[float, float]:
    """Accepted and all, in independent trials' worth."""
    counts = [len(trials) for trials in side.values()]
    rates = [sum(v is True for v in trials) / len(trials) for trials in side.values()]
    n = effective_trials(rates, counts) if len(counts) > 1 else float(counts[0])
    return min(n, fmean(rates) * n), n


def _corrected(
    apparent: Estimate, value: float | None, ends: tuple[float | None, float | None], notes: list[str]
) -> Estimate:
    shown = "unknown" if apparent.value is None else f"{apparent.value:.3g}"
    return msgspec.structs.replace(
        apparent,
        value=value,
        low=ends[0],
        high=ends[1],
        method="Rogan–Gladen, beta draws of all three rates",
        notes=[*apparent.notes, *notes, f"As the verifier judged: {shown}."],
    )
