"""``seatrial estimate rate``: a success rate, or a mean, by every interval that suits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from seatrial.cli.estimate.answer import Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import BY_OPTION, Asked, Source
from seatrial.cli.estimate.trials import (
    SUCCESS,
    Chosen,
    Measure,
    by_themselves,
    find_measure,
    parts_by,
    threshold,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import WHOLE, Cell

# Partial thresholds that a score is always shown at, beside its mean (E14).
THRESHOLDS = (0.95, 1.0)


@dataclass(frozen=True)
class Wanted:
    """Which measure, and what is shown of it; each field is an option."""

    measure: Annotated[
        str, typer.Option(help="success, or any yes-or-no or numeric column of the records.")
    ] = SUCCESS
    at_least: Annotated[
        list[float] | None,
        typer.Option(help="Also how often a numeric measure reaches this; may be repeated. Scores are always "
                     "shown at 0.95 and 1.0."),
    ] = None  # fmt: skip
    by: Annotated[str | None, BY_OPTION] = None
    population: Annotated[
        list[str] | None,
        typer.Option(metavar="STRATUM=SHARE", help="Also macro, micro, and population-weighted means; strata "
                     "are task families. May be repeated."),
    ] = None  # fmt: skip


@flat
def rate(source: Source, asked: Asked, wanted: Wanted) -> None:
    """Success rate of each system over tasks, or the mean of a numeric measure.

    The first interval of a rate is the default one (Wilson on the effective number of trials); t over tasks
    and two bootstraps stand beside it. Unknown outcomes are taken in every way they may have come out.
    """
    estimated(source, "rate", asked, lambda chosen: _answer(chosen, asked, wanted))


def _answer(chosen: Chosen, asked: Asked, wanted: Wanted) -> Answer:
    found, said = find_measure(chosen, wanted.measure)
    edges = wanted.at_least or []
    if found.yes_no and edges:
        raise UsageError(
            f"{wanted.measure} is yes or no. Leave out --at-least, or choose a number such as score."
        )
    edges = sorted({*edges, *(THRESHOLDS if wanted.measure in ("score", "partial_progress") else ())})
    measures = [found, *(threshold(found, edge) for edge in edges)]
    lines = [
        _line(part, one, asked, name_of(cell, chosen.cells), stratum)
        for cell in chosen.cells
        for stratum, part in [(WHOLE, cell), *(parts_by(cell, wanted.by) if wanted.by else [])]
        for one in measures
    ]
    if wanted.population is not None:
        weights = dict(_share(one) for one in wanted.population)
        lines += [line for cell in chosen.cells for line in _means(cell, found, weights, asked, chosen.cells)]
    if found.yes_no:
        said += _flags(chosen, found, asked)
    title = f"Rate of {found.name}" if found.yes_no else f"Mean {found.name} over tasks"
    return Answer(title=title, lines=lines, limits=said, settings={"measure": found.name})


def _line(cell: Cell, measure: Measure, asked: Asked, name: str, stratum: str) -> Line:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.intervals import rate_intervals
    from seatrial.estimate.means import mean_over_tasks

    values: dict[str, list[Any]] = valid_by_task(cell, measure.read)
    where = "" if stratum == WHOLE else f", {stratum}"
    if measure.yes_no:
        rng = np.random.default_rng(asked.seed)
        quantity = measure.name
        first, *beside = rate_intervals(values, rng, asked.level, asked.draws or DRAWS)
    else:
        quantity, beside = f"mean {measure.name}", []
        first = mean_over_tasks(values, measure.counts, asked.level, measure.limits)
    return Line(
        system=name,
        quantity=quantity + where,
        counts=measure.counts,
        estimate=first,
        beside=beside,
        denominators=counts_of(cell, [measure.read(record) for record in cell.valid], measure.yes_no),
        facts={"stratum": stratum},
    )


def _flags(chosen: Chosen, measure: Measure, asked: Asked) -> list[str]:
    """Systems at the ceiling or floor, and tasks that tell no systems apart (F24)."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.saturation import saturation

    chosen = by_themselves(chosen)
    names = [name_of(cell, chosen.cells) for cell in chosen.cells]
    outcomes = [valid_by_task(cell, measure.read) for cell in chosen.cells]
    found = saturation(dict(zip(names, outcomes, strict=True)), level=asked.level)
    said = [
        f"{name} is {one.flag}, against a floor of {found.floor:g} and a ceiling of {found.ceiling:g}."
        for name, one in found.systems.items()
        if one.flag not in ("in range", "unknown")
    ]
    if found.telling is None:
        return said
    alike = f"{len(found.always)} tasks every trial solved and {len(found.never)} none did"
    if len(names) == 1:
        # What one system alone always or never solves may tell it from another one.
        return [
            *said,
            f"{alike}; more trials, or another system, would show whether those tell systems apart.",
        ]
    said.append(f"{alike}; the other {100 * found.telling:.0f} % of judged tasks can tell systems apart.")
    return said


def _means(
    cell: Cell, measure: Measure, weights: dict[str, float], asked: Asked, every: Sequence[Cell]
) -> list[Line]:
    """The mean with every task alike, every trial alike, and strata as the population weighs them."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.weighting import three_means

    values = valid_by_task(cell, measure.read)
    families = {record.task: record.family or "family unknown" for record in cell.records}
    found = three_means(values, families, weights, asked.level, measure.limits)
    assert found.population is not None, "asked for"
    named = {"macro mean": found.macro, "micro mean": found.micro, "population mean": found.population}
    return [
        Line(
            system=name_of(cell, every),
            quantity=f"{word} of {measure.name}",
            counts=measure.counts,
            estimate=one,
        )
        for word, one in named.items()
    ]


def _share(given: str) -> tuple[str, float]:
    name, equals, number = given.rpartition("=")
    try:
        return name, float(number) if name and equals else float("none")
    except ValueError:
        raise UsageError(f"--population {given!r} names no share. Write it as STRATUM=SHARE.") from None
