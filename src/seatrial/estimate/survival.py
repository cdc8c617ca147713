"""Kaplan and Meier (1958): how many are still without the event, when some were not watched to the end."""

import warnings

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.clustered import Weigh
from seatrial.estimate.endings import (
    DRAWS,
    SLACK,
    Endings,
    LifeTable,
    drawn,
    first_reaching,
    life_table,
    one_sample,
    survival_curves,
    value_at,
)
from seatrial.estimate.timed import Reading, Timed, log_log, no_trials, timed
from seatrial.estimate.trials import count_trials, measured, scope_notes

METHOD = "Kaplan–Meier"


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A step curve: its value from each place on, up to the next.

    Attributes:
        places: where it steps, rising; before the first it is 1 (survival) or 0 (incidence).
        values: from each place on.
        lows, highs: interval over tasks at each; null where all samples agree, or with one task.
        analytic_lows, analytic_highs: the textbook interval, trials taken as independent; null where its
            formula has none, or where trials do not count alike.
        errors: standard errors of the same formula, or null.
        at_risk, events: trials not ended before each place, and the events counted there.
        watched_until: the last place any trial was seen at; beyond, the curve says nothing.
        n_events, n_censored: in all.
        level, method, unit, n_tasks, n_trials, notes: as in ``Estimate``.
    """

    places: list[float]
    values: list[float]
    lows: list[float | None]
    highs: list[float | None]
    analytic_lows: list[float | None]
    analytic_highs: list[float | None]
    errors: list[float | None]
    at_risk: list[int]
    events: list[int]
    watched_until: float
    n_events: int
    n_censored: int
    level: float
    method: str
    unit: str
    n_tasks: int
    n_trials: int
    notes: list[str] = []


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """The analytic side of a curve: standard errors and interval ends by place, null where undefined."""

    errors: list[float | None]
    lows: list[float | None]
    highs: list[float | None]


def kaplan_meier(
    endings: Endings,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
    cause: str | None = None,
) -> Curve:
    """Share of trials still without the event after each place of the axis.

    Args:
        endings: task to the end of every valid trial.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each: a task or a trial.
        cause: the endings that count as events, the others as censored; any ending for null.

    Returns:
        An empty curve, with the reason, where there is no trial or no event.

    Raises:
        ValueError: a place is negative, NaN or infinite, or there is no draw.
    """
    table = life_table(endings, "kaplan_meier", weigh)
    band = km_band(endings, table, level, cause)
    notes = [] if cause is None else [f"Endings by other causes than {cause} count as censored."]
    values = survival_curves(table, one_sample(table), cause)[0]
    sample = (
        drawn(table, rng, draws, lambda w: survival_curves(table, w, cause)) if len(table.tasks) > 1 else None
    )
    return step_curve(table, endings, cause, (values, sample, band), (level, METHOD, notes))


def survival_at(
    endings: Endings,
    at: float,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Timed:
    """Share of trials still without any ending after one place of the axis.

    Args:
        endings: task to the end of every valid trial.
        at: the place, at least 0. Beyond the longest watched trial the share is unknown, so null.
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each.

    Raises:
        ValueError: a place is negative, NaN or infinite, or there is no draw.
    """
    table = life_table(endings, "survival_at", weigh)
    if not table.tasks:
        return no_trials(endings, level)
    curve = survival_curves(table, one_sample(table))
    value = float(value_at(curve, table.places, at, 1.0)[0])
    if not table.known_at(at, float(curve[0, -1]) if curve.size else 1.0):
        return timed(table, endings, level, Reading(value=None, method=METHOD, notes=[beyond(table, at)]))
    sample = drawn(table, rng, draws, lambda w: value_at(survival_curves(table, w), table.places, at, 1.0))
    error = greenwood(table, None) if table.equal_shares else None
    step = int(np.searchsorted(table.places, at, side="right")) - 1
    own = float(error[step]) if error is not None and step >= 0 else None
    reading = Reading(
        value=value,
        sample=sample,
        analytic=None if own is None else log_log(value, own, level),
        standard_error=own,
        method=METHOD,
    )
    return timed(table, endings, level, reading)


def survival_quantile(
    endings: Endings,
    share: float,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> Timed:
    """First place by which at least ``share`` of the trials have ended (0.5: the median).

    The analytic interval is Brookmeyer and Crowley's (1982): where the log-log band passes 1 − share.

    Args:
        endings: task to the end of every valid trial.
        share: in (0, 1).
        rng: source of all randomness.
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1; one that never gets there is infinite, and counted.
        weigh: what counts once each.

    Returns:
        A null value, with the reason, where too few ended while watched.

    Raises:
        ValueError: ``share`` or a place is out of range, or there is no draw.
    """
    if not 0 < share < 1:
        raise ValueError(f"survival_quantile: share {share}; give one in (0, 1)")
    table = life_table(endings, "survival_quantile", weigh)
    if not table.tasks:
        return no_trials(endings, level)
    ended = 1 - survival_curves(table, one_sample(table))
    value = float(first_reaching(ended, table.places, share)[0])
    reached = np.isfinite(value)
    most = float(ended[0, -1]) if ended.size else 0.0
    notes = (
        [] if reached else [f"Unreached: {most:.3g} have ended by {table.watched_until:g}, the last watched."]
    )
    band = km_band(endings, table, level, None)
    ends = [_band_passes(side, table.places, 1 - share) for side in (band.lows, band.highs)]
    sample = drawn(
        table, rng, draws, lambda w: first_reaching(1 - survival_curves(table, w), table.places, share)
    )
    if unreached := int(np.isinf(sample).sum()):
        notes.append(f"{unreached} of {draws} bootstrap samples never get there: infinite.")
    reading = Reading(
        value=value if reached else None,
        sample=sample,
        analytic=(ends[0], ends[1]) if table.equal_shares and np.isfinite(ends[0]) else None,
        method=f"{METHOD}, place by which {share:g} have ended",
        notes=notes,
    )
    return timed(table, endings, level, reading)


def greenwood(table: LifeTable, cause: str | None) -> Floats:
    """Greenwood's standard error S·√Σ d/(n(n − d)) after each place, shape (places,); NaN at S = 0."""
    at_risk, events = table.at_risk.sum(axis=0), table.of(cause).sum(axis=0)
    left = survival_curves(table._replace(share=np.ones(len(table.tasks))), one_sample(table), cause)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(left * np.sqrt(np.cumsum(events / (at_risk * (at_risk - events)))), float)


