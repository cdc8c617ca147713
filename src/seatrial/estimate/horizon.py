"""The length of task, in human time, that a system does with a given chance (Kwa et al. 2025, METR).

Log-odds of success = intercept + slope · log2(minutes); the horizon at p is 2^((logit p − intercept)/slope).
The base of the logarithm changes intercept and slope alone, never a horizon. Weights are METR's: a trial
counts 1/(trials of its task · √tasks of its family). The ridge is per unit of total weight: METR's first
results had 0.1, which moved some by 45 %; 1e-5 is their later choice and the default here.

The bootstrap draws families, tasks inside them and trials inside those. Draws without a horizon are counted
and shown: of one class only they stand at zero or infinity; a curve that rises with length and crosses p
inside the measured range, or that has no finite optimum, has none, and is taken both ways by the interval. A
drawn curve that rises on one side of p stands there too; where the fitted one rises there is no horizon.
"""

import math
from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import percentile_interval
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.horizon_draws import (
    FALLING,
    DrawnHorizons,
    HorizonData,
    HorizonOptions,
    Place,
    crossings,
    draw_horizons,
    horizon_data,
    horizon_text,
    place_of,
    refuse_options,
    trial_weights,
)
from seatrial.estimate.lengths import LengthBin, length_bins
from seatrial.estimate.logistic import fit_logistic
from seatrial.estimate.means import geometric_mean
from seatrial.estimate.trials import Outcomes, completed, count_trials, count_unknown, measured, scope_notes

WEIGHTS = {
    "invsqrt": "weights 1/(trials of the task · √tasks of the family)",
    "equal_task": "every task counts once",
    "none": "every trial counts once",
}


class HorizonAt(msgspec.Struct, frozen=True, kw_only=True):
    """The horizon at one chance of success.

    Attributes:
        chance: the success chance asked.
        estimate: in minutes; the value is null unless it lies in the measured range. The ends are what the
            draws say, also outside the range; 0 and infinity stand for "below" and "beyond" any length.
        fitted: where the fitted curve crosses, an extrapolation outside the range; null without a crossing.
        place: where it lies.
        shown: the value as it should be printed, for example "60.5", "< 1" or "> 960".
        draws_below, draws_beyond: bootstrap samples whose horizon lies outside the measured range.
        draws_undefined: samples that have none (rising curves that cross inside the range, no optimum).
    """

    chance: float
    estimate: Estimate
    fitted: float | None
    place: Place
    shown: str
    draws_below: int = 0
    draws_beyond: int = 0
    draws_undefined: int = 0


class Horizon(msgspec.Struct, frozen=True, kw_only=True):
    """Horizons of one system.

    Attributes:
        horizons: one for each chance asked.
        intercept, slope: of log-odds against log2 minutes; null without a fit.
        rises: whether fitted success does not fall with length, so that there is no horizon; null without a
            fit, or where unknown outcomes leave it open.
        shortest, longest: the measured range in minutes; ``longest`` is 16 hours at most.
        n_families: families among the tasks.
        draws: bootstrap samples.
        draws_all_success, draws_all_failure: samples of one class, at infinity and zero.
        draws_rising: samples whose fitted success does not fall with length.
        draws_unconverged: samples whose fit has no finite optimum.
        bins: success by length.
    """

    horizons: list[HorizonAt]
    intercept: float | None = None
    slope: float | None = None
    rises: bool | None = None
    shortest: float | None = None
    longest: float | None = None
    n_families: int = 0
    draws: int = 0
    draws_all_success: int = 0
    draws_all_failure: int = 0
    draws_rising: int = 0
    draws_unconverged: int = 0
    bins: list[LengthBin] = []


def horizon(
    outcomes: Outcomes,
    minutes: Mapping[str, float],
    rng: np.random.Generator,
    options: HorizonOptions | None = None,
) -> Horizon:
    """Horizons with percentile intervals over families, then tasks, then trials.

    Unknown outcomes are taken both ways: the value is then null and the interval covers both.

    Args:
        outcomes: task to the outcomes of its valid trials.
        minutes: human minutes of every task with a trial, above 0.
        rng: source of all randomness.
        options: what else it depends on.

    Returns:
        With a null value and the reason where there is no trial, one class, one length, or a rising curve.

    Raises:
        ValueError: a task without minutes, minutes not above 0, or an option out of range.
    """
    asked = options or HorizonOptions()
    refuse_options(asked)
    judged = measured(outcomes)
    if not judged:
        return Horizon(
            horizons=[_nothing(chance, "No valid trial.", outcomes, asked) for chance in asked.chances]
        )
    if not count_unknown(judged):
        return _known(completed(judged, False), outcomes, minutes, rng, asked)
    # One state for both ways, so that they differ by the outcomes and not by the draws.
    seed = int(rng.integers(2**63))
    worst, best = (
        _known(completed(judged, way), outcomes, minutes, np.random.default_rng(seed), asked)
        for way in (False, True)
    )
    return _between(worst, best, count_unknown(judged))


