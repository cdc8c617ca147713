"""``seatrial estimate passk``: one success among k attempts, k in a row, and the attempt a selector picks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Counted, Line, counts_of, name_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source
from seatrial.cli.estimate.trials import (
    Chosen,
    Measure,
    find_measure,
    number_measure,
    outcome_measure,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import Cell
from seatrial.spec.faults import choose, ended, shown

if TYPE_CHECKING:
    from seatrial.estimate.passk import Kind, PassK

MOST_K = 10


@dataclass(frozen=True)
class Tries:
    """What is asked of repeated attempts; each field is an option."""

    k: Annotated[
        list[int] | None,
        typer.Option("--k", help="Attempts; may be repeated. 1 to as many as every task has, 10 at most."),
    ] = None
    select: Annotated[
        str | None, typer.Option(help="Also select@k: the attempt with the highest value of this is taken.")
    ] = None
    cost: Annotated[
        str | None, typer.Option(help="Also what k attempts cost: money, actions, output_tokens …")
    ] = None
    by_task: Annotated[bool, typer.Option("--by-task", help="Also every task's own values.")] = False
    side_effects: Annotated[
        list[str] | None,
        typer.Option(metavar="TASK", help="Task whose attempts act on the world outside; left out of "
                     "pass@k and select@k beyond 1. May be repeated."),
    ] = None  # fmt: skip


@flat
def passk(source: Source, asked: Asked, outcome: Outcome, tries: Tries) -> None:
    """pass@k (one of k attempts succeeds) and pass^k (all k do), over tasks; unbiased, without replacement.

    Trials of one task are taken as attempts at it; those that ended for reasons of infrastructure are none.
    """
    estimated(source, "passk", asked, lambda chosen: _answer(chosen, asked, outcome, tries))


def _answer(chosen: Chosen, asked: Asked, outcome: Outcome, tries: Tries) -> Answer:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    tasks = {record.task for record in chosen.records}
    for task in tries.side_effects or ():
        if task not in tasks:
            raise UsageError(
                f"{chosen.source}: there is no task {shown(task)}. {ended(choose(task, tasks, 'a task'))}"
            )
    lines: list[Line] = []
    rows: list[dict[str, Any]] = []
    for cell in chosen.cells:
        name = name_of(cell, chosen.cells)
        counted = counts_of(cell, [measure.read(record) for record in cell.valid], True)
        fewest = min(map(len, _tried(valid_by_task(cell, measure.read)).values()), default=0)
        wanted = tries.k or list(range(1, min(fewest, MOST_K) + 1))
        if not wanted:
            raise UsageError(
                f"{chosen.source}: {name} has no valid trial. Choose other systems with --system."
            )
        for found in _all(chosen, cell, asked, measure, tries, wanted):
            lines.append(_line(name, found, counted, tries.by_task))
            rows.append({"series": f"{name}: {found.kind}", "x": found.k, "y": found.estimate.value,
                         "low": found.estimate.low, "high": found.estimate.high})  # fmt: skip
    if tries.select is not None:
        said.append("How much the candidates differ is unknown: rows do not hold what an attempt produced.")
    drawn = Drawing(look="lines", rows=rows, x="k attempts", y="share of tasks")
    return Answer(
        title=f"pass@k and pass^k by {measure.name}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name, "select": tries.select, "cost": tries.cost},
        drawing=drawn,
    )


def _tried(by_task: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {task: trials for task, trials in by_task.items() if trials}


def _all(
    chosen: Chosen, cell: Cell, asked: Asked, measure: Measure, tries: Tries, ks: list[int]
) -> "list[PassK]":
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.passk import Attempts, pass_k

    outcomes = _tried(valid_by_task(cell, measure.read))
    costs = scores = None
    if tries.cost is not None:
        costs = _tried(valid_by_task(cell, number_measure(chosen, tries.cost, "cost").read))
    if tries.select is not None:
        scores = _tried(valid_by_task(cell, find_measure(chosen, tries.select)[0].read))
    kinds: list[Kind] = ["pass@k", "pass^k"]
    if tries.select is not None:
        kinds.append("select@k")
    return [
        pass_k(
            outcomes, k, np.random.default_rng(asked.seed), kind, scores if kind == "select@k" else None,
            Attempts(costs=costs, side_effects=tries.side_effects or ()), asked.level, asked.draws or DRAWS,
        )
        for kind in kinds
        for k in ks
    ]  # fmt: skip


def _line(name: str, found: "PassK", counted: Counted, by_task: bool) -> Line:
    told = []
    if by_task:
        values = ", ".join(
            f"{task} {'unknown' if value is None else format(value, '.4g')}"
            for task, value in found.tasks.items()
        )
        told.append(f"{found.kind[:-1]}{found.k} by task: {values}")
    columns = {"attempts": str(found.attempts)}
    if found.spend is not None:
        columns["cost of k"] = "unknown" if found.spend.value is None else f"{found.spend.value:.4g}"
    kind = found.kind[:-1] + str(found.k)
    return Line(
        system=name,
        quantity=kind,
        counts=SHARE,
        estimate=found.estimate,
        beside=[found.bootstrap],
        denominators=counted,
        columns=columns,
        facts={"k": found.k, "kind": found.kind, "tasks": found.tasks, "attempts": found.attempts,
               "spend": found.spend, "distinct": found.distinct},
        told=told,
    )  # fmt: skip
