"""How often the default interval holds the truth, and how often the paired test errs where nothing differs.

`python -m benchmarks.coverage [REPEATS]` prints every cell; the misses come last. Seeded. Tasks' own rates
follow a beta distribution whose spread is the intraclass correlation (ICC): 0 would be no clustering.
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from seatrial.estimate.paired import paired_difference
from seatrial.estimate.rates import wilson_effective

SEED = 20261129
MEANS, TASKS, ICCS, TRIALS = (0.5, 0.8, 0.9, 0.95), (10, 30, 100), (0.05, 0.2, 0.5), 5
NULLS = ((0.5, 10, 0.2), (0.5, 30, 0.5), (0.8, 30, 0.2))
WANTED = (0.92, 0.98)
WANTED_FALSE = (0.04, 0.06)


def ease(rng: np.random.Generator, mean: float, icc: float, shape: tuple[int, ...]) -> np.ndarray:
    """Rates of tasks, with the given mean and intraclass correlation of their trials."""
    size = 1 / icc - 1
    return rng.beta(mean * size, (1 - mean) * size, shape)


def coverage(rng: np.random.Generator, cell: tuple[float, int, float], repeats: int) -> tuple[float, float]:
    """Share of intervals that hold the mean over the population of tasks, and their mean width."""
    mean, tasks, icc = cell
    rates = rng.binomial(TRIALS, ease(rng, mean, icc, (repeats, tasks))) / TRIALS
    ends = np.array([wilson_effective(row, [TRIALS] * tasks) for row in rates.tolist()])
    held = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
    return float(held.mean()), float((ends[:, 1] - ends[:, 0]).mean())


def false_positives(
    rng: np.random.Generator, cell: tuple[float, int, float], repeats: int, trials: int = TRIALS
) -> float:
    """Share of comparisons that call a difference between systems equal on average.

    On half of the tasks the two have rates of their own, so they differ there, but neither is favoured.
    """
    mean, tasks, icc = cell
    shared, own = ease(rng, mean, icc, (repeats, tasks)), ease(rng, mean, icc, (repeats, tasks))
    other = np.where(rng.random((repeats, tasks)) < 0.5, own, shared)
    called = 0
    for a, b in zip(shared, other, strict=True):
        # Random signs are only a check beside the test, so one flip will do.
        found = paired_difference(draw(rng, a, trials), draw(rng, b, trials), rng, flips=1)
        called += found.verdict != "cannot be told apart yet"
    return called / repeats


def draw(rng: np.random.Generator, rates: np.ndarray, trials: int) -> dict[str, list[bool]]:
    """Outcomes of some trials of every task."""
    return {
        f"t{i:03d}": row for i, row in enumerate((rng.random((len(rates), trials)) < rates[:, None]).tolist())
    }


def inside(share: float, wanted: tuple[float, float], repeats: int) -> bool:
    """Whether a share lies in its range, or outside by no more than two of its standard errors."""
    slack = 2 * (0.95 * 0.05 / repeats) ** 0.5
    return wanted[0] - slack <= share <= wanted[1] + slack


def study(repeats: int) -> Iterator[tuple[bool, str]]:
    """Every cell: whether it lies where it should, and what it found."""
    rng = np.random.default_rng(SEED)
    for mean, tasks, icc in product(MEANS, TASKS, ICCS):
        held, width = coverage(rng, (mean, tasks, icc), repeats)
        fine = inside(held, WANTED, repeats)
        yield fine, f"mean {mean:<4} tasks {tasks:<3} ICC {icc:<4}: covers {held:.3f}, width {width:.3f}"
    for (mean, tasks, icc), trials in product(NULLS, (TRIALS, 1)):
        share = false_positives(rng, (mean, tasks, icc), repeats, trials)
        fine = inside(share, WANTED_FALSE if trials > 1 else (0, WANTED_FALSE[1]), repeats)
        cell = f"mean {mean:<4} tasks {tasks:<3} ICC {icc:<4}, {trials} trials a task"
        yield fine, f"{cell}: {share:.3f} false positives"


def report(repeats: int, every: bool) -> list[str]:
    """The study as lines: a summary, every cell if asked, and the misses."""
    cells = list(study(repeats))
    misses = [text for fine, text in cells if not fine]
    error = (0.95 * 0.05 / repeats) ** 0.5
    lines = [
        f"{len(cells)} cells, {repeats} repeats each, standard error of a share {error:.3f}; wanted coverage "
        f"{WANTED[0]} to {WANTED[1]} of the default interval, {TRIALS} trials a task; false positives of the "
        f"paired test {WANTED_FALSE[0]} to {WANTED_FALSE[1]} (fewer with one trial a task: exact McNemar); "
        "a miss lies outside by more than two standard errors"
    ]
    lines += [text for _, text in cells] if every else []
    return lines + [f"misses: {len(misses)}"] + [f"miss: {text}" for text in misses]


if __name__ == "__main__":
    print("\n".join(report(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, every=True)))