def _known(
    outcomes: dict[str, list[bool]],
    given: Outcomes,
    minutes: Mapping[str, float],
    rng: np.random.Generator,
    asked: HorizonOptions,
) -> Horizon:
    """Horizons where every outcome is known."""
    data = horizon_data(outcomes, minutes, asked.families)
    shortest, longest = data.range
    families = len(np.unique(data.family))
    if data.one_class or len(np.unique(data.minutes)) == 1:
        return Horizon(
            horizons=[_degenerate(data, chance, given, asked) for chance in asked.chances],
            shortest=shortest,
            longest=longest,
            n_families=families,
            bins=length_bins(given, minutes, asked.level),
        )
    weight = trial_weights(data, asked.weighting)
    fits = fit_logistic(
        (weight * data.trials)[None], (weight * data.successes)[None], np.log2(data.minutes), asked.ridge
    )
    values = crossings(fits, asked.chances, shortest, longest)[0]
    drawn = draw_horizons(data, asked, rng)
    curve = (float(fits.intercept[0]), float(fits.slope[0]))
    rises = bool(fits.converged[0]) and curve[1] >= FALLING
    return Horizon(
        horizons=[
            _at(data, drawn, (chance, float(values[place]), place), given, asked, rises)
            for place, chance in enumerate(asked.chances)
        ],
        intercept=curve[0],
        slope=curve[1],
        rises=rises,
        shortest=shortest,
        longest=longest,
        n_families=families,
        draws=asked.draws,
        draws_all_success=drawn.kinds["all_success"],
        draws_all_failure=drawn.kinds["all_failure"],
        draws_rising=drawn.kinds["rising"],
        draws_unconverged=drawn.kinds["unconverged"],
        bins=length_bins(given, minutes, asked.level, curve=curve),
    )


def _at(
    data: HorizonData,
    drawn: DrawnHorizons,
    at: tuple[float, float, int],
    given: Outcomes,
    asked: HorizonOptions,
    rises: bool,
) -> HorizonAt:
    """One horizon with its interval; undefined draws count as 0 for its low end, as infinite for its high.

    A curve that does not fall has no horizon, on whichever side of the chance it stays.
    """
    chance, fitted, column = at
    sample = drawn.horizons[:, column]
    side = fitted
    fitted = math.nan if rises else fitted
    undefined = np.isnan(sample)
    low = percentile_interval(np.where(undefined, 0.0, sample), asked.level)[0]
    high = percentile_interval(np.where(undefined, np.inf, sample), asked.level)[1]
    shortest, longest = data.range
    place = place_of(fitted, shortest, longest)
    told = [_rising_note(chance, side)] if rises else _place_notes(place, shortest, longest)
    notes = scope_notes(given) + told + _human_notes(data, asked)
    if undefined.any():
        notes.append(f"{int(undefined.sum())} of {asked.draws} draws have no horizon: taken both ways.")
    if low < shortest or high > longest:
        notes.append(
            f"An end of the interval lies outside the measured {shortest:.4g} to {longest:.4g} minutes."
        )
    return HorizonAt(
        chance=chance,
        estimate=_estimate(data, given, asked, (fitted if place == "inside" else None, low, high), notes),
        fitted=fitted if 0 < fitted < math.inf else None,
        place=place,
        shown=horizon_text(fitted, shortest, longest),
        draws_below=int((sample < shortest).sum()),
        draws_beyond=int((sample > longest).sum()),
        draws_undefined=int(undefined.sum()),
    )


def _degenerate(data: HorizonData, chance: float, given: Outcomes, asked: HorizonOptions) -> HorizonAt:
    """A horizon that no curve can be fitted for: one class of outcomes, or one length."""
    shortest, longest = data.range
    reason, stands = "All tasks are of one length, so nothing shows how success falls.", None
    if data.one_class:
        stands = math.inf if data.successes.any() else 0.0
        reason = f"All trials {'succeeded' if stands else 'failed'}, so no curve can be fitted."
    notes = [
        reason,
        *scope_notes(given),
        *_place_notes(place_of(stands, shortest, longest), shortest, longest),
    ]
    return HorizonAt(
        chance=chance,
        estimate=_estimate(data, given, asked, (None, None, None), notes),
        fitted=None,
        place=place_of(stands, shortest, longest),
        shown=horizon_text(stands, shortest, longest),
    )


