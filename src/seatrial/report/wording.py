"""Numbers as the page prints them. Null is "unknown", everywhere."""

from collections.abc import Sequence

from seatrial.estimate.estimate import Estimate
from seatrial.records.trial import TrialRecord
from seatrial.report.tables import Row

UNKNOWN = "unknown"
COURSE_POINTS = 12


def counted(n: int, noun: str) -> str:
    """A number with its noun, in the plural where it needs one."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def spoken(names: Sequence[str]) -> str:
    """Names as a sentence has them: "a, b and c"."""
    return " and ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def each(names: Sequence[str]) -> str:
    """What stands behind several names of which each is meant."""
    return ", each" if len(names) > 1 else ""


def untested(arms: Sequence[str]) -> str:
    """Comparisons on one task as one sentence, since nothing can be said of any of them.

    Args:
        arms: of each comparison, at least one.
    """
    where = f"({arms[0]})" if len(set(arms)) == 1 else f"in {len(set(arms))} arms"
    return (
        f"{counted(len(arms), 'comparison')} {where} could not be tested: a paired test needs at least two "
        "tasks, and there is one."
    )


def plain(value: object) -> str:
    """Any value of a record as text."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "none"
    return str(value)


def number(value: float) -> str:
    """Three significant digits, or all digits of a larger whole part."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def course(progress: Sequence[tuple[int, float]]) -> str:
    """A progress curve in words; the middle of a long one is left to the table."""
    parts = [f"{number(value)} from step {step}" for step, value in progress]
    if len(parts) > COURSE_POINTS:
        left_out = len(parts) - COURSE_POINTS
        parts[COURSE_POINTS - 1 : -1] = [f"{left_out} more changes (tables/progress.csv)"]
    return ", ".join(parts)


def duration(microseconds: int | None) -> str:
    """Microseconds as seconds with a unit."""
    if microseconds is None:
        return UNKNOWN
    value = microseconds / 1e6
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"


def count_of(row: Row) -> str:
    """Yes outcomes over valid trials: "2 of 3"."""
    counts = row.denominators
    text = f"{counts.events} of {counts.valid}"
    return f"{text}, {counts.unknown} unknown" if counts.unknown else text


def interval(estimate: Estimate) -> str:
    """The rate in per cent with its interval, or what is known of it."""
    if estimate.n_trials == 0:
        return "no valid trial"
    rate = UNKNOWN if estimate.value is None else f"{100 * estimate.value:.0f} %"
    if estimate.n_trials == 1 and estimate.low is None:
        return f"{rate}, one trial, no interval"
    if estimate.low is None or estimate.high is None:
        return f"{rate}, mean of {estimate.n_tasks} tasks, no interval"
    return f"{rate} [{100 * estimate.low:.0f} to {100 * estimate.high:.0f} %]"


def difference(estimate: Estimate) -> str:
    """A difference with its sign and interval."""
    value = UNKNOWN if estimate.value is None else f"{estimate.value:+.3g}"
    if estimate.low is None or estimate.high is None:
        return f"{value}, no interval"
    return f"{value} [{estimate.low:+.3g} to {estimate.high:+.3g}]"


def spread(estimate: Estimate) -> str:
    """The interval of a mean, or nothing."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{number(estimate.low)} to {number(estimate.high)}]"


def mean(row: Row) -> str:
    """A mean, or that it is unknown."""
    if row.denominators.valid == 0:
        return "no valid trial"
    return plain(row.estimate.value)


def per_success(row: Row) -> str:
    """Cost per success with its interval, or why there is none."""
    estimate = row.estimate
    if row.denominators.valid == 0:
        return "no valid trial"
    if row.denominators.events == 0 and not row.denominators.unknown:
        low = "" if estimate.low is None else f", at least {number(estimate.low)}"
        return f"no success{low}"
    if estimate.low is None:
        return plain(estimate.value)
    high = "unbounded" if estimate.high is None else number(estimate.high)
    return f"{plain(estimate.value)} [{number(estimate.low)} to {high}]"


def share(value: float | None) -> str:
    """A share in per cent."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def reached(record: TrialRecord, step: int | None, threshold: float) -> str:
    """A first step, told apart from "never" and from "unknown"."""
    if step is not None:
        return str(step)
    below = record.max_progress is not None and record.max_progress < threshold
    return "not reached" if below else UNKNOWN
