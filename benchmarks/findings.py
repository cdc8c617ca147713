"""What a study of known truth found, and what in it is not as it should be."""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from statistics import fmean, stdev

from scipy.special import stdtrit

from benchmarks.disturbed_runs import Runs
from benchmarks.truth_runs import LEVEL


@dataclass
class Findings:
    """What one study found.

    Attributes:
        lines: its figures.
        wrong: what is not as it should be, in words.
    """

    what: str
    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


Study = Callable[[int, int], Findings]


def in_a_folder(study: Callable[[Path, int, int], Findings]) -> Study:
    """A study that is given a new folder besides trials and workers."""

    @wraps(study)
    def inside(trials: int, workers: int) -> Findings:
        with tempfile.TemporaryDirectory() as folder:
            return study(Path(folder), trials, workers)

    return inside


def compared(what: str, runs: Runs) -> Findings:
    """What a study begins with: every trial held against its replay."""
    text = f"{len(runs.truths)} trials, {len(runs.wrong)} differences from their replay"
    return Findings(what, [text], [f"differs: {wrong}" for wrong in runs.wrong])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's t interval of a mean; a point where nothing varies."""
    mean, n = fmean(values), len(values)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * stdev(values) / n**0.5 if n > 1 else 0.0
    return mean - half, mean + half


def difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """How much higher the mean of other trials is, with Welch's interval on the smaller sample's freedom."""
    change, smaller = fmean(after) - fmean(before), min(len(before), len(after))
    if smaller < 2:
        return change, -math.inf, math.inf
    error = math.sqrt(sum(stdev(values) ** 2 / len(values) for values in (before, after)))
    half = float(stdtrit(smaller - 1, (1 + LEVEL) / 2)) * error
    return change, change - half, change + half
