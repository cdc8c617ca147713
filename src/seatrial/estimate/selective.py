"""Risk and coverage: how often a system errs if only its most confident trials are taken."""

from collections.abc import Sequence
from itertools import groupby

import msgspec


class RiskCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The curve, one point for each number of trials taken from the most confident on.

    Attributes:
        coverage: share of trials taken, rising to 1.
        risk: error rate among them; of trials of equal confidence, the mean over their orders.
        aurc: area under it, the mean of ``risk`` (Geifman and El-Yaniv 2017); lower is better.
        best_aurc: the same if confidence put every error last.
        excess: aurc − best_aurc, at least 0; 0 for a perfect order, whatever the error rate.
    """

    coverage: list[float]
    risk: list[float]
    aurc: float
    best_aurc: float
    excess: float


def risk_coverage(confidence: Sequence[float], error: Sequence[bool]) -> RiskCoverage:
    """Selective risk at every coverage.

    Args:
        confidence: of each trial; any finite scale, higher is more confident.
        error: whether each trial failed.

    Raises:
        ValueError: lengths differ, there is no trial, or a confidence is NaN.
    """
    pairs = sorted(zip(confidence, map(bool, error), strict=True), key=lambda pair: -pair[0])
    if not pairs or any(value != value for value, _ in pairs):
        raise ValueError(f"risk_coverage: {len(pairs)} trials; needs one with a confidence that is a number")
    risk, errors, taken = [], 0.0, 0
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        wrong = [failed for _, failed in group]
        risk += [(errors + i * sum(wrong) / len(wrong)) / (taken + i) for i in range(1, len(wrong) + 1)]
        errors, taken = errors + sum(wrong), taken + len(wrong)
    right = taken - int(errors)
    best = sum((i - right) / i for i in range(right + 1, taken + 1)) / taken
    aurc = sum(risk) / taken
    return RiskCoverage(
        coverage=[i / taken for i in range(1, taken + 1)],
        risk=risk,
        aurc=aurc,
        best_aurc=best,
        excess=max(0.0, aurc - best),
    )
