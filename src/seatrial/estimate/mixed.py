"""Mixed logistic model: effects of systems on success, tasks a random intercept. Small, and labelled a model.

logit P(success) = intercept of the system + u, u ~ N(0, τ²) of the task. The likelihood integrates u out at
each task by adaptive Gauss–Hermite quadrature (Liu and Pierce 1994); with one node that is Laplace's method.
It takes systems to differ by the same odds on every task. Where they do not, it is too sure of itself:
``paired_difference`` does not assume it and decides.
"""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import Outcomes, all_known, count_trials, measured

NODES = 11
STEPS = 40
TINY = 1e-4  # least τ tried; an optimum there means 0
NORMALISER = math.log(2 * math.pi) / 2
LATENT = math.pi**2 / 3  # variance of the standard logistic distribution
MODEL = "A model: it takes systems to differ by the same odds on every task."


class MixedLogistic(msgspec.Struct, frozen=True, kw_only=True):
    """The fitted model.

    Attributes:
        effects: system to log-odds against the reference system, for the same task; higher is better.
        reference: that system.
        rates: system to success on a task drawn from the population, in [0, 1] (its log-odds averaged over
            the tasks' distribution); no interval.
        deviation: τ, standard deviation of tasks in log-odds; 0 where tasks cannot be told apart.
        icc: share of latent variance that lies between tasks, τ²/(τ² + π²/3), in [0, 1).
        log_likelihood: at the optimum.
        notes: what a reader must know.
    """

    effects: dict[str, Estimate]
    reference: str
    rates: dict[str, float]
    deviation: float
    icc: float
    log_likelihood: float
    notes: list[str]


class _Counts(NamedTuple):
    """Successes and trials, shape (tasks, systems)."""

    won: Floats
    tried: Floats


def mixed_logistic(
    systems: Mapping[str, Outcomes], reference: str | None = None, level: float = 0.95
) -> MixedLogistic:
    """Fit by maximum likelihood.

    Args:
        systems: name to task to the outcomes of its valid trials, all known; tasks may differ by system.
        reference: the system others are set against; the first by name if not given.
        level: confidence level of Wald's intervals, in (0, 1).

    Returns:
        A system that always or never succeeds has no finite effect: null, with the reason, and it is left
        out of the fit.

    Raises:
        ValueError: an unknown outcome, fewer than two systems or tasks to fit, or an unfit reference.
    """
    known = {name: all_known(outcomes, f"mixed_logistic: {name}") for name, outcomes in systems.items()}
    odd = sorted(name for name, table in known.items() if len({v for t in table.values() for v in t}) < 2)
    fitted = sorted(name for name in known if name not in odd)
    tasks = sorted({task for name in fitted for task in known[name]})
    if len(fitted) < 2 or len(tasks) < 2:
        raise ValueError(
            f"mixed_logistic: {len(fitted)} systems that both succeed and fail, on {len(tasks)} tasks; "
            "needs two of each"
        )
    first = fitted[0] if reference is None else reference
    if first not in fitted:
        raise ValueError(f"mixed_logistic: {first} cannot be the reference; it must both succeed and fail")
    order = [first, *(name for name in fitted if name != first)]
    counts = _counts(known, order, tasks)
    at, errors, best = _fit(counts)
    deviation = math.exp(float(at[-1]))
    notes = [MODEL]
    if at[-1] <= math.log(TINY) * 0.99:
        deviation = 0.0
        notes.append("Tasks cannot be told apart: their deviation is estimated as 0.")
    effects = {}
    for place, name in enumerate(order[1:], 1):
        n = count_trials(known[first]) + count_trials(known[name])
        effects[name] = _effect(float(at[place]), float(errors[place]), level, (len(tasks), n))
    for name in odd:
        why = f"{name} always or never succeeds, so its effect has no finite estimate: it is not in the fit."
        effects[name] = Estimate(
            value=None,
            level=level,
            method="none",
            unit="tasks",
            n_tasks=len(known[name]),
            n_trials=count_trials(known[name]),
            notes=[why],
        )
    intercepts = at[:-1] + np.where(np.arange(len(order)) > 0, at[0], 0.0)
    return MixedLogistic(
        effects=effects,
        reference=first,
        rates={name: _population(float(a), deviation) for name, a in zip(order, intercepts, strict=True)},
        deviation=deviation,
        icc=deviation**2 / (deviation**2 + LATENT),
        log_likelihood=best,
        notes=notes,
    )


