"""What a horizon is computed from: lengths, weights, fitted curves and their bootstrap draws."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import CELLS, Counts, Floats
from seatrial.estimate.hierarchy import family_index, hierarchy_weights
from seatrial.estimate.lengths import refuse_minutes
from seatrial.estimate.logistic import Fits, fit_logistic

Weighting = Literal["invsqrt", "equal_task", "none"]
Place = Literal["inside", "below range", "beyond range", "undefined"]

RIDGE = 1e-5
DRAWS = 1_000
# Human times of more than 16 hours are too few and too rough to measure a horizon by.
LONGEST_MINUTES = 960.0
# A slope above this, per doubling, is none or rises.
FALLING = -1e-9


class HorizonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a horizon depends on beside the trials.

    Attributes:
        chances: the success chances whose horizons are asked, each in (0, 1).
        families: task to family; by default what the task's name tells (``family/name``).
        weighting: how trials count; see the module.
        ridge: penalty on the slope per doubling of length, per unit of total weight, at least 0.
        human_times: task to raw human minutes. Each draw averages a resample of them by geometric mean, so
            their spread is in the interval; tasks it does not name keep their stated minutes.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.
    """

    chances: Sequence[float] = (0.5, 0.8)
    families: Mapping[str, str] | None = None
    weighting: Weighting = "invsqrt"
    ridge: float = RIDGE
    human_times: Mapping[str, Sequence[float]] | None = None
    level: float = 0.95
    draws: int = DRAWS


class HorizonData(NamedTuple):
    """Trials of one system by task, tasks in the order of their names; arrays have shape (tasks,)."""

    tasks: list[str]
    minutes: Floats
    family: Counts
    trials: Counts
    successes: Counts

    @property
    def range(self) -> tuple[float, float]:
        """Shortest and longest measured minutes."""
        shortest = float(self.minutes.min())
        return shortest, max(shortest, min(LONGEST_MINUTES, float(self.minutes.max())))

    @property
    def one_class(self) -> bool:
        """Whether there are successes only, or failures only."""
        return int(self.successes.sum()) in (0, int(self.trials.sum()))


class DrawnHorizons(NamedTuple):
    """Horizons of the draws by chance, shape (draws, chances), NaN where undefined, and counts by kind."""

    horizons: Floats
    kinds: dict[str, int]


def horizon_data(
    outcomes: Mapping[str, Sequence[bool]], minutes: Mapping[str, float], families: Mapping[str, str] | None
) -> HorizonData:
    """Trials with their lengths.

    Raises:
        ValueError: a task without minutes, or minutes not above 0 or infinite.
    """
    tasks = sorted(outcomes)
    refuse_minutes(tasks, minutes)
    return HorizonData(
        tasks,
        np.array([minutes[task] for task in tasks], float),
        family_index(tasks, families),
        np.array([len(outcomes[task]) for task in tasks]),
        np.array([sum(outcomes[task]) for task in tasks]),
    )


def trial_weights(data: HorizonData, weighting: Weighting) -> Floats:
    """The weight of one trial of each task, up to a common factor, shape (tasks,).

    ``invsqrt`` is 1/(trials of the task · √tasks of its family).
    """
    if weighting == "none":
        return np.ones(len(data.tasks))
    once = 1 / data.trials
    return once if weighting == "equal_task" else once / np.sqrt(np.bincount(data.family)[data.family])


def crossings(fits: Fits, chances: Sequence[float], shortest: float, longest: float) -> Floats:
    """Where each fitted curve crosses each chance, in minutes, shape (fits, chances).

    A curve that does not fall has no horizon (NaN), unless it stays on one side of the chance over the whole
    measured range: then it is infinite above and 0 below.
    """
    logits = np.log(np.asarray(chances)) - np.log1p(-np.asarray(chances))
    falls = (fits.slope < FALLING)[:, None]
    slope = np.where(falls, fits.slope[:, None], -1.0)
    at = np.exp2(np.clip((logits - fits.intercept[:, None]) / slope, -1000, 1000))
    ends = [fits.intercept[:, None] + fits.slope[:, None] * math.log2(end) for end in (shortest, longest)]
    above, below = (np.minimum(*ends) >= logits), (np.maximum(*ends) <= logits)
    flat = np.where(above, np.inf, np.where(below, 0.0, np.nan))
    found = np.where(falls, at, flat)
    found[~fits.converged] = np.nan
    return np.asarray(found, float)