def km_band(endings: Endings, table: LifeTable, level: float, cause: str | None) -> Band:
    """SciPy's log-log interval at this table's places; nulls where trials do not count alike."""
    nothing: list[float | None] = [None] * len(table.places)
    if not table.equal_shares or not len(table.places):
        return Band(errors=nothing, lows=nothing, highs=nothing)
    # Slow to load, and needed by no other command.
    from scipy.stats import CensoredData, ecdf

    ends = [end for trials in measured(endings).values() for end in trials]
    censored = [end.cause is None or cause not in (None, end.cause) for end in ends]
    curve = ecdf(CensoredData.right_censored([end.at for end in ends], censored)).sf
    with warnings.catch_warnings():
        # It warns that the formula has no interval at 0 and 1; those become null.
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = curve.confidence_interval(confidence_level=level, method="log-log")
    chosen = np.searchsorted(curve.quantiles, table.places)
    return Band(
        errors=_finite(greenwood(table, cause)),
        lows=_finite(interval.low.probabilities[chosen]),
        highs=_finite(interval.high.probabilities[chosen]),
    )


def step_curve(
    table: LifeTable,
    given: Endings,
    cause: str | None,
    computed: tuple[Floats, Floats | None, Band],
    labels: tuple[float, str, list[str]],
) -> Curve:
    """The curve with its counts and both intervals.

    Args:
        table: the trials.
        given: the endings it was made from.
        cause: the endings counted as events; any for null.
        computed: values by place; their bootstrap draws, shape (draws, places), or null; the analytic band.
        labels: level, method and notes.
    """
    values, sample, band = computed
    level, method, notes = labels
    events = table.of(cause).sum(axis=0).astype(int)
    lows: list[float | None] = [None] * len(values)
    highs = list(lows)
    if sample is not None and len(values):
        ends = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
        spread = ends[1] - ends[0] > SLACK
        lows = [float(low) if wide else None for low, wide in zip(ends[0], spread, strict=True)]
        highs = [float(high) if wide else None for high, wide in zip(ends[1], spread, strict=True)]
    said = [*notes, *_curve_notes(table, int(events.sum())), *scope_notes(given)]
    return Curve(
        places=table.places.tolist(),
        values=values.tolist(),
        lows=lows,
        highs=highs,
        analytic_lows=band.lows,
        analytic_highs=band.highs,
        errors=band.errors,
        at_risk=table.at_risk.sum(axis=0).astype(int).tolist(),
        events=events.tolist(),
        watched_until=table.watched_until,
        n_events=int(events.sum()),
        n_censored=table.censored,
        level=level,
        method=method,
        unit="tasks",
        n_tasks=len(table.tasks),
        n_trials=count_trials(given),
        notes=said,
    )


def beyond(table: LifeTable, at: float) -> str:
    """Why a curve has no value there."""
    return f"Unknown at {at:g}: no trial was watched beyond {table.watched_until:g} and some had not ended."


def _curve_notes(table: LifeTable, events: int) -> list[str]:
    """What a reader must know of the whole curve."""
    if not table.tasks:
        return ["No valid trial."]
    notes = [] if events else ["No event: the curve never steps, and nothing shows when it would."]
    if len(table.tasks) == 1:
        notes.append("One task: no interval over tasks, and the analytic one speaks of this task only.")
    if not table.equal_shares:
        notes.append("Tasks have unlike numbers of trials and count once each: no analytic interval.")
    return notes


def _finite(values: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _band_passes(side: list[float | None], places: Floats, share: float) -> float:
    """First place where one side of a band is at most ``share``; infinite if never."""
    passed = [at for at, end in zip(places, side, strict=True) if end is not None and end <= share + SLACK]
    return float(min(passed)) if passed else np.inf
