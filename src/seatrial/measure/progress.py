"""Verified progress P_t over a trial and what is read off its course (E1, E11).

P_t credits a subgoal while its latest verdict is pass and its prerequisites hold, with weights normalised
over the current goal version's subgoals. It may fall. A measure that an unknown verdict could change is null.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from seatrial.journal.events import Event
from seatrial.measure.verified import DIGITS, Verified, row_passes, verified_course
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.task import Task

# Progress is called advancing or stalled by its slope over this last share of the steps (at least one).
SLOPE_SHARE = 0.25


class ProgressMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """Read off the course of progress; null is unknown. Names are the TrialRecord's columns.

    Attributes:
        max_progress: highest value reached, in [0, 1].
        progress_slope: (P_T − P_{T−w})/w per step, w the last quarter of the steps.
        first_half_step, first_ninety_step, first_full_step: first step at .5, .9 and 1; null also when
            never reached (``max_progress`` tells which).
        broken_after_full: fell below 1 after having been 1.
        actions_after_full: actions after the first step at 1; null when never full.
        regression_depth: largest drop from an earlier peak, in [0, 1]; lower is better.
        regression_area: sum over steps of (running peak − value); lower is better.
        repeat_completions: times a subgoal that had passed, then failed, passes again.
        drift_actions: actions after the last rise (all of them when it never rose).
    """

    max_progress: float | None = None
    progress_slope: float | None = None
    first_half_step: int | None = None
    first_ninety_step: int | None = None
    first_full_step: int | None = None
    broken_after_full: bool | None = None
    actions_after_full: int | None = None
    regression_depth: float | None = None
    regression_area: float | None = None
    repeat_completions: int | None = None
    drift_actions: int | None = None


def progress_course(
    task: Task, events: Sequence[Event], verdicts: TrialVerdicts, final: Verified
) -> list[Verified]:
    """What stood verified, step by step; only the end where no more was judged, empty without any verdict.

    Raises:
        JournalError: the verdict table does not belong to this journal and task.
    """
    if verdicts.every_step and verdicts.rows:
        return verified_course(task, events, verdicts)
    return [final] if verdicts.final else []


def progress_curve(course: Sequence[Verified]) -> list[tuple[int, float]]:
    """Steps at which verified progress changes, the first included, with the value from then on.

    Unknown verdicts are not credited: the curve is the lower bound. When only the final state was judged
    it is the single pair (last step, value), since nothing is known of the way there.

    Returns:
        Pairs (step, value in [0, 1]), ascending by step.
    """
    curve: list[tuple[int, float]] = []
    for point in course:
        if not curve or point.low != curve[-1][1]:
            curve.append((point.step, point.low))
    return curve


def progress_measures(course: Sequence[Verified], verdicts: TrialVerdicts, end: int) -> ProgressMeasures:
    """All that is read off the course of progress; all null when only the final state was judged.

    Args:
        course: from ``progress_course``.
        verdicts: of the same attempt.
        end: the last step.
    """
    if not verdicts.every_step or not verdicts.rows:
        return ProgressMeasures()
    full = first_reaching(course, 1.0)
    known = all(point.known for point in course)
    highest = max(point.low for point in course)
    return ProgressMeasures(
        max_progress=highest if highest == max(point.high for point in course) else None,
        progress_slope=slope(course, end),
        first_half_step=first_reaching(course, 0.5),
        first_ninety_step=first_reaching(course, 0.9),
        first_full_step=full,
        broken_after_full=broken_after_full(course) if known else None,
        actions_after_full=None if full is None else end - full,
        regression_depth=regression_depth(course) if known else None,
        regression_area=regression_area(course, end) if known else None,
        repeat_completions=repeat_completions(verdicts),
        drift_actions=end - last_rise(course) if known else None,
    )


def first_reaching(course: Sequence[Verified], threshold: float) -> int | None:
    """First step at or above a threshold; null when never, or when an unknown verdict may hide an earlier."""
    for point in course:
        if point.low >= threshold:
            return point.step
        if point.high >= threshold:
            return None
    return None


def broken_after_full(course: Sequence[Verified]) -> bool:
    """Whether progress was complete once and fell afterwards."""
    values = [point.low for point in course]
    return 1.0 in values and min(values[values.index(1.0) :]) < 1.0


def regression_depth(course: Sequence[Verified]) -> float:
    """Largest drop from an earlier peak: max over t of (max over s ≤ t of P_s) − P_t, in [0, 1]."""
    peak, depth = 0.0, 0.0
    for point in course:
        peak = max(peak, point.low)
        depth = max(depth, peak - point.low)
    return round(depth, DIGITS)


def regression_area(course: Sequence[Verified], end: int) -> float:
    """Sum over steps 0..end of (running peak − value), in steps; 0 exactly when progress never fell."""
    peak, area = 0.0, 0.0
    starts = [point.step for point in course[1:]] + [end + 1]
    for point, until in zip(course, starts, strict=True):
        peak = max(peak, point.low)
        area += (peak - point.low) * (until - point.step)
    return round(area, DIGITS)


def last_rise(course: Sequence[Verified]) -> int:
    """Step of the last rise; 0 when progress never rose."""
    return max((after.step for before, after in pairwise(course) if after.low > before.low), default=0)


def slope(course: Sequence[Verified], end: int) -> float | None:
    """(P_T − P_{T−w})/w over the last quarter of the steps; null with no step or an unknown end."""
    if end == 0:
        return None
    window = math.ceil(end * SLOPE_SHARE)
    earlier = [point for point in course if point.step <= end - window][-1]
    if not (earlier.known and course[-1].known):
        return None
    return round((course[-1].low - earlier.low) / window, DIGITS)


def repeat_completions(verdicts: TrialVerdicts) -> int | None:
    """Times a subgoal that had passed, then failed, passes again: work done twice.

    Null when a subgoal was unknown between two passes, since it may have failed there.
    """
    courses: dict[str, list[bool | None]] = {}
    for row in sorted(verdicts.rows, key=lambda row: row.step):
        courses.setdefault(row.subgoal, []).append(row_passes(row))
    counts = [completions_after_failure(course) for course in courses.values()]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def completions_after_failure(course: Sequence[bool | None]) -> int | None:
    """How often one subgoal's verdicts go pass, fail, pass; null when an unknown hides it."""
    count, passed_before, since_pass = 0, False, set[bool | None]()
    for verdict in course:
        if verdict is not True:
            since_pass.add(verdict)
            continue
        if passed_before and False in since_pass:
            count += 1
        elif passed_before and None in since_pass:
            return None
        passed_before, since_pass = True, set()
    return count
