"""``seatrial estimate rate``: a success rate, or a mean, by every interval that suits it."""

from typing import Annotated, Any

import typer

from seatrial.cli.estimate_answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate_giving import estimated
from seatrial.cli.estimate_options import Asked, Source
from seatrial.cli.estimate_trials import (
    SUCCESS,
    Chosen,
    Measure,
    find_measure,
    threshold,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import Cell

# Partial thresholds that a score is always shown at, beside its mean (E14).
THRESHOLDS = (0.95, 1.0)


@flat
def rate(
    source: Source,
    asked: Asked,
    measure: Annotated[
        str, typer.Option(help="success, or any yes-or-no or numeric column of the records.")
    ] = SUCCESS,
    at_least: Annotated[
        list[float] | None,
        typer.Option(help="Also how often a numeric measure reaches this; may be repeated. Scores are always "
                     "shown at 0.95 and 1.0."),
    ] = None,
) -> None:  # fmt: skip
    """Success rate of each system over tasks, or the mean of a numeric measure.

    The first interval of a rate is the default one (Wilson on the effective number of trials); t over tasks
    and two bootstraps stand beside it. Unknown outcomes bound the rate both ways.
    """
    estimated(source, "rate", asked, lambda chosen: _answer(chosen, asked, measure, at_least or []))


def _answer(chosen: Chosen, asked: Asked, name: str, at_least: list[float]) -> Answer:
    found, said = find_measure(chosen, name)
    if found.yes_no and at_least:
        raise UsageError(f"{name} is yes or no. Leave out --at-least, or choose a number such as score.")
    wanted = list(dict.fromkeys([*at_least, *(THRESHOLDS if name in ("score", "partial_progress") else ())]))
    measures = [found, *(threshold(found, edge) for edge in sorted(wanted))]
    lines = [
        line
        for cell in chosen.cells
        for one in measures
        for line in _lines(cell, one, asked, name_of(cell, chosen.cells))
    ]
    title = f"Rate of {found.name}" if found.yes_no else f"Mean {found.name} over tasks"
    return Answer(title=title, lines=lines, limits=said, settings={"measure": found.name})


def _lines(cell: Cell, measure: Measure, asked: Asked, name: str) -> list[Line]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.intervals import rate_intervals
    from seatrial.estimate.means import mean_over_tasks

    values: dict[str, list[Any]] = valid_by_task(cell, measure.read)
    counted = counts_of(cell, (measure.read(record) for record in cell.valid), measure.yes_no)
    if not measure.yes_no:
        limits = (0.0, 1.0) if measure.counts == "progress" else (-np.inf, np.inf)
        mean = mean_over_tasks(values, measure.counts, asked.level, limits)
        return [
            Line(system=name, quantity=f"mean {measure.name}", counts=measure.counts, estimate=mean,
                 denominators=counted)
        ]  # fmt: skip
    rng = np.random.default_rng(asked.seed)
    first, *beside = rate_intervals(values, rng, asked.level, asked.draws or DRAWS)
    return [
        Line(system=name, quantity=measure.name, counts=SHARE, estimate=first, beside=beside,
             denominators=counted)
    ]  # fmt: skip
