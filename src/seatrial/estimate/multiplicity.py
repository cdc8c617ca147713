"""Several comparisons at once: p values adjusted so that the whole of them keeps its promise."""

from collections.abc import Sequence

ADJUSTED_AWAY = (
    "The interval is of this difference alone; its p value, adjusted for the number of comparisons, does not "
    "reach the level."
)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values (1979): below alpha, at most a share alpha of whole sets hold a false one.

    In rising order, p₍ᵢ₎ becomes max over j <= i of (n − j + 1)·p₍ⱼ₎, at most 1.

    Args:
        p_values: each in [0, 1], of all comparisons that belong together.

    Returns:
        The adjusted values, in the order given.

    Raises:
        ValueError: a value is out of range or NaN.
    """
    order, adjusted, highest = _rising(p_values), [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p values (1995): the expected share of false ones among those found.

    In rising order, p₍ᵢ₎ becomes min over j >= i of n·p₍ⱼ₎/j, at most 1.

    Args:
        p_values: each in [0, 1], independent or positively dependent.

    Returns:
        The adjusted values, in the order given.

    Raises:
        ValueError: a value is out of range or NaN.
    """
    order, adjusted, lowest = _rising(p_values), [0.0] * len(p_values), 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        lowest = min(lowest, len(order) * p_values[index] / rank)
        adjusted[index] = lowest
    return adjusted


def _rising(p_values: Sequence[float]) -> list[int]:
    """Places of the values from the least."""
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"p value {p} is not in [0, 1]. Leave out comparisons that have none.")
    return sorted(range(len(p_values)), key=lambda index: p_values[index])
