"""Bootstrap of means: tasks alone, or tasks and then trials inside each drawn task.

Drawing tasks alone counts both kinds of variation once, since a task's mean already carries the noise of its
trials. The two-level scheme of the sources draws trials too, so it counts that noise twice: its intervals
are 1.07 to 1.37 times as wide. It is offered, and labelled conservative.

Draws are weights, not copies: how often each task is drawn is a multinomial count, and trials inside are
drawn together for all tasks that cannot be told apart. No loop runs over draws.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import DEFAULT_METHOD, rate_over_tasks
from seatrial.estimate.trials import (
    Outcomes,
    Values,
    all_known,
    completed,
    count_trials,
    count_unknown,
    measured,
    scope_notes,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DRAWS = 10_000
# Cells (draws times trials) held at once: a few arrays of this many eight-byte numbers.
CELLS = 1_000_000
TASKS_ONLY = "bootstrap over tasks, percentile"
TWO_LEVEL = "bootstrap over tasks, then trials, percentile; conservative: counts run noise twice"


def task_weights(tasks: int, draws: int, rng: np.random.Generator) -> Counts:
    """How often each task is drawn in each of ``draws`` samples of ``tasks`` with replacement.

    Returns:
        Shape (draws, tasks); every row sums to ``tasks`` and is multinomial with equal chances.
    """
    drawn = rng.integers(0, tasks, (draws, tasks))
    drawn += np.arange(draws)[:, None] * tasks
    return np.bincount(drawn.ravel(), minlength=draws * tasks).reshape(draws, tasks)


def bootstrap_means(
    systems: Sequence[Values], rng: np.random.Generator, draws: int = DRAWS, within: bool = False
) -> Floats:
    """Bootstrap distribution of the mean of task means, for several systems on the same drawn tasks.

    Args:
        systems: task to the values of its trials, of each system; all on the same tasks.
        rng: source of all randomness; the same state and values give the same draws, in whatever order
            tasks and trials come.
        draws: bootstrap samples, at least 1.
        within: draw each drawn task's trials too, anew for every copy and every system.

    Returns:
        Shape (draws, systems). The columns share their tasks, so their differences are paired.

    Raises:
        ValueError: no system, differing tasks, an unknown or infinite value, no trial, or no draw.
    """
    known = [all_known(values, "bootstrap") for values in systems]
    if not known or draws < 1:
        raise ValueError(f"bootstrap: {len(known)} systems, {draws} draws; needs one of each at least")
    if any(set(values) != set(known[0]) for values in known):
        raise ValueError("bootstrap: the systems have trials of differing tasks, so they cannot share draws")
    tables = [[np.asarray(trials) for trials in values.values()] for values in known]
    found = np.empty((draws, len(tables)))
    for rows in _chunks(draws, max(count_trials(values) for values in known)):
        weights = task_weights(len(tables[0]), rows.stop - rows.start, rng)
        for column, table in enumerate(tables):
            found[rows, column] = _means(weights, table, rng if within else None)
    return found


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """The quantiles (1 − level)/2 and (1 + level)/2 of one column of draws, each one of the draws itself.

    The inverted distribution function is used since it never mixes two draws: mixing a finite and an
    infinite one gives NaN or infinity.
    """
    ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(ends[0]), float(ends[1])


def bootstrap_rate(
    outcomes: Outcomes,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    within: bool = False,
) -> Estimate:
    """Success rate over tasks with a percentile interval, or with Wilson's where the bootstrap degenerates.

    It degenerates where all draws are alike: all successes, all failures, one task, or tasks that agree.
    Unknown outcomes are taken as all failures and as all successes. No other way reaches further: on the
    same draws every mean, and so every quantile of them, rises with each outcome.

    Args:
        outcomes: task to the outcomes of its valid trials.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.
        within: draw trials inside drawn tasks too (labelled conservative).

    Raises:
        ValueError: no draw.
    """
    default, judged = rate_over_tasks(outcomes, level), measured(outcomes)
    method = TWO_LEVEL if within else TASKS_ONLY
    ways = [False, True] if count_unknown(judged) else [False]
    several = len(judged) > 1
    sample = (
        bootstrap_means([completed(judged, way) for way in ways], rng, draws, within) if several else None
    )
    ends = [] if sample is None else [percentile_interval(column, level) for column in sample.T]
    low, high = (ends[0][0], ends[-1][1]) if ends else (default.low, default.high)
    notes = scope_notes(outcomes)
    if not ends or any(low == high for low, high in ends):
        low, high = default.low, default.high
        method = f"{DEFAULT_METHOD if ends else default.method} (degenerate bootstrap)"
        reason = "all its draws agree" if ends else "there are no several tasks to draw"
        notes.append(f"No bootstrap interval, since {reason}: Wilson's is given instead.")
    return Estimate(
        value=default.value,
        low=low,
        high=high,
        level=level,
        method=method,
        unit="tasks, then trials" if within else "tasks",
        n_tasks=default.n_tasks,
        n_trials=default.n_trials,
        notes=notes,
    )


def bootstrap_mean(
    values: Values,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    within: bool = False,
) -> Estimate:
    """Mean of task means with a percentile interval; none, and the reason, where all draws agree.

    Args:
        values: task to the values of its trials.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.
        within: draw trials inside drawn tasks too (labelled conservative).

    Raises:
        ValueError: an unknown or infinite value, no trial, or no draw.
    """
    known = all_known(values, "bootstrap_mean")
    sample = bootstrap_means([known], rng, draws, within)[:, 0]
    ends = percentile_interval(sample, level)
    degenerate = len(known) == 1 or bool(np.ptp(sample) <= 1e-12 * np.abs(sample).max())
    notes = scope_notes(values)
    if degenerate:
        reason = "there is one task" if len(known) == 1 else "all its draws agree"
        notes.append(f"No bootstrap interval, since {reason}.")
    return Estimate(
        value=float(np.mean([np.mean(trials) for trials in known.values()])),
        low=None if degenerate else ends[0],
        high=None if degenerate else ends[1],
        level=level,
        method=TWO_LEVEL if within else TASKS_ONLY,
        unit="tasks, then trials" if within else "tasks",
        n_tasks=len(known),
        n_trials=count_trials(known),
        notes=notes,
    )


def _chunks(draws: int, trials: int) -> Iterator[slice]:
    """Slices of the draws whose cells fit in memory."""
    size = max(1, CELLS // trials)
    for start in range(0, draws, size):
        yield slice(start, min(draws, start + size))


def _means(weights: Counts, table: list[Floats], rng: np.random.Generator | None) -> Floats:
    """The mean of the drawn tasks' means, one for each row of weights; trials are drawn if there is a rng."""
    if rng is None:
        means = np.array([trials.mean() for trials in table])
        return np.asarray(weights @ means / len(table), float)
    if all(((trials == 0) | (trials == 1)).all() for trials in table):
        return _counted(weights, table, rng)
    return _gathered(weights, table, rng)


