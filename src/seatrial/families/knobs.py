"""What the knobs of every family must hold: numbers in range, and a group that there is."""

from collections.abc import Collection, Mapping

from seatrial.errors import UsageError
from seatrial.spec.faults import shown


def check_ranges(knobs: object, ranges: Mapping[str, tuple[int, int]], of: str = "") -> None:
    """Refuse a knob out of range.

    Args:
        knobs: has an attribute for each name.
        ranges: lowest and highest value by knob.
        of: what the range depends on, such as `` for weather``.

    Raises:
        UsageError: with the value, the range and what to do.
    """
    for knob, (low, high) in ranges.items():
        value = getattr(knobs, knob)
        if not low <= value <= high:
            problem = "small" if value < low else "large"
            raise UsageError(
                f"--{knob} {shown(value)} is too {problem}{of}. Choose a number from {low} to {high}"
            )


def check_group(group: str | None, groups: Collection[str]) -> None:
    """Refuse a stratum that the family does not have; null is derived and always right.

    Raises:
        UsageError: names those there are.
    """
    if group is not None and group not in groups:
        raise UsageError(
            f"--group: there is no group {group!r}. Choose one of: {', '.join(map(repr, groups))}"
        )
