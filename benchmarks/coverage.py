"""How often the default interval holds the truth, and how often the paired test errs where nothing differs.

`python -m benchmarks.coverage [REPEATS]` prints every cell, the misses last, and exits with 1 if one lies
where theory allows none. Seeded. Tasks' own rates follow a beta distribution whose spread is the intraclass
correlation (ICC): 0 would be no clustering.

Theory allows a miss of the default interval with fewer than 30 tasks, whose spread it takes as known (a
normal quantile in t's place: .918 is what nine degrees of freedom leave of .95), and where fewer than 5
failures are expected among the effective trials, so that the score is not yet normal. It allows none
elsewhere, none of the paired test, which has t's quantile or is exact, and none of population-weighted means.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from seatrial.estimate.paired import paired_difference
from seatrial.estimate.rates import wilson_effective
from seatrial.estimate.weighting import population_weighted

SEED = 20261129
MEANS, TASKS, ICCS, TRIALS = (0.5, 0.8, 0.9, 0.95), (10, 30, 100), (0.05, 0.2, 0.5), 5
NULLS = ((0.5, 10, 0.2), (0.5, 30, 0.5), (0.8, 30, 0.2))
WANTED = (0.92, 0.98)
WANTED_FALSE = (0.04, 0.06)
TRUSTED_TASKS, TRUSTED_FAILURES = 30, 5
# Of two strata: rates, weights, tasks of each. Conservative with few tasks, so only too little is a miss.
POPULATIONS = (
    ((0.5, 0.5), (0.5, 0.5), 2), ((0.8, 0.4), (0.7, 0.3), 5), ((0.9, 0.5), (0.2, 0.8), 10),
    ((0.8, 0.6), (0.9, 0.1), 30),
)  # fmt: skip
STRATUM_ICC = 0.2
AT_LEAST = (0.92, 1.0)


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


def may_miss(cell: tuple[float, int, float]) -> bool:
    """Whether theory allows the default interval to miss in this cell."""
    mean, tasks, icc = cell
    effective = tasks * TRIALS / (1 + (TRIALS - 1) * icc)
    return tasks < TRUSTED_TASKS or effective * min(mean, 1 - mean) < TRUSTED_FAILURES


def population_coverage(
    rng: np.random.Generator,
    cell: tuple[tuple[float, ...], tuple[float, ...], int],
    repeats: int,
    measured: bool,
) -> float:
    """Share of intervals that hold a population-weighted mean, of outcomes or of measured values."""
    means, weights, tasks = cell
    truth, held = sum(m * w for m, w in zip(means, weights, strict=True)), 0
    named = {str(number): weight for number, weight in enumerate(weights)}
    for _ in range(repeats):
        values: dict[str, list[float]] = {}
        for number, mean in enumerate(means):
            own = ease(rng, mean, STRATUM_ICC, (tasks,))
            for task, row in draw(rng, own, TRIALS).items():
                # Measured values: a normal spread of tasks about the same means.
                values[f"{number}/{task}"] = [rng.normal(mean, 0.2)] if measured else row
        strata = {task: task[0] for task in values}
        found = population_weighted(values, strata, named)
        assert found.low is not None and found.high is not None, "some stratum always shows a spread"
        held += found.low <= truth <= found.high
    return held / repeats


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


class Cell(NamedTuple):
    """One cell of the study.

    Attributes:
        fine: whether it lies where it should.
        may_miss: whether theory allows that it does not.
        text: what was found.
    """

    fine: bool
    may_miss: bool
    text: str


def study(repeats: int) -> Iterator[Cell]:
    """Every cell, in order."""
    rng = np.random.default_rng(SEED)
    for mean, tasks, icc in product(MEANS, TASKS, ICCS):
        held, width = coverage(rng, (mean, tasks, icc), repeats)
        fine = inside(held, WANTED, repeats)
        text = f"mean {mean:<4} tasks {tasks:<3} ICC {icc:<4}: covers {held:.3f}, width {width:.3f}"
        yield Cell(fine, may_miss((mean, tasks, icc)), text)
    for (means, weights, tasks), measured in product(POPULATIONS, (False, True)):
        held = population_coverage(rng, (means, weights, tasks), repeats, measured)
        kind = "measured" if measured else "outcomes"
        text = (
            f"population of rates {means}, weights {weights}, {tasks} tasks each, {kind}: covers {held:.3f}"
        )
        yield Cell(inside(held, AT_LEAST, repeats), False, text)
    for (mean, tasks, icc), trials in product(NULLS, (TRIALS, 1)):
        share = false_positives(rng, (mean, tasks, icc), repeats, trials)
        fine = inside(share, WANTED_FALSE if trials > 1 else (0, WANTED_FALSE[1]), repeats)
        cell = f"mean {mean:<4} tasks {tasks:<3} ICC {icc:<4}, {trials} trials a task"
        yield Cell(fine, False, f"{cell}: {share:.3f} false positives")


def report(cells: Sequence[Cell], repeats: int, every: bool) -> list[str]:
    """The study as lines: a summary, every cell if asked, and the misses."""
    misses = [cell for cell in cells if not cell.fine]
    error = (0.95 * 0.05 / repeats) ** 0.5
    lines = [
        f"{len(cells)} cells, {repeats} repeats each, standard error of a share {error:.3f}; wanted coverage "
        f"{WANTED[0]} to {WANTED[1]} of the default interval, {TRIALS} trials a task; false positives of the "
        f"paired test {WANTED_FALSE[0]} to {WANTED_FALSE[1]} (fewer with one trial a task: exact McNemar); "
        "a miss lies outside by more than two standard errors"
    ]
    lines += [cell.text for cell in cells] if every else []
    lines.append(f"misses: {len(misses)}, of them where theory allows none: {len(faults(cells))}")
    return lines + [
        f"{'miss, as theory allows' if cell.may_miss else 'MISS where theory allows none'}: {cell.text}"
        for cell in misses
    ]


def faults(cells: Sequence[Cell]) -> list[Cell]:
    """The misses where theory allows none."""
    return [cell for cell in cells if not cell.fine and not cell.may_miss]


def main(arguments: Sequence[str]) -> int:
    """Print the whole study; returns 1 if a cell misses where theory allows none."""
    repeats = int(arguments[0]) if arguments else 2000
    cells = list(study(repeats))
    print("\n".join(report(cells, repeats, every=True)))
    return 1 if faults(cells) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
