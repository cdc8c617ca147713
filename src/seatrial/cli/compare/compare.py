"""``seatrial compare``: two systems on the same tasks, and whether they can be told apart."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.compare.axes import against_axis, against_depth, within_budget
from seatrial.cli.compare.sides import Sides, choose_sides
from seatrial.cli.estimate.answer import POINTS, Answer, Line, counts_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import computed, delivered, origin_of
from seatrial.cli.estimate.options import LEVEL, Asked, Outcome
from seatrial.cli.estimate.pareto import frontier
from seatrial.cli.estimate.trials import (
    MONEY,
    SUCCESS,
    Measure,
    cells_of,
    find_measure,
    measures_with_values,
    outcome_measure,
    restricted,
    valid_by_task,
    was_priced,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.comparisons import PROCESS, Plan, declared_pairs, in_words, name_lost_tasks
from seatrial.report.tables import HELP, WHOLE, Cell, cells

if TYPE_CHECKING:
    from seatrial.estimate.paired import PairedDifference


@dataclass(frozen=True)
class Against:
    """What is compared; each field is an option."""

    a: Annotated[str | None, typer.Option(help="First system; may be left out where there are just two.")] = (
        None
    )
    b: Annotated[str | None, typer.Option(help="Second system; differences are first less second.")] = None
    measure: Annotated[
        list[str] | None,
        typer.Option(help="success, or any yes-or-no or numeric column; the first one decides, further "
                     "ones are exploratory. May be repeated."),
    ] = None  # fmt: skip
    at_least: Annotated[
        float | None, typer.Option(help="A numeric first measure of at least this counts as success.")
    ] = None
    cost: Annotated[
        str | None,
        typer.Option(help="Cost of the frontier; money where both have it and some was priced, else none."),
    ] = None
    axis: Annotated[
        str | None, typer.Option(help="Also time to success on this axis, such as elapsed_seconds.")
    ] = None
    within: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=B", help="Also success within one budget for both, such as "
                     "elapsed_seconds=600 or output_tokens=50000. May be repeated."),
    ] = None  # fmt: skip
    depth: Annotated[
        str | None,
        typer.Option(help="Also: a uniform gain, or a break further out, against this difficulty?"),
    ] = None
    scatter: Annotated[
        bool,
        typer.Option("--scatter", help="--plot draws every task by the means of both, ties on the "
                     "diagonal, in place of the differences."),
    ] = False  # fmt: skip


@flat
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…", help="One run or table that holds both, or several that hold one each."
        ),
    ],
    asked: Asked,
    against: Against,
) -> None:
    """Compare two systems task by task: difference, interval, test, wins and losses, frontier, strata.

    With one yes-or-no trial of each per task by McNemar's test and Newcombe's interval, else by t on task
    differences, with random signs as a check. It says "can be told apart" or "cannot be told apart yet"; the
    latter is not "alike". Runs of different versions or protocols, or with other seeds, are refused.
    """
    asked.check()
    if against.scatter and asked.plot is None:
        raise UsageError("--scatter says what --plot draws. Give --plot FILE as well.")
    sides = choose_sides(runs, (against.a, against.b), asked)
    asked = _at_declared_level(sides, asked, against)
    answer = computed(sides.chosen.source, "difference", lambda: _answer(sides, asked, against))
    delivered(answer, "comparison", origin_of(sides.chosen), asked)


def _answer(sides: Sides, asked: Asked, against: Against) -> Answer:
    first, *further = against.measure or [SUCCESS]
    measure, said = find_measure(sides.chosen, first)
    if against.at_least is not None:
        measure, said = outcome_measure(sides.chosen, first, against.at_least)
    pair = (sides.a, sides.b)
    names = (sides.a.system, sides.b.system)
    found = _difference(pair, measure, asked)
    lines = _each(sides, asked, against, measure)
    adjusted, tested = _among_declared(sides, measure, found, asked)
    whole = _line(names, measure, found, _role(sides, measure, tested), adjusted=adjusted)
    means = _task_means(pair, measure)
    lines.append(msgspec.structs.replace(whole, facts={**whole.facts, "tasks": means}))
    others = [find_measure(sides.chosen, name)[0] for name in further]
    others += [within_budget(sides, measure, given) for given in against.within or []]
    exploratory, left_out = _exploratory(sides, measure, others, asked)
    lines += exploratory
    lines += _resources(sides, asked, against, measure)
    return Answer(
        title=f"{names[0]} against {names[1]} by {measure.name}",
        lines=lines,
        limits=[*said, *left_out],
        drawing=_scatter(names, measure, means) if against.scatter else _drawing(names, lines),
        settings={"a": names[0], "b": names[1], "measure": measure.name,
                  "verdict": whole.facts["verdict"], "words": whole.facts["words"]},
    )  # fmt: skip


def _task_means(pair: tuple[Cell, Cell], measure: Measure) -> dict[str, list[float | None]]:
    """Each task's mean for both systems; null where a trial is unknown, or there is no valid one."""
    a, b = (valid_by_task(cell, measure.read) for cell in pair)
    return {
        task: [None if not found or None in found else sum(map(float, found)) / len(found)
               for found in (a.get(task, []), b.get(task, []))]
        for task in sorted({*a, *b})
    }  # fmt: skip


