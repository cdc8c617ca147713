"""Two systems, one trial each per task: McNemar's test and Newcombe's interval.

Only for one trial per task: on pooled trials the test rejects 9 to 11 % of true nulls at a stated 5 %.
"""

import math

import msgspec

from seatrial.estimate.rates import wilson


class McNemar(msgspec.Struct, frozen=True, kw_only=True):
    """A paired two-by-two table and what it says.

    Attributes:
        both, only_a, only_b, neither: tasks by which system succeeded.
        difference: rate of A minus rate of B, in [−1, 1].
        low, high: Newcombe's method 10 at ``level``.
        p_exact, p_mid: two-sided; the exact one never rejects too often, the mid one is about right.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float
    low: float
    high: float
    level: float
    p_exact: float
    p_mid: float


def mcnemar(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> McNemar:
    """Test and interval for one trial of each system per task.

    Exact: 2·P(X <= min(b, c)), X binomial over b + c with ½, at most 1 (McNemar 1947); mid: that less
    P(X = min(b, c)) (Lancaster 1961). Without discordant tasks both are 1.

    Args:
        both, only_a, only_b, neither: tasks, at least 0, not all 0.
        level: of the interval, in (0, 1).

    Raises:
        ValueError: a count is negative, all are 0, or the level is out of range.
    """
    if min(both, only_a, only_b, neither) < 0 or both + only_a + only_b + neither == 0:
        raise ValueError(f"mcnemar({both}, {only_a}, {only_b}, {neither}): counts are at least 0, not all 0")
    discordant, fewer = only_a + only_b, min(only_a, only_b)
    # Whole numbers until the division, so that thousands of discordant tasks lose no digit.
    term, tail = 1, 0
    for k in range(fewer + 1):
        tail += term
        last, term = term, term * (discordant - k) // (k + 1)
    exact = 2 * tail / 2**discordant
    low, high = newcombe_paired(both, only_a, only_b, neither, level)
    return McNemar(
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        difference=(only_a - only_b) / (discordant + both + neither),
        low=low,
        high=high,
        level=level,
        p_exact=min(1.0, exact),
        p_mid=min(1.0, exact - last / 2**discordant) if discordant else 1.0,
    )


def newcombe_paired(
    both: int, only_a: int, only_b: int, neither: int, level: float = 0.95
) -> tuple[float, float]:
    """Interval for the difference of two paired rates (Newcombe 1998, method 10).

    With Wilson's (l, u) for each rate p and φ the table's correlation, corrected by n/2 where positive:
    low = d − √((p₁ − l₁)² − 2φ(p₁ − l₁)(u₂ − p₂) + (u₂ − p₂)²), and high the same with the ends exchanged.

    Args:
        both, only_a, only_b, neither: tasks, at least 0, not all 0.
        level: confidence level, in (0, 1).

    Returns:
        Low and high, in [−1, 1].

    Raises:
        ValueError: an argument is out of range.
    """
    n = both + only_a + only_b + neither
    (low_a, high_a), (low_b, high_b) = (
        wilson(both + only_a, n, level),
        wilson(both + only_b, n, level),
    )
    a, b, phi = (both + only_a) / n, (both + only_b) / n, _phi(both, only_a, only_b, neither)
    return (
        max(-1.0, a - b - _joined(a - low_a, high_b - b, phi)),
        min(1.0, a - b + _joined(high_a - a, b - low_b, phi)),
    )


def newcombe_unpaired(
    rate_a: float, ends_a: tuple[float, float], rate_b: float, ends_b: tuple[float, float]
) -> tuple[float, float]:
    """Interval for a difference from an interval of each rate, taken as independent (Newcombe 1998, 10).

    Too wide where the two rise and fall together, which paired systems mostly do.

    Args:
        rate_a, rate_b: in [0, 1].
        ends_a, ends_b: low and high of each, at one level.
    """
    difference = rate_a - rate_b
    low = difference - _joined(rate_a - ends_a[0], ends_b[1] - rate_b, 0)
    high = difference + _joined(ends_a[1] - rate_a, rate_b - ends_b[0], 0)
    return max(-1.0, low), min(1.0, high)


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    """The table's correlation, as method 10 corrects it; 0 where a margin is empty."""
    product = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if product == 0:
        return 0.0
    excess: float = both * neither - only_a * only_b
    if excess > 0:
        excess = max(0.0, excess - (both + only_a + only_b + neither) / 2)
    return excess / math.sqrt(product)