def horizon_text(minutes: float | None, shortest: float, longest: float) -> str:
    """A horizon as it should be printed: a number inside the measured range, else "< X" or "> X"."""
    if minutes is None or math.isnan(minutes):
        return "undefined"
    if minutes < shortest:
        return f"< {shortest:.4g}"
    return f"> {longest:.4g}" if minutes > longest else f"{minutes:.4g}"


def place_of(minutes: float | None, shortest: float, longest: float) -> Place:
    """Where a horizon lies against the measured range."""
    if minutes is None or math.isnan(minutes):
        return "undefined"
    return "below range" if minutes < shortest else "beyond range" if minutes > longest else "inside"


def draw_horizons(data: HorizonData, options: HorizonOptions, rng: np.random.Generator) -> DrawnHorizons:
    """Bootstrap distribution of the horizons: families, then tasks, then trials; all fits at once.

    A success weight is Binomial(trials drawn, task's rate) times the trial's weight, which is the same law as
    drawing the trials one by one. A trial keeps the weight it has in the whole sample.
    """
    weight, rate = trial_weights(data, options.weighting), data.successes / data.trials
    found = np.empty((options.draws, len(options.chances)))
    kinds = {"all_success": 0, "all_failure": 0, "rising": 0, "unconverged": 0}
    step = max(1, CELLS // len(data.tasks))
    for start in range(0, options.draws, step):
        rows = min(step, options.draws - start)
        trials = hierarchy_weights(data.family, rows, rng) * data.trials
        successes = rng.binomial(trials, rate)
        x = drawn_lengths(data, options.human_times, rows, rng)
        won, lost = successes.sum(axis=1), (trials - successes).sum(axis=1)
        part = np.where((lost == 0)[:, None], np.inf, np.zeros((rows, len(options.chances))))
        both = (won > 0) & (lost > 0)
        if both.any():
            own = x if x.ndim == 1 else x[both]
            fits = fit_logistic(trials[both] * weight, successes[both] * weight, own, options.ridge)
            part[both] = crossings(fits, options.chances, *data.range)
            kinds["rising"] += int((fits.converged & (fits.slope >= FALLING)).sum())
            kinds["unconverged"] += int((~fits.converged).sum())
        kinds["all_success"] += int((lost == 0).sum())
        kinds["all_failure"] += int((won == 0).sum())
        found[start : start + rows] = part
    return DrawnHorizons(found, kinds)


def drawn_lengths(
    data: HorizonData, human_times: Mapping[str, Sequence[float]] | None, draws: int, rng: np.random.Generator
) -> Floats:
    """log2 minutes, shape (tasks,); or (draws, tasks) where raw human times are resampled."""
    stated = np.log2(data.minutes)
    if not human_times:
        return stated
    found = np.tile(stated, (draws, 1))
    for place, task in enumerate(data.tasks):
        times = np.log2(np.sort(np.asarray(human_times.get(task, ()), float)))
        if len(times):
            found[:, place] = times[rng.integers(0, len(times), (draws, len(times)))].mean(axis=1)
    return found


def refuse_options(options: HorizonOptions) -> None:
    """Refuse options no fit can use.

    Raises:
        ValueError: naming the option.
    """
    if not options.chances or not all(0 < chance < 1 for chance in options.chances):
        raise ValueError(f"horizon: chances {list(options.chances)}; give at least one, each in (0, 1)")
    if options.draws < 1 or not 0 < options.level < 1:
        raise ValueError(f"horizon: {options.draws} draws, level {options.level}; needs >= 1 and (0, 1)")
    if options.weighting not in ("invsqrt", "equal_task", "none"):
        raise ValueError(f"horizon: weighting {options.weighting!r}; give invsqrt, equal_task or none")
    if not 0 <= options.ridge < math.inf:
        raise ValueError(f"horizon: ridge {options.ridge}; give a finite number of at least 0")
    for task, times in (options.human_times or {}).items():
        if not all(0 < time < math.inf for time in times):
            raise ValueError(f"horizon: human times {list(times)} of {task}. Give finite minutes above 0.")
