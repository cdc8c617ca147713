"""Two systems along an axis: time to success, and what kind of difference they show against difficulty."""

from seatrial.cli.compare.sides import Sides
from seatrial.cli.estimate.answer import POINTS, Line
from seatrial.cli.estimate.options import Asked
from seatrial.cli.estimate.survival import between, longest, watch
from seatrial.cli.estimate.trials import Measure, number_measure, task_values, valid_by_task
from seatrial.errors import UsageError
from seatrial.records.trial import TrialRecord


def against_axis(sides: Sides, asked: Asked, measure: Measure, axis: str) -> list[Line]:
    """Success at equal budgets, the difference of restricted means, and the log-rank test.

    Raises:
        UsageError: the axis is unknown for one of the two.
    """
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.endings import DRAWS
    from seatrial.estimate.logrank import log_rank
    from seatrial.estimate.rmst import restricted_mean_difference

    spent = number_measure(sides.chosen, axis, "axis")
    a, b = watch(sides.a, measure, spent), watch(sides.b, measure, spent)
    for cell, one in ((sides.a, a), (sides.b, b)):
        if not one.worst:
            raise UsageError(
                f"{sides.chosen.source}: no trial of {cell.system} has {axis}. Choose another --axis."
            )
    until = min(longest(a), longest(b))
    unknown = a.unknown + b.unknown
    ways = [(left, right) for left in a.ways for right in b.ways]
    # The estimator gives the second less the first.
    means = [
        restricted_mean_difference(
            right, left, until, np.random.default_rng(asked.seed), asked.level, asked.draws or DRAWS
        ).estimate
        for left, right in ways
    ]
    tests = [log_rank(left, right) for left, right in ways]
    told = [
        f"log-rank of success along {axis}: p = {_span([test.p_tasks for test in tests])} over tasks "
        f"({_span([test.p_trials for test in tests])} if trials were independent)"
    ]
    unplaced = a.unplaced + b.unplaced
    if unplaced:
        told.append(f"{unplaced} valid trials have no {axis} and are in none of these.")
    return [
        Line(
            system=f"{sides.a.system} − {sides.b.system}",
            quantity=f"difference in mean {axis} until any end, up to {until:.4g} {spent.counts}",
            counts=spent.counts,
            estimate=between(means, unknown),
            facts={"log_rank": tests, "until": until, "unplaced": unplaced},
            told=told,
        )
    ]


def within_budget(sides: Sides, measure: Measure, given: str) -> Measure:
    """Success within one budget for both systems, so that they are compared at equal resources (F16).

    A trial that a limit cut off before the budget was spent is unknown: it might still have succeeded.

    Raises:
        UsageError: not written as AXIS=B, no such axis, or the measure is a number.
    """
    name, _, number = given.partition("=")
    try:
        budget = float(number)
    except ValueError:
        budget = -1.0
    if not 0 < budget < float("inf"):
        raise UsageError(
            f"--within {given!r} names no budget. Write it as AXIS=B, such as elapsed_seconds=600."
        )
    if not measure.yes_no:
        raise UsageError(
            f"--within takes an outcome, and {measure.name} is a number. Say --at-least as well."
        )
    spent = number_measure(sides.chosen, name, "axis")

    def read(record: TrialRecord) -> bool | None:
        at, outcome = spent.read(record), measure.read(record)
        if at is None:
            return False if outcome is False and record.censored is False else None
        if at > budget:
            return False
        return outcome if outcome is not False or record.censored is False else None

    return Measure(name=f"{measure.name} within {budget:g} {name}", yes_no=True, read=read, counts="share")


def _span(values: list[float | None]) -> str:
    """The p values by every way unknown trials may be read, or "none" where a way has none."""
    told = [value for value in values if value is not None]
    if len(told) < len(values):
        return "none"
    least, most = f"{min(told):.3g}", f"{max(told):.3g}"
    return least if least == most else f"{least} to {most}"


def against_depth(sides: Sides, asked: Asked, measure: Measure, axis: str) -> Line:
    """Whether the second system differs from the first alike at every depth, or breaks further out.

    Raises:
        UsageError: a task has no value of the axis.
    """
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.breaks import DRAWS, compare_breaks

    declared = number_measure(sides.chosen, axis, "axis")
    depths = {**task_values(sides.a, axis, declared.read), **task_values(sides.b, axis, declared.read)}
    lost = sorted({record.task for record in sides.a.records} - set(depths))
    if lost:
        raise UsageError(f"{sides.chosen.source}: {lost[0]} has no {axis}. Choose another --depth.")
    left, right = (valid_by_task(cell, measure.read) for cell in (sides.a, sides.b))
    found = compare_breaks(
        right, left, depths, np.random.default_rng(asked.seed), asked.level, asked.draws or DRAWS
    )
    return Line(
        system=f"{sides.a.system} − {sides.b.system}",
        quantity=f"difference in {measure.name} against {axis}",
        counts=POINTS,
        estimate=found.difference,
        facts={name: getattr(found, name) for name in found.__struct_fields__ if name != "difference"},
        told=[f"against {axis}: {found.finding}"],
    )
