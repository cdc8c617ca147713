"""``seatrial estimate depth``: success against any declared difficulty of tasks."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import BY_OPTION, Asked, Outcome, Source
from seatrial.cli.estimate.trials import (
    Chosen,
    Measure,
    number_measure,
    only_tasks,
    outcome_measure,
    parts_by,
    task_values,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.records.trial import TrialRecord
from seatrial.report.tables import Cell

if TYPE_CHECKING:
    from seatrial.estimate.depth import FailureBucket


@flat
def depth(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    axis: Annotated[
        str,
        typer.Option(
            help="Declared difficulty of tasks: dependency_depth, verification_delay, human_minutes …"
        ),
    ] = "dependency_depth",
    edge: Annotated[
        list[float] | None,
        typer.Option(help="Inner edges of the buckets in which failures are counted; may be repeated."),
    ] = None,
    by: Annotated[str | None, BY_OPTION] = None,
) -> None:
    """S(h), success on tasks of at least each depth; h50, where it falls to one half; and how trials fail.

    Failures are told apart by how the trial stopped.
    """
    estimated(source, "depth", asked, lambda chosen: _answer(chosen, asked, outcome, (axis, by), edge or []))


def _answer(
    chosen: Chosen, asked: Asked, outcome: Outcome, what: tuple[str, str | None], edges: list[float]
) -> Answer:
    axis, by = what
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    declared = number_measure(chosen, axis, "axis")
    lines: list[Line] = []
    rows: list[dict[str, Any]] = []
    for cell in chosen.cells:
        depths = task_values(cell, axis, declared.read)
        kept, lost = only_tasks(cell, axis, depths)
        said += lost
        name = name_of(cell, chosen.cells)
        parts = [(name, kept)]
        if by is not None:
            parts += [(f"{name}, {stratum}", part) for stratum, part in parts_by(kept, by)]
        for label, part in parts:
            found, drawn = _lines(part, (measure, axis), depths, asked, edges, label)
            lines += found
            rows += drawn
    return Answer(
        title=f"{measure.name} against {axis}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name, "axis": axis},
        drawing=Drawing(look="lines", rows=rows, x=axis, y=f"S: {measure.name} at this {axis} or more"),
    )


def _lines(
    cell: Cell,
    what: tuple[Measure, str],
    depths: dict[str, float],
    asked: Asked,
    edges: list[float],
    name: str,
) -> tuple[list[Line], list[dict[str, Any]]]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.depth import depth_curve, failures_by_depth
    from seatrial.estimate.endings import DRAWS

    measure, axis = what
    curve = depth_curve(
        valid_by_task(cell, measure.read), depths, np.random.default_rng(asked.seed), asked.level,
        asked.draws or DRAWS,
    )  # fmt: skip
    counted = counts_of(cell, [measure.read(record) for record in cell.valid], True)
    classes = valid_by_task(cell, lambda record: _ending(record, measure))
    buckets = failures_by_depth(classes, depths, edges)
    lines = [
        Line(
            system=name,
            quantity=f"S({point.depth:g})",
            counts=SHARE,
            estimate=point.at_least,
            columns={
                "exactly there": _exactly(point.exactly.value),
                "of trials": str(point.exactly.n_trials),
            },
            facts={"depth": point.depth, "exactly": point.exactly},
        )
        for point in curve.points
    ]
    half = Line(
        system=name,
        quantity=f"h50 on {axis}",
        counts=axis,
        estimate=curve.h50,
        denominators=counted,
        facts={"draws": curve.draws, "draws_unreached": curve.draws_unreached,
               "draws_at_start": curve.draws_at_start, "failures": buckets},
        told=[_failures(axis, part) for part in buckets],
    )  # fmt: skip
    rows = [
        {"series": name, "x": point.depth, "y": point.at_least.value, "low": point.at_least.low,
         "high": point.at_least.high}
        for point in curve.points
    ]  # fmt: skip
    return [*lines, half], rows


def _failures(axis: str, part: "FailureBucket") -> str:
    """How trials failed in one bucket, in words."""
    causes = ", ".join(f"{count} {cause}" for cause, count in sorted(part.failures.items()))
    ends = [f"from {part.low:g}" if math.isfinite(part.low) else "", f"below {part.high:g}"]
    where = " ".join(word for word in (ends if math.isfinite(part.high) else ends[:1]) if word)
    counts = f"{part.n_failures} failures of {part.n_trials} trials, {part.n_unknown} unknown"
    return f"{axis} {where or 'of any size'}: {counts}" + (f"; {causes}" if causes else "")


def _exactly(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def _ending(record: TrialRecord, measure: Measure) -> str | None:
    """How a trial came out: success, unknown, or the way it stopped."""
    outcome = measure.read(record)
    if outcome is None:
        return None
    if outcome:
        return "success"
    if record.hard_violations:
        return "hard violation"
    return "cut off by a limit" if record.censored else record.stop_reason or "way of stopping not said"