def _counted(weights: Counts, table: list[Floats], rng: np.random.Generator) -> Floats:
    """Yes-or-no trials: N drawn copies of tasks with c of r successes give Binomial(N·r, c/r) successes."""
    kinds = [(len(trials), int(trials.sum())) for trials in table]
    order = sorted(range(len(kinds)), key=lambda task: kinds[task])
    ordered = [kinds[task] for task in order]
    starts = [i for i, kind in enumerate(ordered) if i == 0 or kind != ordered[i - 1]]
    copies = np.add.reduceat(weights[:, order], starts, axis=1)
    trials, successes = np.array([ordered[start] for start in starts]).T
    drawn = rng.binomial(copies * trials, successes / trials)
    return np.asarray((drawn / trials).sum(axis=1) / len(table), float)


def _gathered(weights: Counts, table: list[Floats], rng: np.random.Generator) -> Floats:
    """Any values: the trials of every copy are picked, for all tasks with as many trials at once."""
    rows = len(weights)
    total = np.zeros(rows)
    lengths = np.array([len(trials) for trials in table])
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        values = np.concatenate([table[member] for member in members])
        copies = weights[:, members]
        # One line per copy: where its task's trials begin, and which draw it belongs to.
        begins = np.repeat(np.tile(np.arange(len(members)) * length, rows), copies.ravel())
        draw = np.repeat(np.arange(rows), copies.sum(axis=1))
        picks = rng.integers(0, length, (len(begins), length), dtype=np.uint32)
        sums = values[begins[:, None] + picks].sum(axis=1)
        total += np.bincount(draw, weights=sums / length, minlength=rows)
    return total / len(table)
