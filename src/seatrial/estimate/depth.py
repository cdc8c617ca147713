"""Success against a declared difficulty: dependency depth, verification delay, state size, any other axis.

S(h) is the chance of success (all hard constraints met) on tasks of depth h or more, and h50 the least depth
at which it is down to one half. Depth is what the task declares, never what the systems made of it.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats, percentile_interval
from seatrial.estimate.endings import DRAWS, SLACK
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.resample import over_tasks
from seatrial.estimate.trials import Outcomes, completed, count_trials, count_unknown, measured, scope_notes

HALF = 0.5


class DepthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One depth: success on tasks of at least it (S), and on tasks of exactly it, each with its counts."""

    depth: float
    at_least: Estimate
    exactly: Estimate


class DepthCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Success against depth.

    Attributes:
        points: one for each depth there are tasks of, rising.
        h50: the least depth with S at one half or less; null where S stays above (unreached) or starts
            there (at or below the shallowest), as a note says. An infinite end is an unreached one.
        draws, draws_unreached, draws_at_start: bootstrap samples, those whose S stays above one half, and
            those whose S starts at or below it.
    """

    points: list[DepthPoint]
    h50: Estimate
    draws: int = 0
    draws_unreached: int = 0
    draws_at_start: int = 0


class FailureBucket(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the trials on tasks of ``low <= depth < high``.

    Attributes:
        low, high: the bucket.
        n_tasks, n_trials, n_failures, n_unknown: counts; unknown trials are in no class.
        failures: failed trials by class.
    """

    low: float
    high: float
    n_tasks: int
    n_trials: int
    n_failures: int
    n_unknown: int
    failures: dict[str, int]


