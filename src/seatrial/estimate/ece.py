"""Expected calibration error, with an interval that allows for what binning adds.

Σ share of bin · |mean confidence − success|. Chance alone makes it positive: with few trials a bin, exact
confidence shows an ECE well above 0, and bootstrap samples, noisier still, lie above the estimate. So the low
end is reflected at the value, and is 0 where outcomes drawn from the stated confidences themselves would show
an ECE as high (Bröcker and Smith 2007); the high end stays that of the samples.
"""

import numpy as np

from seatrial.estimate.bootstrap import CELLS, Floats
from seatrial.estimate.confidence import Stated
from seatrial.estimate.draws import defined_interval, drawn_sums
from seatrial.estimate.estimate import Ends, Estimate, Said, say

METHOD = "bootstrap over tasks, low end reflected, and 0 where chance explains the value"


def expected_calibration_error(
    stated: Stated, said: Said, rng: np.random.Generator, draws: int
) -> tuple[Estimate, float | None]:
    """The ECE, and what exact confidence would show on average with trials like these.

    Args:
        stated: trials with their bins.
        said: level, counts and notes.
        rng: source of all randomness.
        draws: samples of the bootstrap and of outcomes, at least 1.

    Returns:
        The estimate in [0, 1], null where unknown outcomes could move it, and the mean by chance. No interval
        with fewer than two tasks.
    """
    tasks, bins = stated.n_tasks, len(stated.edges) - 1
    if not tasks:
        return say(None, (None, None), "none", said, ["No trial states a confidence."]), None
    cell = stated.task * bins + stated.bin
    columns = np.concatenate(
        [
            np.bincount(cell, stated.weight * (stated.confidence - won), tasks * bins).reshape(tasks, bins)
            for won in (stated.worst, stated.best)
        ],
        axis=1,
    )
    least, most = (float(end[0]) for end in _least_and_most(columns.sum(axis=0, keepdims=True), tasks))
    chance = _by_chance(stated, rng, draws)
    notes = [f"Exact confidence would show {chance.mean():.3g} on average with these trials."]
    ends: Ends = (None, None)
    if tasks > 1:
        samples = _least_and_most(drawn_sums(columns, rng, draws), tasks)
        ends, remarks = _ends((least, most), samples, said.level)
        notes += remarks
        if ends[1] is not None and least <= float(np.quantile(chance, (1 + said.level) / 2)):
            ends = (0.0, ends[1])
            notes.append("Chance alone explains the value.")
    else:
        notes.append("No interval: there are no several tasks to draw.")
    value = least if least == most else None
    return say(value, ends, METHOD, said, notes), float(chance.mean())


def _least_and_most(sums: Floats, tasks: int) -> tuple[Floats, Floats]:
    """ECE at its least and most, from gaps with all unknown outcomes failed, then all succeeded, by row."""
    bins = sums.shape[1] // 2
    high, low = sums[:, :bins], sums[:, bins:]
    most = np.maximum(np.abs(high), np.abs(low))
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(high), np.abs(low)))
    return least.sum(axis=1) / tasks, most.sum(axis=1) / tasks


def _by_chance(stated: Stated, rng: np.random.Generator, draws: int) -> Floats:
    """ECE of outcomes drawn from the stated confidences, independent given them; shape (draws,)."""
    trials, bins = len(stated.weight), len(stated.edges) - 1
    inside = np.zeros((trials, bins))
    inside[np.arange(trials), stated.bin] = stated.weight
    found, step = np.empty(draws), max(1, CELLS // max(trials, bins))
    for start in range(0, draws, step):
        part = found[start : start + step]
        gaps = stated.confidence - (rng.random((len(part), trials)) < stated.confidence)
        part[:] = np.abs(gaps @ inside).sum(axis=1) / stated.n_tasks
    return found


def _ends(
    values: tuple[float, float], samples: tuple[Floats, Floats], level: float
) -> tuple[Ends, list[str]]:
    """From 2·value − the upper quantile to that quantile, at least 0, stretched to hold the values."""
    below, above = defined_interval(samples[0], level), defined_interval(samples[1], level)
    notes = list(dict.fromkeys(below[2] + above[2]))
    if below[1] is None or above[1] is None:
        return (None, None), notes
    return (max(0.0, min(values[0], 2 * values[0] - below[1])), max(values[1], above[1])), notes
