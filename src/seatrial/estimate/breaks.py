"""Two systems against depth: a gain at every depth alike, or the same break further out?

Chance of success at depth h is taken as level · σ((h50 − h)/scale). A uniform gain changes the level, the
chance where depth does no harm; a shifted break changes h50 and leaves level and scale. Each has one
parameter more than two systems that are alike, so their likelihoods can be set side by side. They are
maximised over one grid, by task, and the bootstrap over tasks maximises again in every sample: the answer
counts only where nearly all samples agree, and "cannot be told apart" is one.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats, percentile_interval
from seatrial.estimate.depth import refuse_depths
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.resample import over_tasks
from seatrial.estimate.trials import Outcomes, completed, count_trials, count_unknown, measured, scope_notes

Finding = Literal[
    "uniform gain", "uniform loss", "shifted break", "cannot be told apart", "no difference shown", "unknown"
]

DRAWS = 1_000
# Grid: half a range beyond the measured depths either way; scales from a step to nearly flat.
MIDDLES, SCALES, LEVELS = 41, 10, 25
# No chance is nearer to 0 or 1: a single lapse must not decide a whole curve.
LAPSE = 0.005
DIFFERENCE = "paired difference of mean success over tasks"
EVIDENCE = "log-likelihood of a shifted break less that of a uniform gain"


class BreakComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of difference two systems show against depth.

    Attributes:
        finding: the answer in words.
        difference: second system's mean success less the first's, over tasks, paired.
        evidence: log-likelihood of a shifted break less that of a uniform gain; above 0 speaks for the shift.
        share_for_shift: share of bootstrap samples that do; null without samples.
        log_likelihoods: of "alike", "uniform gain" and "shifted break", each at its best.
        aic: Akaike's 2k − 2·log-likelihood of the same, k = 3, 4 and 4.
        levels: first and second system's level under a uniform gain.
        breaks: first and second system's h50 under a shifted break.
        scale: the scale both share there; small is a sharp break.
    """

    finding: Finding
    difference: Estimate
    evidence: Estimate
    share_for_shift: float | None = None
    log_likelihoods: dict[str, float] = {}
    aic: dict[str, float] = {}
    levels: tuple[float, float] | None = None
    breaks: tuple[float, float] | None = None
    scale: float | None = None


class _Grid(NamedTuple):
    """All curves tried; the last axis of tables follows (middles, scales, levels)."""

    middles: Floats
    scales: Floats
    levels: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.middles), len(self.scales), len(self.levels)


class _Best(NamedTuple):
    """Greatest log-likelihoods of each row, shape (rows,)."""

    alike: Floats
    uniform: Floats
    shifted: Floats


