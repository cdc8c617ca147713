"""Events that did not happen: how many trials without one bound its rate."""

import math


def trials_without_event(highest_rate: float, confidence: float = 0.95) -> int:
    """Fewest trials, none with the event, that show its rate is below ``highest_rate``.

    ⌈ln(1 − confidence)/ln(1 − rate)⌉; 2,995 for a rate of 1e-3 at 95 %. Trials must be independent: those of
    one task are not, so count tasks, or multiply by the design effect.

    Args:
        highest_rate: in (0, 1).
        confidence: one-sided, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 < highest_rate < 1 or not 0 < confidence < 1:
        raise ValueError(f"trials_without_event({highest_rate}, {confidence}): both lie in (0, 1)")
    return math.ceil(math.log1p(-confidence) / math.log1p(-highest_rate))


def rate_without_event(trials: float, confidence: float = 0.95) -> float:
    """Highest rate that trials without the event leave open: 1 − (1 − confidence)^(1/n), about 3/n at 95 %.

    Args:
        trials: independent ones, at least 1; an effective number will do.
        confidence: one-sided, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    if not 1 <= trials < math.inf or not 0 < confidence < 1:
        raise ValueError(f"rate_without_event({trials}, {confidence}): needs trials >= 1, 0 < confidence < 1")
    return -math.expm1(math.log1p(-confidence) / trials)