def _scatter(names: tuple[str, str], measure: Measure, means: dict[str, list[float | None]]) -> Drawing:
    """Each task at the means of both; those of one place together, those with an unknown mean nowhere."""
    places: dict[tuple[float, float], list[str]] = {}
    for task, (a, b) in means.items():
        if a is not None and b is not None:
            places.setdefault((a, b), []).append(task)
    unit = "" if measure.yes_no else f" ({measure.counts})"
    return Drawing(
        look="pairs",
        rows=[
            {"series": "tie" if a == b else f"{names[0] if a > b else names[1]} higher", "x": b, "y": a,
             "count": len(tasks), "label": ", ".join(tasks)}
            for (a, b), tasks in places.items()
        ],
        x=f"{names[1]}: {measure.name} by task{unit}",
        y=f"{names[0]}: {measure.name} by task{unit}",
    )  # fmt: skip


def _drawing(names: tuple[str, str], lines: list[Line]) -> Drawing:
    """The differences in the unit of the first one, whole and by stratum."""
    differences = [line for line in lines if "stratum" in line.facts]
    alike = [line for line in differences if line.counts == differences[0].counts]
    return Drawing(
        look="intervals",
        rows=[
            {"series": line.facts["role"], "x": line.estimate.value, "low": line.estimate.low,
             "high": line.estimate.high, "y": line.quantity.removeprefix("difference in ")}
            for line in alike
        ],
        x=f"{names[0]} − {names[1]}",
        y="",
    )  # fmt: skip


def _declared(sides: Sides, name: str) -> Plan | None:
    """The plan that declared this comparison before any result existed."""
    names = {sides.a.system, sides.b.system}
    return next((p for p in sides.plans if p.measure == name and names <= set(p.systems)), None)


def _at_declared_level(sides: Sides, asked: Asked, against: Against) -> Asked:
    """A declared comparison is made at its own level, unless another one is asked for."""
    measure, _ = find_measure(sides.chosen, (against.measure or [SUCCESS])[0])
    plan = _declared(sides, measure.name)
    return asked if plan is None or asked.level != LEVEL else replace(asked, level=1 - plan.alpha)


def _among_declared(
    sides: Sides, measure: Measure, found: "PairedDifference", asked: Asked
) -> tuple[float | None, int]:
    """This pair's p by Holm among all pairs that the experiment declared, and how many could be tested.

    Null where it is the only one: its own p then decides.
    """
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.multiplicity import holm

    plan = _declared(sides, measure.name)
    if plan is None or found.p is None:
        return None, 1
    loaded = sides.chosen.loaded
    this = {sides.a.system, sides.b.system}
    tested = [found.p]
    for pair in declared_pairs(cells_of(loaded), plan):
        # As in the report, other arms are explored: what is declared is of one arm.
        if {cell.system for cell in pair} == this or pair[0].arm != sides.a.arm:
            continue
        try:
            p = _difference(pair, measure, asked).p
        except ValueError:
            # As in the report: two systems on different tasks are no test, whatever was declared.
            continue
        tested += [] if p is None else [p]
    return (holm(tested)[0] if len(tested) > 1 else None), len(tested)