def compare_breaks(
    first: Outcomes,
    second: Outcomes,
    depth: Mapping[str, float],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> BreakComparison:
    """Tell a uniform gain from a shifted break, or say that the trials cannot.

    Args:
        first, second: task to the outcomes of its valid trials, of the same tasks.
        depth: declared difficulty of every task, finite.
        rng: source of all randomness; both systems share the drawn tasks.
        level: confidence level, in (0, 1), of both intervals, and so of the finding.
        draws: bootstrap samples of tasks, at least 1.

    Returns:
        "no difference shown" where the interval of the difference holds 0; "unknown" with unknown outcomes,
        no trial, one task or one depth, and the reason.

    Raises:
        ValueError: the systems' tasks differ, a task has no depth, or there is no draw.
    """
    sides = [measured(first), measured(second)]
    if set(sides[0]) != set(sides[1]):
        other = sorted(set(sides[0]) ^ set(sides[1]))
        raise ValueError(f"compare_breaks: only one system has trials of {other[0]}; give tasks of both")
    refuse_depths(sides[0], depth)
    if draws < 1:
        raise ValueError(f"compare_breaks: {draws} draws; needs one at least")
    own = np.array([depth[task] for task in sides[0]], float)
    if reason := _why_unknown(sides, own):
        return _unknown((first, second), level, reason)
    won, tried = _counts(sides)
    grid = _grid(own)
    tables = [_log_likelihoods(w, n, own, grid) for w, n in zip(won, tried, strict=True)]
    apart = won[1] / tried[1] - won[0] / tried[0]

    def read(weights: Floats) -> Floats:
        best = _maximise(weights, tables, grid)
        return np.stack([weights @ apart / len(own), best.shifted - best.uniform], axis=1)

    differences, evidence = over_tasks(len(own), rng, draws, read, tables[0].shape[1]).T
    ends, support = percentile_interval(differences, level), percentile_interval(evidence, level)
    best, fitted, given = (
        _maximise(np.ones((1, len(own))), tables, grid),
        _fitted(tables, grid),
        (first, second),
    )
    likelihoods = {
        "alike": float(best.alike[0]),
        "uniform gain": float(best.uniform[0]),
        "shifted break": float(best.shifted[0]),
    }
    favour = likelihoods["shifted break"] - likelihoods["uniform gain"]
    return BreakComparison(
        finding=_finding(ends, support),
        difference=_estimate(given, level, DIFFERENCE, (float(apart.mean()), *ends)),
        evidence=_estimate(given, level, EVIDENCE, (favour, *support), _edge_notes(fitted, grid)),
        share_for_shift=float((evidence > 0).mean()),
        log_likelihoods=likelihoods,
        aic={name: 2 * (3 if name == "alike" else 4) - 2 * value for name, value in likelihoods.items()},
        levels=fitted.levels,
        breaks=fitted.breaks,
        scale=fitted.scale,
    )


def _finding(difference: tuple[float, float], support: tuple[float, float]) -> Finding:
    """What the two intervals allow to be said."""
    if difference[0] <= 0 <= difference[1]:
        return "no difference shown"
    if support[0] > 0:
        return "shifted break"
    if support[1] >= 0:
        return "cannot be told apart"
    return "uniform gain" if difference[0] > 0 else "uniform loss"


def _grid(own: Floats) -> _Grid:
    """Curves that break inside the measured depths, or half their range beyond."""
    low, high = float(own.min()), float(own.max())
    width = high - low
    return _Grid(
        np.linspace(low - width / 2, high + width / 2, MIDDLES),
        width * np.geomspace(1 / 40, 1, SCALES),
        np.linspace(1 / LEVELS, 1, LEVELS),
    )


def _log_likelihoods(won: Floats, tried: Floats, own: Floats, grid: _Grid) -> Floats:
    """Of each task's trials under each curve, shape (tasks, curves)."""
    odds = (grid.middles[None, :, None] - own[:, None, None]) / grid.scales
    shape = 0.5 * (1 + np.tanh(odds / 2))
    chance = np.clip(shape[..., None] * grid.levels, LAPSE, 1 - LAPSE)
    lost = tried - won
    table = won[:, None, None, None] * np.log(chance) + lost[:, None, None, None] * np.log1p(-chance)
    return np.asarray(table.reshape(len(own), -1), float)


def _maximise(weights: Floats, tables: list[Floats], grid: _Grid) -> _Best:
    """The best of each kind of pair of curves, for each row of task weights."""
    first, second = ((weights @ table).reshape(-1, *grid.shape) for table in tables)
    alike = (first + second).max(axis=(1, 2, 3))
    uniform = (first.max(axis=3) + second.max(axis=3)).max(axis=(1, 2))
    shifted = (first.max(axis=1) + second.max(axis=1)).max(axis=(1, 2))
    return _Best(alike, uniform, shifted)


class _Fitted(NamedTuple):
    """Parameters at the best pairs of curves."""

    levels: tuple[float, float]
    breaks: tuple[float, float]
    scale: float


def _fitted(tables: list[Floats], grid: _Grid) -> _Fitted:
    """Levels of the best uniform gain, breaks and scale of the best shifted break."""
    first, second = (table.sum(axis=0).reshape(grid.shape) for table in tables)
    joint = first.max(axis=2) + second.max(axis=2)
    middle, scale = np.unravel_index(joint.argmax(), joint.shape)
    levels = (
        float(grid.levels[first[middle, scale].argmax()]),
        float(grid.levels[second[middle, scale].argmax()]),
    )
    moved = first.max(axis=0) + second.max(axis=0)
    at_scale, at_level = np.unravel_index(moved.argmax(), moved.shape)
    breaks = (
        float(grid.middles[first[:, at_scale, at_level].argmax()]),
        float(grid.middles[second[:, at_scale, at_level].argmax()]),
    )
    return _Fitted(levels, breaks, float(grid.scales[at_scale]))


def _edge_notes(fitted: _Fitted, grid: _Grid) -> list[str]:
    """Which fitted breaks stand at the grid's edge, where the trials cannot place them."""
    edges = float(grid.middles[0]), float(grid.middles[-1])
    return [
        f"The {which} system's break stands at the edge of what was tried, {at:g}: it may lie further out."
        for which, at in zip(("first", "second"), fitted.breaks, strict=True)
        if at in edges
    ]


def _counts(sides: list[dict[str, Sequence[bool | None]]]) -> tuple[list[Floats], list[Floats]]:
    """Successes and trials of each system by task, each of shape (tasks,); no outcome is unknown."""
    known = [completed(side, False) for side in sides]
    won = [np.array([sum(trials) for trials in side.values()], float) for side in known]
    return won, [np.array([len(trials) for trials in side.values()], float) for side in known]


def _why_unknown(sides: list[dict[str, Sequence[bool | None]]], own: Floats) -> str | None:
    """Why nothing can be compared, if so."""
    if unknown := sum(count_unknown(side) for side in sides):
        return f"{unknown} unknown outcomes: settle them first, since they may fall on either kind of gain."
    if len(own) < 2:
        return "No comparison: one task at most."
    return "No comparison: all tasks are of one depth." if np.ptp(own) == 0 else None


def _unknown(given: tuple[Outcomes, Outcomes], level: float, reason: str) -> BreakComparison:
    """The answer where nothing can be compared."""
    nothing = _estimate(given, level, "none", (None, None, None), [reason])
    return BreakComparison(finding="unknown", difference=nothing, evidence=nothing)


def _estimate(
    given: tuple[Outcomes, Outcomes],
    level: float,
    method: str,
    numbers: tuple[float | None, float | None, float | None],
    notes: Sequence[str] = (),
) -> Estimate:
    drawn = "" if numbers[0] is None else "; bootstrap over tasks, percentile"
    return Estimate(
        value=numbers[0],
        low=numbers[1],
        high=numbers[2],
        level=level,
        method=f"{method}{drawn}",
        unit="tasks",
        n_tasks=len(measured(given[0])),
        n_trials=sum(count_trials(side) for side in given),
        notes=[*notes, *scope_notes(given[0])],
    )
