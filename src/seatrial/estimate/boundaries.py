"""Boundaries of a group-sequential test: how far out z must lie at each look, so that looking costs no error.

Computed, not tabled: the density of the running sum between the boundaries is carried from look to look by
numerical integration (Armitage, McPherson and Rowe 1969), on Simpson's points.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import CELLS, Floats

Shape = Literal["obrien-fleming", "pocock"]
STEPS = 12  # points in one standard deviation of the shortest gap between looks
LEAST_GAP = 1e-4  # information between two looks; the points needed grow as one over its root
MOST_LOOKS = 100  # each takes the longer the closer it is to the one before
FARTHEST = 9.0  # beyond so many standard deviations nothing is left to integrate
NORMAL = NormalDist()


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the data.

    Attributes:
        information: share of the planned information there is, in (0, 1].
        z: boundary: stop where |z| (z for one side) is at least this.
        spent: error spent up to and with this look under the null hypothesis.
        p: nominal p value at the boundary, of as many sides as the test has.
    """

    information: float
    z: float
    spent: float
    p: float


def spending(information: float, alpha: float, shape: Shape) -> float:
    """Error to have spent at a share of the information (Lan and DeMets 1983); ``alpha`` of ONE side.

    O'Brien–Fleming: 2(1 − Φ(z_{α/2}/√t)), next to nothing early. Pocock: α·ln(1 + (e − 1)t), about even.

    Args:
        information: t, in (0, 1].
        alpha: in (0, 1).
        shape: which function.
    """
    if shape == "pocock":
        return alpha * math.log1p((math.e - 1) * information)
    return 2 * (1 - NORMAL.cdf(NORMAL.inv_cdf(1 - alpha / 2) / math.sqrt(information)))


def spending_boundaries(
    information: Sequence[float],
    alpha: float = 0.05,
    shape: Shape = "obrien-fleming",
    sides: Literal[1, 2] = 2,
) -> list[Look]:
    """Boundaries by alpha spending; looks need be planned neither in number nor in time.

    Two sides spend half of ``alpha`` each, by the same function.

    Args:
        information: share of the planned information at every look, rising, each in (0, 1].
        alpha: error of all looks together, in (0, 1).
        shape: O'Brien–Fleming stops early only for great differences; Pocock alike at every look.
        sides: 1 (z high) or 2.

    Raises:
        ValueError: an argument is out of range.
    """
    _refuse(information, alpha)
    process = _Process(information, sides)
    looks, before = [], 0.0
    for share in information:
        spent = spending(share, alpha / sides, shape)
        z = _least(_within(process, share, spent - before))
        process.step(share, z)
        looks.append(_look(share, z, sides * spent, sides))
        before = spent
    return looks


def classical_boundaries(
    information: Sequence[float],
    alpha: float = 0.05,
    shape: Shape = "obrien-fleming",
    sides: Literal[1, 2] = 2,
) -> list[Look]:
    """The original designs, whose looks are fixed: z constant (Pocock 1977), or c/√t (O'Brien–Fleming 1979).

    Args:
        information: as for ``spending_boundaries``; the last is 1.
        alpha, shape, sides: likewise.

    Raises:
        ValueError: an argument is out of range, or the last look is not at full information.
    """
    _refuse(information, alpha)
    if information[-1] != 1:
        raise ValueError(f"classical_boundaries: the last look is at {information[-1]}; it must be at 1")
    roots = [1.0 if shape == "pocock" else math.sqrt(share) for share in information]

    def errors(constant: float) -> list[float]:
        process, total, found = _Process(information, sides), 0.0, []
        for share, root in zip(information, roots, strict=True):
            total += process.crossing(share, constant / root)
            process.step(share, constant / root)
            found.append(sides * total)
        return found

    constant = _least(lambda z: errors(z)[-1] <= alpha)
    return [
        _look(share, constant / root, spent, sides)
        for share, root, spent in zip(information, roots, errors(constant), strict=True)
    ]


class _Process:
    """The running sum S = z·√t under the null hypothesis, while it has crossed no boundary."""

    def __init__(self, information: Sequence[float], sides: int) -> None:
        self.sides = sides
        gaps = [b - a for a, b in zip([0.0, *information], information, strict=False)]
        self.step_size = math.sqrt(min(gaps)) / STEPS
        self.time = 0.0
        self.points: Floats = np.zeros(1)
        self.mass: Floats = np.ones(1)  # density times Simpson's weight at each point

    def crossing(self, time: float, z: float) -> float:
        """Chance to be above z·√time at ``time`` without having crossed before."""
        # Loaded here, since few commands need it.
        from scipy.special import ndtr

        above = (self.points - z * math.sqrt(time)) / math.sqrt(time - self.time)
        return float(self.mass @ ndtr(above))

    def step(self, time: float, z: float) -> None:
        """Go on to ``time``, keeping what lies inside the boundary."""
        root, gap = math.sqrt(time), time - self.time
        high = min(z, FARTHEST) * root
        low = -high if self.sides == 2 else -FARTHEST * root
        count = 2 * math.ceil((high - low) / self.step_size / 2) + 1  # odd, for Simpson's rule
        points = np.linspace(low, high, count)
        weights = np.where(np.arange(count) % 2 == 1, 4.0, 2.0)
        weights[[0, -1]] = 1.0
        density = np.empty(count)
        rows = max(1, CELLS // len(self.points))
        for start in range(0, count, rows):
            apart = points[start : start + rows, None] - self.points
            density[start : start + rows] = np.exp(-(apart**2) / (2 * gap)) @ self.mass
        self.mass = density / math.sqrt(2 * math.pi * gap) * weights * (points[1] - points[0]) / 3
        self.points, self.time = points, time


def _within(process: _Process, time: float, error: float) -> Callable[[float], bool]:
    """Whether a boundary spends at most ``error``. Where that is next to nothing (1e-17), no z reaches it."""
    return lambda z: process.crossing(time, z) <= error


def _least(enough: Callable[[float], bool]) -> float:
    """The least z that is enough, to 1e-10, between 0 and the farthest."""
    low, high = 0.0, FARTHEST
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _look(information: float, z: float, spent: float, sides: int) -> Look:
    return Look(information=information, z=z, spent=spent, p=sides * (1 - NORMAL.cdf(z)))


def _refuse(information: Sequence[float], alpha: float) -> None:
    rising = all(a < b for a, b in zip([0.0, *information], information, strict=False))
    if not information or not rising or information[-1] > 1 or not 0 < alpha < 1:
        raise ValueError(
            f"boundaries: information {list(information)}, alpha {alpha}; shares rise within (0, 1]"
        )
    if len(information) > MOST_LOOKS:
        raise ValueError(f"boundaries: {len(information)} looks; {MOST_LOOKS} at most. Look less often")
    if min(b - a for a, b in zip([0.0, *information], information, strict=False)) < LEAST_GAP * (1 - 1e-9):
        raise ValueError(
            f"boundaries: information {list(information)}; looks are at least {LEAST_GAP:g} apart. "
            "Leave one out"
        )
