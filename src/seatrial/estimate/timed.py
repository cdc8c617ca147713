"""A number read from a curve over time or budget, with its interval over tasks and the analytic one."""

import math
from collections.abc import Callable
from statistics import NormalDist

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats, percentile_interval
from seatrial.estimate.clustered import ROUNDING
from seatrial.estimate.endings import Endings, LifeTable, settled, unknown_ends
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import wilson
from seatrial.estimate.trials import ONE_TASK, scope_notes

Ends = tuple[float, float]

OVER_TASKS = "bootstrap over tasks, percentile"
WILSON = "Wilson on the effective number of trials, from the bootstrap over tasks"


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """One number and two intervals.

    Attributes:
        estimate: the value with the interval over tasks (Wilson's for a share of trials, else the
            bootstrap's); the analytic one where there is one task only.
            The high end is infinite where too many samples never get there.
        analytic: the textbook interval, which takes trials as independent; null where its formula has none,
            or where trials do not count alike.
        standard_error: of the same formula; null likewise.
        draws: bootstrap samples, 0 without.
        draws_unreached: samples in which the place asked for is never reached.
    """

    estimate: Estimate
    analytic: Ends | None = None
    standard_error: float | None = None
    draws: int = 0
    draws_unreached: int = 0


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, before its interval is chosen.

    Attributes:
        value: null where it is not defined; a note says why.
        sample: its bootstrap distribution, infinite where not reached; null without one.
        analytic: textbook interval or null.
        standard_error: or null.
        method: how the value was computed.
        settled_tasks: for a share of trials, the tasks of which a trial shows on which side it lies; the
            interval over tasks is then Wilson's. Null for any other number: it is the bootstrap's.
        notes: whole sentences.
    """

    value: float | None
    sample: Floats | None = None
    settled_tasks: int | None = None
    analytic: Ends | None = None
    standard_error: float | None = None
    method: str
    notes: list[str] = []


def timed(table: LifeTable, given: Endings, level: float, reading: Reading) -> Timed:
    """The reading with its intervals: over tasks, or the analytic one labelled as one task's only."""
    low, high = reading.analytic or (None, None)
    method, notes, sample = reading.method, [*reading.notes, *scope_notes(given)], reading.sample
    if len(table.tasks) == 1:
        method, sample = f"{method}, {ONE_TASK}", None
        notes.append(
            f"The interval speaks of {ONE_TASK} and takes its trials as independent."
            if reading.analytic
            else "No interval: one task shows no spread between tasks."
        )
    elif sample is not None and reading.value is not None and reading.settled_tasks is not None:
        trials = int(table.trials.sum())
        size, known = effective_share_trials(reading.value, sample, (reading.settled_tasks, trials))
        low, high = wilson(min(size, reading.value * size), size, level)
        method = f"{method}; {WILSON}"
        notes.append(
            f"Worth {size:.3g} independent trials of the {trials}."
            if known
            else f"All draws agree: Wilson's interval as if of {size:g} trials, one a task."
        )
    elif sample is not None and (why := _why_agree(sample, level)) is None:
        low, high = percentile_interval(sample, level)
        method = f"{method}; {OVER_TASKS}"
    elif sample is not None:
        notes.append(f"No bootstrap interval, since {why}.")
        if reading.analytic:
            method += "; analytic, trials taken as independent (degenerate bootstrap)"
    unreached = 0 if sample is None else int(np.isinf(sample).sum())
    return Timed(
        estimate=Estimate(
            value=reading.value,
            low=low,
            high=high,
            level=level,
            method=method,
            unit="tasks" if len(table.tasks) != 1 else f"trials, {ONE_TASK}",
            n_tasks=len(table.tasks),
            n_trials=int(table.trials.sum()),
            notes=notes,
        ),
        analytic=reading.analytic,
        standard_error=reading.standard_error,
        draws=0 if sample is None else len(sample),
        draws_unreached=unreached,
    )


