"""Mixed logistic model: effects of systems on success, tasks a random intercept. Small, and labelled a model.

logit P(success) = intercept of the system + u, u ~ N(0, τ²) of the task. The likelihood integrates u out at
each task by the trapezoid rule, exact to rounding for such bells (Laplace's method and PQL err where tasks
have few trials or τ is wide). It takes systems to differ by the same odds on every task. Where they do not,
it is too sure of itself: ``paired_difference`` does not assume it and decides.
"""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import Outcomes, all_known, count_trials, measured

FARTHEST = 8.0  # standard deviations of u the integral covers
TINY = 1e-4  # least τ tried; an optimum there means 0
NORMALISER = math.log(2 * math.pi) / 2
LATENT = math.pi**2 / 3  # variance of the standard logistic distribution
MODEL = "A model: it takes systems to differ by the same odds on every task; too narrow where they do not."
UNIT = "trials, given these tasks"


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
            unit=UNIT,
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
        method="mixed logistic, integrated over tasks, Wald",
        unit=UNIT,
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

    def loss(at: Floats) -> tuple[float, Floats]:
        value, slope = _log_likelihood(at, counts)
        return -value, -slope

    options = {"ftol": 1e-14, "gtol": 1e-7, "maxiter": 1000}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    # At the edge τ = 0 the curvature is that of the effects alone.
    free = size if found.x[-1] > math.log(TINY) * 0.99 else size - 1
    h = 1e-4
    moves = h * np.eye(size)[:free]
    columns = [(loss(found.x + move)[1] - loss(found.x - move)[1])[:free] / (2 * h) for move in moves]
    errors = np.full(size, np.nan)
    errors[:free] = np.sqrt(np.diag(np.linalg.inv(np.array(columns))))
    return found.x, errors, -float(found.fun)


def _log_likelihood(at: Floats, counts: _Counts) -> tuple[float, Floats]:
    """Sum over tasks of the log of the integral over u, up to the binomial coefficients; and its slope."""
    base = at[0] + np.concatenate([[0.0], at[1:-1]])
    deviation = math.exp(at[-1])
    # No bell is narrower than this allows, and the logistic's poles lie farther off than the step.
    narrowest = 1 / math.sqrt(1 + deviation**2 * counts.tried.sum(axis=1).max() / 4)
    step = min(0.1, narrowest / 2)
    v = np.arange(-math.ceil(FARTHEST / step), math.ceil(FARTHEST / step) + 1) * step  # standardised u
    odds = base[:, None] + deviation * v  # (systems, points)
    logs = counts.won @ odds - counts.tried @ np.logaddexp(0, odds) - v * v / 2
    top = logs.max(axis=1, keepdims=True)
    density = np.exp(logs - top)
    area = density.sum(axis=1, keepdims=True)
    value = float((top + np.log(area * step)).sum()) - len(logs) * NORMALISER
    posterior = density / area  # (tasks, points)
    chance = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    by_system = counts.won.sum(axis=0) - (counts.tried.T @ posterior * chance).sum(axis=1)
    along = ((posterior @ v) @ counts.won).sum() - (counts.tried.T @ posterior * chance * v).sum()
    return value, np.concatenate([[by_system.sum()], by_system[1:], [deviation * along]])


def _population(intercept: float, deviation: float) -> float:
    """Mean chance over the tasks' distribution, by the same rule."""
    v = np.linspace(-FARTHEST, FARTHEST, 1601)
    density = np.exp(-v * v / 2)
    odds = np.clip(intercept + deviation * v, -700, 700)
    return float((density / (1 + np.exp(-odds))).sum() / density.sum())