def depth_curve(
    outcomes: Outcomes,
    depth: Mapping[str, float],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> DepthCurve:
    """S(h) with the default interval of a rate at each depth, and h50 with a bootstrap over tasks.

    Args:
        outcomes: task to the outcomes of its valid trials; success means all hard constraints met.
        depth: declared difficulty of every task with a trial, finite.
        rng: source of all randomness.
        level: confidence level, in (0, 1), of each point by itself.
        draws: bootstrap samples of tasks, at least 1.

    Raises:
        ValueError: a task without a depth, a depth that is NaN or infinite, or no draw.
    """
    judged = measured(outcomes)
    refuse_depths(judged, depth)
    if draws < 1:
        raise ValueError(f"depth_curve: {draws} draws; needs one at least")
    depths = sorted({float(depth[task]) for task in judged})
    points = [
        DepthPoint(
            depth=at,
            at_least=rate_over_tasks({task: judged[task] for task in judged if depth[task] >= at}, level),
            exactly=rate_over_tasks({task: judged[task] for task in judged if depth[task] == at}, level),
        )
        for at in depths
    ]
    if not judged:
        return DepthCurve(points=[], h50=_h50(outcomes, level, (None, None, None), ["No valid trial."]))
    own = np.array([depth[task] for task in judged], float)
    ways = [completed(judged, way) for way in ([False, True] if count_unknown(judged) else [False])]
    rates = [np.array([np.mean(trials) for trials in way.values()]) for way in ways]

    def read(weights: Floats) -> Floats:
        return np.stack([_first_half(weights, rate, own, depths) for rate in rates], axis=1)

    values = read(np.ones((1, len(own))))[0].tolist()
    samples = over_tasks(len(own), rng, draws, read, len(depths)).T
    notes = [f"{count_unknown(judged)} unknown outcomes, taken both ways."] if len(ways) > 1 else []
    ends = (percentile_interval(samples[0], level)[0], percentile_interval(samples[-1], level)[1])
    value = values[0] if values[0] == values[-1] else None
    if value is not None:
        notes += _h50_notes(value, depths, points)
    if len(judged) == 1:
        notes.append("No interval: one task shows no spread between tasks.")
    elif ends[0] == ends[1]:
        notes.append("No bootstrap interval, since all its draws agree.")
    shown = ends if len(judged) > 1 and ends[0] < ends[1] else (None, None)
    inside = value is not None and depths[0] < value < math.inf
    return DepthCurve(
        points=points,
        h50=_h50(outcomes, level, (value if inside else None, *shown), notes),
        draws=draws,
        draws_unreached=int(np.isinf(samples[-1]).sum()),
        draws_at_start=int((samples[0] <= depths[0]).sum()),
    )


def depth_curves_by(
    strata: Mapping[str, str],
    outcomes: Outcomes,
    depth: Mapping[str, float],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> dict[str, DepthCurve]:
    """One curve a stratum, by name; for example by verification distance, state size or reversibility.

    Args:
        strata: task to its stratum, for every task with a trial.
        outcomes, depth, rng, level, draws: as in ``depth_curve``.

    Raises:
        ValueError: a task without a stratum, and as ``depth_curve``.
    """
    judged = measured(outcomes)
    if missing := [task for task in judged if task not in strata]:
        raise ValueError(f"depth_curves_by: no stratum of {missing[0]}. Name one for every task.")
    groups: dict[str, dict[str, Sequence[bool | None]]] = {}
    for task, trials in judged.items():
        groups.setdefault(strata[task], {})[task] = trials
    return {name: depth_curve(groups[name], depth, rng, level, draws) for name in sorted(groups)}


def failures_by_depth(
    classes: Mapping[str, Sequence[str | None]],
    depth: Mapping[str, float],
    edges: Sequence[float] = (),
    success: str = "success",
) -> list[FailureBucket]:
    """How trials failed, by depth.

    Args:
        classes: task to the class of each valid trial: ``success``, or how it failed; null is unknown.
        depth: declared difficulty of every task with a trial, finite.
        edges: rising inner edges of the buckets; without any, every depth is a bucket.
        success: the class that is no failure.

    Raises:
        ValueError: a task without a depth, or edges that do not rise.
    """
    judged = measured(classes)
    refuse_depths(judged, depth)
    if list(edges) != sorted(set(edges)) or not all(map(math.isfinite, edges)):
        raise ValueError(f"failures_by_depth: edges {list(edges)}; give finite, rising ones")
    inner = list(edges) or sorted({float(depth[task]) for task in judged})
    bounds = [-math.inf, *inner, math.inf]
    found = []
    for place, low in enumerate(bounds[:-1]):
        tasks = [task for task in judged if low <= depth[task] < bounds[place + 1]]
        if not tasks and not edges:
            continue
        trials = [label for task in tasks for label in judged[task]]
        failed = sorted(label for label in trials if label not in (None, success))
        found.append(
            FailureBucket(
                low=low,
                high=bounds[place + 1],
                n_tasks=len(tasks),
                n_trials=len(trials),
                n_failures=len(failed),
                n_unknown=trials.count(None),
                failures={label: failed.count(label) for label in dict.fromkeys(failed)},
            )
        )
    return found


def refuse_depths(judged: Mapping[str, Sequence[object]], depth: Mapping[str, float]) -> None:
    """Refuse tasks without a depth.

    Raises:
        ValueError: naming the first such task.
    """
    for task in judged:
        if task not in depth or not math.isfinite(depth[task]):
            raise ValueError(f"depth: {depth.get(task)} of {task}. Give a finite number, or leave it out.")


def _first_half(weights: Floats, rates: Floats, own: Floats, depths: Sequence[float]) -> Floats:
    """The least depth with S at one half or less, infinite where there is none; shape (rows,)."""
    deep = (own[:, None] >= np.asarray(depths)).astype(float)
    counted, succeeded = weights @ deep, weights @ (rates[:, None] * deep)
    down = (counted > 0) & (succeeded <= HALF * counted + SLACK)
    return np.where(down.any(axis=1), np.asarray(depths)[down.argmax(axis=1)], np.inf)


def _h50_notes(value: float, depths: Sequence[float], points: Sequence[DepthPoint]) -> list[str]:
    """Why h50 is no number of the axis."""
    if value == math.inf:
        # The curve may end on its lowest value or not; a reader wants the lowest.
        least = min(point.at_least.value for point in points if point.at_least.value is not None)
        return [f"Unreached: success is {least:.3g} at least, up to depth {depths[-1]:g}."]
    if value <= depths[0]:
        return [f"At or below the shallowest depth, {depths[0]:g}: success starts at one half or less."]
    return []


def _h50(
    given: Outcomes, level: float, numbers: tuple[float | None, float | None, float | None], notes: list[str]
) -> Estimate:
    judged = measured(given)
    return Estimate(
        value=numbers[0],
        low=numbers[1],
        high=numbers[2],
        level=level,
        method="least depth with S(h) <= 0.5; bootstrap over tasks, percentile",
        unit="tasks",
        n_tasks=len(judged),
        n_trials=count_trials(judged),
        notes=[*notes, *scope_notes(given)],
    )