def effective_share_trials(share: float, sample: Floats, between: tuple[int, int]) -> tuple[float, bool]:
    """How many independent, uncensored trials would say as much about a share of trials.

    F(1 − F)/var · (n − 1)/n, with var the variance of the bootstrap over n tasks, whose draws vary by
    (n − 1)/n of what samples do. Percentile ends cover too little near 0 and 1 (.86 of .95 at .9, 10 tasks).

    Args:
        share: F, in [0, 1].
        sample: its bootstrap distribution over tasks.
        between: least (tasks) and most (trials).

    Returns:
        The number, and whether it was told by the draws: where they agree, or the share is 0 or 1, nothing
        is known of how alike the trials of one task are, and it is the least.
    """
    tasks, trials = max(1, between[0]), max(1, *between)
    spread = float(sample.var())
    if not ROUNDING < share < 1 - ROUNDING or spread <= ROUNDING**2:
        return float(tasks), False
    return max(tasks, min(trials, share * (1 - share) / spread * (tasks - 1) / tasks)), True


def both_ways(
    endings: Endings, rng: np.random.Generator, of: Callable[[Endings, np.random.Generator], list[Timed]]
) -> list[Timed]:
    """Readings with every unknown cause taken as success and as none: no value where they differ.

    Args:
        endings: as the readings take them.
        rng: source of all randomness; both ways share their draws.
        of: gives the readings of endings whose causes are all known.
    """
    if not (unknown := unknown_ends(endings)):
        return of(endings, rng)
    seed = int(rng.integers(2**63))
    ways = [of(settled(endings, way), np.random.default_rng(seed)) for way in (False, True)]
    return [_between(worst, best, unknown) for worst, best in zip(*ways, strict=True)]


def _between(worst: Timed, best: Timed, unknown: int) -> Timed:
    """What holds both ways; where one way never gets there, the interval has no high end."""
    first, second = worst.estimate, best.estimate
    known = [n for one in (first, second) for n in (one.low, one.value, one.high) if n is not None]
    if known and (first.value is None) != (second.value is None):
        known.append(math.inf)
    note = f"{unknown} endings of unknown cause, taken both ways."
    return Timed(
        estimate=msgspec.structs.replace(
            first,
            value=first.value if first.value == second.value else None,
            low=min(known, default=None),
            high=max(known, default=None),
            notes=[*dict.fromkeys(first.notes + second.notes), note],
        ),
        draws=worst.draws,
        draws_unreached=max(worst.draws_unreached, best.draws_unreached),
    )


def _why_agree(sample: Floats, level: float) -> str | None:
    """Why draws show no spread, if they show none; an infinite end is an end."""
    low, high = percentile_interval(sample, level)
    if math.isinf(low):
        return "nearly all its draws are infinite"
    agree = math.isfinite(high) and high - low <= ROUNDING * abs(high)
    return "all its draws agree" if agree else None


def no_trials(given: Endings, level: float) -> Timed:
    """The answer where there is no trial at all."""
    estimate = Estimate(
        value=None,
        level=level,
        method="none",
        unit="tasks",
        n_tasks=0,
        n_trials=0,
        notes=["No valid trial.", *scope_notes(given)],
    )
    return Timed(estimate=estimate)


def log_log(share: float, error: float, level: float) -> Ends | None:
    """Interval of a probability, even on the scale log(−log p): p^exp(±z·se/(p·ln p)); none at 0 and 1."""
    if not 0 < share < 1 or not error > 0:
        return None
    z = normal_quantile(level)
    power = z * error / (share * math.log(share))
    ends = share ** math.exp(power), share ** math.exp(-power)
    return min(ends), max(ends)


def normal_quantile(level: float) -> float:
    """Half-width, in standard errors, of the two-sided normal interval at ``level`` in (0, 1)."""
    return NormalDist().inv_cdf((1 + level) / 2)