def _role(sides: Sides, measure: Measure, tested: int) -> str:
    """What was said of the comparison beforehand; ``tested`` pairs were declared with it."""
    plan = _declared(sides, measure.name)
    if plan is None:
        return "exploratory: not declared before the results"
    among = f", adjusted among {tested} declared pairs (Holm)" if tested > 1 else ""
    return f"declared before the results, at a level of {plan.alpha:g}{among}"


def _difference(pair: tuple[Cell, Cell], measure: Measure, asked: Asked) -> "PairedDifference":
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.paired import paired_difference
    from seatrial.estimate.permutation import FLIPS

    a, b = (valid_by_task(cell, measure.read) for cell in pair)
    name_lost_tasks(pair, (a, b))
    return paired_difference(
        a, b, np.random.default_rng(asked.seed), alpha=1 - asked.level, flips=asked.draws or FLIPS,
        names=(pair[0].system, pair[1].system), limits=measure.limits,
    )  # fmt: skip


def _each(sides: Sides, asked: Asked, against: Against, measure: Measure) -> list[Line]:
    """Each system's own number, on the frontier with its cost where there is one."""
    worth_it = _both_have(sides, MONEY) and was_priced(sides.chosen.records)
    cost = against.cost or (MONEY if worth_it else None)
    if cost is None or not measure.yes_no:
        return [_side(cell, measure, asked) for cell in (sides.a, sides.b)]
    outcome = Outcome(measure=(against.measure or [SUCCESS])[0], at_least=against.at_least)
    return frontier(sides.chosen, asked, outcome, cost, None).lines


def _both_have(sides: Sides, name: str) -> bool:
    return all(name in measures_with_values(cell.records) for cell in (sides.a, sides.b))


def _side(cell: Cell, measure: Measure, asked: Asked) -> Line:
    """One system's own number."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.means import mean_over_tasks
    from seatrial.estimate.rates import rate_over_tasks

    values: dict[str, list[Any]] = valid_by_task(cell, measure.read)
    estimate = (
        rate_over_tasks(values, asked.level)
        if measure.yes_no
        else mean_over_tasks(values, measure.counts, asked.level, measure.limits)
    )
    return Line(
        system=cell.system,
        quantity=measure.name,
        counts=measure.counts,
        estimate=estimate,
        denominators=counts_of(cell, [measure.read(record) for record in cell.valid], measure.yes_no),
    )


def _line(
    names: tuple[str, str],
    measure: Measure,
    found: "PairedDifference",
    role: str,
    where: str = WHOLE,
    adjusted: float | None = None,
) -> Line:
    """One difference with its test; ``adjusted`` is its p among several, which then decides."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.multiplicity import ADJUSTED_AWAY
    from seatrial.estimate.paired import UNDECIDED

    p = found.p if adjusted is None else adjusted
    verdict = found.verdict if p is not None and p < found.alpha else UNDECIDED
    words = in_words(verdict, *names)
    estimate = found.difference
    if verdict != found.verdict:
        estimate = msgspec.structs.replace(estimate, notes=[*estimate.notes, ADJUSTED_AWAY])
    shown_p = "none" if p is None else f"{p:.3g}"
    quantity = f"difference in {measure.name}" + ("" if where == WHOLE else f", {where}")
    tested = f"p = {shown_p}, {found.test}" if p is not None else "nothing could be tested"
    told = [f"{words} ({quantity}; {role}; {tested})"]
    if found.mcnemar is not None:
        table = found.mcnemar
        told.append(
            f"both {table.both}, only {names[0]} {table.only_a} (b), only {names[1]} {table.only_b} (c), "
            f"neither {table.neither}; McNemar exact p = {table.p_exact:.3g}, mid-p = {table.p_mid:.3g}"
        )
    facts = {name: value for name, value in msgspec.structs.asdict(found).items() if name != "difference"}
    return Line(
        system=f"{names[0]} − {names[1]}",
        quantity=quantity,
        counts=POINTS if measure.yes_no else measure.counts,
        estimate=estimate,
        columns={"wins/losses/ties": f"{found.wins}/{found.losses}/{found.ties}", "p": shown_p},
        facts={
            **facts,
            "p_adjusted": adjusted,
            "verdict": verdict,
            "words": words,
            "role": role,
            "stratum": where,
        },
        told=told if where == WHOLE else [],
    )


