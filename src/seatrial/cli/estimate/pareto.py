"""``seatrial estimate pareto`` and ``utility``: success against cost, as a frontier or at declared worths."""

from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.cost import COST_OPTION
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source
from seatrial.cli.estimate.trials import (
    Chosen,
    by_task,
    comparable,
    number_measure,
    outcome_measure,
    valid_by_task,
    words_on_money,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import RATES

if TYPE_CHECKING:
    from seatrial.estimate.pareto import ParetoPoint


@flat
def pareto(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    cost: Annotated[str, COST_OPTION] = "money",
    gate: Annotated[
        float | None,
        typer.Option(help="Highest allowed rate of trials with a hard violation; systems above it are out."),
    ] = None,
) -> None:
    """Which systems no other beats on success and cost at once, and how sure that is, on paired tasks.

    Violations are a third axis where every system has them, and with --gate a gate before the others.
    """
    estimated(source, "pareto", asked, lambda chosen: frontier(chosen, asked, outcome, cost, gate))


def frontier(chosen: Chosen, asked: Asked, outcome: Outcome, cost: str, gate: float | None) -> Answer:
    """The frontier of the chosen systems.

    Raises:
        SpecError: versions or protocols differ.
        UsageError: a measure is not there, or the systems ran on different tasks.
    """
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.pareto import Candidate
    from seatrial.estimate.pareto import pareto as pareto_points

    chosen = comparable(chosen, asked.allow_mixed)
    refuse_other_tasks(chosen)
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    paid = number_measure(chosen, cost, "cost")
    said += words_on_money(chosen, paid)
    violated = RATES["any_hard_violation"]
    watched = all(any(violated(r) is not None for r in cell.records) for cell in chosen.cells)
    if gate is not None and not watched:
        raise UsageError(
            f"{chosen.source}: not every system has hard_violations, so no gate can be set on them."
        )
    systems = {
        name_of(cell, chosen.cells): Candidate(
            outcomes=valid_by_task(cell, measure.read),
            costs=by_task(cell.every, paid.read),
            violations=valid_by_task(cell, violated) if watched else None,
        )
        for cell in chosen.cells
    }
    points = pareto_points(
        systems, np.random.default_rng(asked.seed), gate, asked.level, asked.draws or DRAWS
    )
    counted = {
        name_of(cell, chosen.cells): counts_of(cell, [measure.read(r) for r in cell.valid], True)
        for cell in chosen.cells
    }
    lines = [
        line
        for point in points
        for line in (
            Line(system=point.system, quantity=measure.name, counts=SHARE, estimate=point.success,
                 denominators=counted[point.system], columns=_columns(point), facts=_facts(point),
                 told=point.notes),
            Line(system=point.system, quantity=f"{cost} per valid trial", counts=paid.counts,
                 estimate=point.cost),
        )
    ]  # fmt: skip
    rows = [
        {"series": point.system, "x": point.cost.value, "y": point.success.value, "low": point.success.low,
         "high": point.success.high}
        for point in points
    ]  # fmt: skip
    return Answer(
        title=f"Frontier of {measure.name} and {cost}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name, "cost": cost, "gate": gate},
        drawing=Drawing(look="points", rows=rows, x=f"{cost} per valid trial", y=measure.name),
    )


def _columns(point: "ParetoPoint") -> dict[str, str]:
    sure = "unknown" if point.frontier_probability is None else f"{100 * point.frontier_probability:.0f} %"
    told = {"frontier": _yes(point.on_frontier), "in draws": sure}
    if point.passes_gate is not None:
        told["gate"] = _yes(point.passes_gate)
    return {**told, "dominated by": ", ".join(point.dominated_by) or "none"}


def _facts(point: "ParetoPoint") -> dict[str, object]:
    return {
        "on_frontier": point.on_frontier, "frontier_probability": point.frontier_probability,
        "passes_gate": point.passes_gate, "gate_probability": point.gate_probability,
        "dominates": point.dominates, "dominated_by": point.dominated_by, "violations": point.violations,
    }  # fmt: skip


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def refuse_other_tasks(chosen: Chosen) -> None:
    """Systems beside each other must have run on the same tasks.

    Raises:
        UsageError: they did not.
    """
    sets = {name_of(cell, chosen.cells): {r.task for r in cell.records} for cell in chosen.cells}
    every = set.union(*sets.values())
    for name, tasks in sets.items():
        if lost := sorted(every - tasks):
            raise UsageError(
                f"{chosen.source}: {name} has no trial of {lost[0]}"
                + (f" and {len(lost) - 1} more tasks" if len(lost) > 1 else "")
                + " that others have. Say --common-tasks, or choose systems with --system."
            )


@flat
def utility(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    worth: Annotated[
        list[str],
        typer.Option(metavar="RESOURCE=N[,N…]", help="Successes that one unit of a resource is worth, such "
                     "as money=0.1; several numbers are all tried. May be repeated."),
    ],
) -> None:  # fmt: skip
    """Success less what was used, at declared worths; and how the ranking hangs on them.

    The first number of every --worth is the declared one, whose utility is estimated; the map ranks the
    systems under all combinations.
    """
    estimated(source, "utility", asked, lambda chosen: _utility(chosen, asked, outcome, worth))


def _utility(chosen: Chosen, asked: Asked, outcome: Outcome, worth: list[str]) -> Answer:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.utility import SystemMeans, utility_estimate, utility_map

    chosen = comparable(chosen, asked.allow_mixed)
    refuse_other_tasks(chosen)
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    grid = dict(_worth(one) for one in worth)
    used = {name: number_measure(chosen, name, "cost") for name in grid}
    systems = {
        name_of(cell, chosen.cells): SystemMeans(
            success=valid_by_task(cell, measure.read),
            amounts={name: valid_by_task(cell, one.read) for name, one in used.items()},
        )
        for cell in chosen.cells
    }
    first = {name: numbers[0] for name, numbers in grid.items()}
    found = utility_map(systems, grid, np.random.default_rng(asked.seed), asked.draws or DRAWS)
    lines = [
        Line(
            system=name,
            quantity="utility in successes",
            counts="successes",
            estimate=utility_estimate(systems[name], first, asked.level),
            denominators=counts_of(cell, [measure.read(r) for r in cell.valid], True),
            columns={"first in cells": f"{100 * found.first_share[name]:.0f} %",
                     "first in draws": f"{100 * found.cells[0].first_probability[name]:.0f} %"},
            facts={"first_share": found.first_share[name], "coefficients": first},
        )
        for cell in chosen.cells
        for name in [name_of(cell, chosen.cells)]
    ]  # fmt: skip
    stable = "One system comes first in every cell." if found.stable else "The ranking hangs on the worths."
    cells = [
        f"at {', '.join(f'{name} {value:g}' for name, value in cell.coefficients.items())}: "
        + ", ".join(f"{name} {cell.utilities[name]:.4g}" for name in cell.ranking)
        for cell in found.cells
    ]
    return Answer(
        title=f"Utility of {measure.name} less {' and '.join(grid)}",
        lines=lines,
        limits=[*said, f"The worths are declared, not measured. {stable}", *cells],
        settings={"measure": measure.name, "grid": grid, "map": found},
    )


def _worth(given: str) -> tuple[str, list[float]]:
    name, equals, numbers = given.partition("=")
    try:
        found = [float(part) for part in numbers.split(",")]
    except ValueError:
        found = []
    if not name or not equals or not found:
        raise UsageError(f"--worth {given!r} names no worth. Write it as RESOURCE=N, such as money=0.1.")
    return name, found
