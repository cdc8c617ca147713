"""``seatrial estimate mixed``, ``missing`` and ``drift``: a model of systems, lost trials, learnt anchors."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from seatrial.cli.estimate.answer import POINTS, SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source
from seatrial.cli.estimate.text import number_words
from seatrial.cli.estimate.trials import (
    Chosen,
    Measure,
    by_themselves,
    choose_trials,
    comparable,
    number_measure,
    outcome_measure,
    task_values,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import Cell


@flat
def mixed(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    reference: Annotated[
        str | None, typer.Option(help="System that others are set against; the first by name if left out.")
    ] = None,
) -> None:
    """Mixed logistic model: systems as fixed effects, tasks as random ones; labelled a model."""
    estimated(source, "mixed", asked, lambda chosen: _mixed(chosen, asked, outcome, reference))


def _mixed(chosen: Chosen, asked: Asked, outcome: Outcome, reference: str | None) -> Answer:
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.mixed import mixed_logistic

    chosen = comparable(chosen, asked.allow_mixed)
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    systems, lost = {}, 0
    for cell in chosen.cells:
        by_task = valid_by_task(cell, measure.read)
        lost += sum(value is None for trials in by_task.values() for value in trials)
        known = {task: [v for v in trials if v is not None] for task, trials in by_task.items()}
        systems[name_of(cell, chosen.cells)] = {task: trials for task, trials in known.items() if trials}
    if lost:
        said.append(f"{lost} valid trials of unknown outcome are left out: the model takes known ones only.")
    found = mixed_logistic(systems, reference, asked.level)
    counted = {
        name_of(cell, chosen.cells): counts_of(cell, [measure.read(r) for r in cell.valid], True)
        for cell in chosen.cells
    }
    lines = [
        Line(
            system=name,
            quantity=f"log-odds against {found.reference}",
            counts="logits",
            estimate=estimate,
            denominators=counted[name],
            columns={"rate on a task of the population": number_words(found.rates.get(name), SHARE)},
        )
        for name, estimate in found.effects.items()
    ]
    said.append(f"Tasks spread by {found.deviation:.3g} in log-odds; intraclass correlation {found.icc:.3g}.")
    settings = {
        "measure": measure.name, "reference": found.reference, "deviation": found.deviation, "icc": found.icc,
        "log_likelihood": found.log_likelihood, "rates": found.rates,
    }  # fmt: skip
    return Answer(
        title=f"Mixed logistic model of {measure.name}",
        lines=lines,
        limits=[*said, *found.notes],
        settings=settings,
    )


@flat
def missing(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    limit: Annotated[
        float,
        typer.Option(help="Preregistered highest share of lost trials; above it the headline is void."),
    ],
    axis: Annotated[
        str | None, typer.Option(help="Declared difficulty of tasks; the failure rate if left out.")
    ] = None,
) -> None:
    """Trials lost to the infrastructure: how many, whether hard tasks lose more, what it does to the rate."""
    estimated(source, "missing", asked, lambda chosen: _missing(chosen, asked, outcome, limit, axis))


def _missing(chosen: Chosen, asked: Asked, outcome: Outcome, limit: float, axis: str | None) -> Answer:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    lines = [
        line
        for cell in chosen.cells
        for line in _lost(
            cell,
            asked,
            measure,
            limit,
            task_values(cell, axis, number_measure(chosen, axis, "axis").read) if axis else None,
            name_of(cell, chosen.cells),
        )
    ]
    return Answer(
        title=f"Trials lost to the infrastructure, and {measure.name}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name, "limit": limit, "axis": axis},
    )


def _lost(
    cell: Cell,
    asked: Asked,
    measure: Measure,
    limit: float,
    difficulty: dict[str, float] | None,
    name: str,
) -> list[Line]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.missing import missingness

    outcomes = valid_by_task(cell, measure.read)
    lost = dict.fromkeys(outcomes, 0)
    for record in cell.records:
        lost[record.task] += record.terminal_class == "infrastructure"
    found = missingness(
        outcomes, lost, limit, np.random.default_rng(asked.seed), difficulty=difficulty, level=asked.level,
        draws=asked.draws or DRAWS,
    )  # fmt: skip
    related = found.related
    told = [f"lost trials against difficulty ({related.by}): no relation can be tested"]
    if related.correlation is not None:
        told = [
            f"lost trials against difficulty ({related.by}): Spearman {related.correlation:.3g}, "
            f"p = {number_words(related.p)}"
        ]
    if found.void:
        told.append(f"the headline is void: more than {100 * limit:g} % of trials were lost")
    if found.bounds is not None:
        low, high = (number_words(end, SHARE) for end in found.bounds)
        told.append(f"had all lost trials failed or succeeded, the rate over tasks: {low} to {high}")
    counted = counts_of(cell, [measure.read(record) for record in cell.valid], True)
    parts = {
        "lost trials": found.invalid,
        f"{measure.name} on valid trials": found.headline,
        f"{measure.name}, weighted for the lost": found.weighted,
    }
    return [
        Line(
            system=name,
            quantity=quantity,
            counts=SHARE,
            estimate=estimate,
            denominators=counted,
            facts={"void": found.void, "bounds": found.bounds, "related": related} if n == 0 else {},
            told=told if n == 0 else [],
        )
        for n, (quantity, estimate) in enumerate(parts.items())
    ]


@flat
def drift(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    then: Annotated[
        Path,
        typer.Option(metavar="RUN|RECORDS", help="The earlier generation. Tasks in both are anchors, "
                     "tasks only in the later one are fresh."),
    ],
    then_system: Annotated[
        str | None, typer.Option(help="System of the earlier one; the same as now if left out.")
    ] = None,
    expected_gap: Annotated[
        float,
        typer.Option(help="Success on fresh tasks less success on anchors to be expected without exposure."),
    ] = 0.0,
) -> None:  # fmt: skip
    """Have anchor tasks been learnt? Their change over time, beside tasks that nobody has seen."""
    estimated(
        source,
        "drift",
        asked,
        lambda chosen: _drift(chosen, asked, outcome, (then, then_system), expected_gap),
    )


def _drift(
    chosen: Chosen, asked: Asked, outcome: Outcome, earlier: tuple[Path, str | None], expected_gap: float
) -> Answer:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.drift import anchor_drift

    chosen = by_themselves(chosen)
    if len(chosen.cells) != 1:
        names = ", ".join(name_of(cell, chosen.cells) for cell in chosen.cells)
        raise UsageError(f"{chosen.source}: holds {names}. Name one with --system.")
    now = chosen.cells[0]
    before = choose_trials(earlier[0], replace(asked, system=[earlier[1] or now.system]))
    if len(before.cells) != 1:
        raise UsageError(f"{earlier[0]}: holds {len(before.cells)} arms of it. Name one with --arm.")
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    old, new = (valid_by_task(cell, measure.read) for cell in (before.cells[0], now))
    anchors, fresh = sorted(set(old) & set(new)), sorted(set(new) - set(old))
    if not anchors or not fresh:
        raise UsageError(
            f"{chosen.source}: {len(anchors)} anchors and {len(fresh)} fresh tasks against {earlier[0]}. "
            "Drift takes some of each."
        )
    found = anchor_drift(
        {task: old[task] for task in anchors}, {task: new[task] for task in anchors},
        {task: new[task] for task in fresh}, np.random.default_rng(asked.seed), expected_gap, asked.level,
    )  # fmt: skip
    lost = len(set(old) - set(new))
    if lost:
        said.append(f"{lost} tasks of {earlier[0]} were not run again and are left out.")
    counted = counts_of(now, [measure.read(record) for record in now.valid], True)
    return Answer(
        title=f"Drift of {len(anchors)} anchors by {measure.name}",
        lines=[
            Line(system=now.system, quantity="anchors now − then", counts=POINTS,
                 estimate=found.drift.difference, denominators=counted,
                 facts={"drift": found.drift, "reading": found.reading},
                 told=[found.reading, *found.notes]),
            Line(system=now.system, quantity="fresh − anchors now", counts=POINTS, estimate=found.fresh_drop),
        ],
        limits=[*before.limits, *said],
        settings={"measure": measure.name, "then": str(earlier[0]), "expected_gap": expected_gap},
    )  # fmt: skip