def _exploratory(
    sides: Sides, measure: Measure, others: list[Measure], asked: Asked
) -> tuple[list[Line], list[str]]:
    """Further measures, and the first one within each stratum, adjusted together (Benjamini–Hochberg)."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.multiplicity import benjamini_hochberg

    names = (sides.a.system, sides.b.system)
    made: list[tuple[Measure, str, PairedDifference]] = []
    for other in others:
        solved = _solved(sides) if other.name in PROCESS else None
        pair = (sides.a, sides.b) if solved is None else solved
        made.append((other, "where both succeeded" if solved else WHOLE, _difference(pair, other, asked)))
    pairs, single = _strata(sides)
    for stratum, pair in pairs:
        made.append((measure, stratum, _difference(pair, measure, asked)))
    adjusted = iter(benjamini_hochberg([found.p for _, _, found in made if found.p is not None]))
    lines = [
        _line(names, one, found, f"exploratory, adjusted among {len(made)}", where,
              None if found.p is None else next(adjusted))
        for one, where, found in made
    ]  # fmt: skip
    said = [f"{single} strata of one task are not compared by themselves."] if single else []
    if made:
        said.append(
            f"p values of the {len(made)} exploratory differences are adjusted together (Benjamini–Hochberg)."
        )
    return lines, said


def _solved(sides: Sides) -> tuple[Cell, Cell]:
    """The successful trials of tasks that both solved at least once: process is compared at one quality."""
    measure, _ = find_measure(sides.chosen, SUCCESS)
    found = [[r for r in cell.records if measure.read(r) is True] for cell in (sides.a, sides.b)]
    both = {r.task for r in found[0]} & {r.task for r in found[1]}
    kept = [[r for r in records if r.task in both] for records in found]
    if not both:
        raise UsageError("no task was solved by both, so how they worked cannot be compared at one quality.")
    a, b = (restricted(cell, records) for cell, records in zip((sides.a, sides.b), kept, strict=True))
    return a, b


def _strata(sides: Sides) -> tuple[list[tuple[str, tuple[Cell, Cell]]], int]:
    """Strata with two tasks or more, and how many have but one; none by help, which trials came by."""
    sorted_: list[dict[str, Cell]] = [
        {
            cell.stratum: cell
            for cell in cells(side.records, side.every)
            if cell.stratum != WHOLE and not cell.stratum.startswith(HELP)
        }
        for side in (sides.a, sides.b)
    ]
    pairs, single = [], 0
    for stratum, cell in sorted_[0].items():
        if stratum not in sorted_[1]:
            continue
        if len({record.task for record in cell.records}) < 2:
            single += 1
            continue
        a, b = (
            msgspec.structs.replace(by[stratum], system=side.system)
            for by, side in zip(sorted_, (sides.a, sides.b), strict=True)
        )
        pairs.append((stratum, (a, b)))
    return pairs, single


def _resources(sides: Sides, asked: Asked, against: Against, measure: Measure) -> list[Line]:
    """Time to success and depth, where asked for."""
    lines: list[Line] = []
    if against.axis is not None:
        lines += against_axis(sides, asked, measure, against.axis)
    if against.depth is not None:
        lines.append(against_depth(sides, asked, measure, against.depth))
    return lines