def _effect(value: float, error: float, level: float, size: tuple[int, int]) -> Estimate:
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        method=f"mixed logistic, adaptive Gauss–Hermite of {NODES} nodes, Wald",
        unit="tasks",
        n_tasks=size[0],
        n_trials=size[1],
        notes=[MODEL],
    )


def _counts(known: Mapping[str, Mapping[str, list[float]]], order: list[str], tasks: list[str]) -> _Counts:
    won, tried = np.zeros((2, len(tasks), len(order)))
    for column, name in enumerate(order):
        for row, task in enumerate(tasks):
            trials = measured(known[name]).get(task, [])
            won[row, column], tried[row, column] = sum(trials), len(trials)
    return _Counts(won, tried)


def _fit(counts: _Counts) -> tuple[Floats, Floats, float]:
    """Optimum, standard errors and log-likelihood; parameters are intercept, effects, ln τ."""
    # Slow to load, and needed here alone.
    from scipy.optimize import minimize

    size = counts.won.shape[1] + 1
    start = np.zeros(size)
    pooled = (counts.won.sum() + 0.5) / (counts.tried.sum() + 1)
    start[0] = math.log(pooled / (1 - pooled))
    limits = [(-30.0, 30.0)] * (size - 1) + [(math.log(TINY), 4.0)]

    def loss(at: Floats) -> float:
        return -_log_likelihood(at, counts)

    found = minimize(loss, start, method="L-BFGS-B", bounds=limits, options={"ftol": 1e-13, "gtol": 1e-7})
    # At the edge τ = 0 the curvature is that of the effects alone.
    free = size if found.x[-1] > math.log(TINY) * 0.99 else size - 1
    curvature = _curvature(loss, found.x, free)
    errors = np.full(size, np.nan)
    errors[:free] = np.sqrt(np.diag(np.linalg.inv(curvature)))
    return found.x, errors, -float(found.fun)


def _log_likelihood(at: Floats, counts: _Counts) -> float:
    """Sum over tasks of the log of the integral over u, up to the binomial coefficients."""
    base = at[0] + np.concatenate([[0.0], at[1:-1]])
    deviation = math.exp(at[-1])
    mode, width = _modes(base, deviation, counts)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    v = mode[:, None] + width[:, None] * nodes  # standardised u, shape (tasks, nodes)
    odds = base[None, None, :] + deviation * v[:, :, None]
    inside = (counts.won[:, None, :] * odds - counts.tried[:, None, :] * np.logaddexp(0, odds)).sum(axis=2)
    logs = inside - v * v / 2 + nodes * nodes / 2 + np.log(weights) + np.log(width)[:, None]
    top = logs.max(axis=1)
    return float((top + np.log(np.exp(logs - top[:, None]).sum(axis=1))).sum()) - len(mode) * NORMALISER


def _modes(base: Floats, deviation: float, counts: _Counts) -> tuple[Floats, Floats]:
    """Each task's most likely standardised u, and the width of the likelihood around it (Newton)."""
    v = np.zeros(len(counts.won))
    curve = np.ones(len(v))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(base + deviation * v[:, None], -700, 700)))
        up = deviation * (counts.won - counts.tried * chance).sum(axis=1) - v
        curve = deviation**2 * (counts.tried * chance * (1 - chance)).sum(axis=1) + 1
        step = np.clip(up / curve, -2, 2)
        v = v + step
        if np.abs(step).max() < 1e-10:
            break
    return v, 1 / np.sqrt(curve)


def _curvature(loss: Callable[[Floats], float], at: Floats, free: int) -> Floats:
    """Second differences of the loss in its first ``free`` parameters."""
    h = 1e-3
    found = np.zeros((free, free))
    for i in range(free):
        for j in range(i, free):
            corners = []
            for one, other in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = at.copy()
                moved[i] += one * h
                moved[j] += other * h
                corners.append(loss(moved))
            found[i, j] = found[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
    return found


def _population(intercept: float, deviation: float) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    odds = np.clip(intercept + deviation * nodes, -700, 700)
    return float((weights / (1 + np.exp(-odds))).sum() / weights.sum())