def _estimate(
    data: HorizonData,
    given: Outcomes,
    asked: HorizonOptions,
    numbers: tuple[float | None, float | None, float | None],
    notes: list[str],
) -> Estimate:
    spread = ", human times resampled" if asked.human_times else ""
    drawn = (
        ""
        if numbers[1] is None
        else f"; bootstrap over families, then tasks, then trials{spread}, percentile; conservative: counts "
        "the noise inside families and tasks twice"
    )
    return Estimate(
        value=numbers[0],
        low=numbers[1],
        high=numbers[2],
        level=asked.level,
        method=f"logistic fit on log2 minutes, {WEIGHTS[asked.weighting]}, ridge {asked.ridge:g}{drawn}",
        unit="families, then tasks, then trials",
        n_tasks=len(data.tasks),
        n_trials=count_trials(given),
        notes=notes,
    )


def _place_notes(place: Place, shortest: float, longest: float) -> list[str]:
    """What a reader must know of a horizon that was not measured."""
    return {
        "inside": [],
        "below range": [f"Below the measured range: less than {shortest:.4g} min."],
        "beyond range": [f"Beyond the measured range: more than {longest:.4g} min."],
        "undefined": ["No horizon: the fit has no finite optimum."],
    }[place]


def _rising_note(chance: float, side: float) -> str:
    """What a curve that does not fall says of a chance: it crosses it, or stays on one side of it."""
    where = "it crosses" if math.isnan(side) else "it stays above" if side > 0 else "it stays below"
    return (
        f"No horizon: fitted success does not fall with length; {where} {100 * chance:g} % in the measured "
        "range."
    )


def _human_notes(data: HorizonData, asked: HorizonOptions) -> list[str]:
    """Where raw human times say little, or something else than the stated minutes."""
    times = asked.human_times or {}
    stated = dict(zip(data.tasks, data.minutes, strict=True))
    known = {task: times[task] for task in data.tasks if times.get(task)}
    single = sum(len(raw) == 1 for raw in known.values()) + len(data.tasks) - len(known)
    apart = [
        task
        for task, raw in known.items()
        if not math.isclose(geometric_mean(raw), stated[task], rel_tol=0.01)
    ]
    notes = []
    if known and single:
        notes.append(
            f"{single} of {len(data.tasks)} tasks have one human time or none: their spread is unknown."
        )
    if apart:
        notes.append(
            f"Stated minutes are not the geometric mean of the human times of {len(apart)}, first {apart[0]}."
        )
    return notes


def _nothing(chance: float, reason: str, given: Outcomes, asked: HorizonOptions) -> HorizonAt:
    """The horizon of no trials."""
    estimate = Estimate(
        value=None,
        level=asked.level,
        method="none",
        unit="families, then tasks, then trials",
        n_tasks=0,
        n_trials=0,
        notes=[reason, *scope_notes(given)],
    )
    return HorizonAt(chance=chance, estimate=estimate, fitted=None, place="undefined", shown="undefined")


def _between(worst: Horizon, best: Horizon, unknown: int) -> Horizon:
    """Unknown outcomes taken both ways: no value, an interval over both, the greater of each count."""
    note = f"{unknown} unknown {'outcome' if unknown == 1 else 'outcomes'}, taken both ways."
    horizons = []
    for low, high in zip(worst.horizons, best.horizons, strict=True):
        ends = (low.estimate.low, high.estimate.high)
        known = None not in ends
        horizons.append(
            msgspec.structs.replace(
                low,
                estimate=msgspec.structs.replace(
                    low.estimate,
                    value=None,
                    low=ends[0] if known else None,
                    high=ends[1] if known else None,
                    notes=[*dict.fromkeys(low.estimate.notes + high.estimate.notes), note],
                ),
                fitted=None,
                place=low.place if low.place == high.place else "undefined",
                shown=low.shown if low.shown == high.shown else f"{low.shown} to {high.shown}",
                draws_below=max(low.draws_below, high.draws_below),
                draws_beyond=max(low.draws_beyond, high.draws_beyond),
                draws_undefined=max(low.draws_undefined, high.draws_undefined),
            )
        )
    counts = {
        name: max(getattr(worst, name), getattr(best, name))
        for name in ("draws", "draws_all_success", "draws_all_failure", "draws_rising", "draws_unconverged")
    }
    # The bins take unknown outcomes both ways by themselves; no one curve goes beside them.
    bins = [msgspec.structs.replace(part, fitted=None) for part in worst.bins]
    rises = worst.rises if worst.rises == best.rises else None
    return msgspec.structs.replace(
        worst, horizons=horizons, intercept=None, slope=None, rises=rises, bins=bins, **counts
    )
