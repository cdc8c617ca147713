"""``seatrial plan sequential``: when one may look at a comparison while it runs."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.compare.sides import choose_sides
from seatrial.cli.estimate.answer import POINTS, plain
from seatrial.cli.estimate.options import JSON_OPTION, Asked, check_number
from seatrial.cli.estimate.text import aligned, interval_words, number_words
from seatrial.cli.estimate.trials import SUCCESS, find_measure, valid_by_task
from seatrial.cli.options import flat
from seatrial.cli.visible import visible
from seatrial.errors import UsageError
from seatrial.report.wording import counted

if TYPE_CHECKING:
    from seatrial.estimate.sequential import Interim, Watch


class Shapes(StrEnum):
    """Spending functions, as ``--shape`` spells them."""

    OBRIEN_FLEMING = "obrien-fleming"
    POCOCK = "pocock"


@dataclass(frozen=True)
class Design:
    """How error is spent; each field is an option."""

    information: Annotated[
        list[float] | None,
        typer.Option(help="Share of the planned tasks at each look, rising to 1; may be repeated. Without a "
                     "run its boundaries are printed."),
    ] = None  # fmt: skip
    alpha: Annotated[float, typer.Option(help="Error of all looks together.", show_default=True)] = 0.05
    shape: Annotated[
        Shapes, typer.Option(help="obrien-fleming stops early only for great differences.", show_default=True)
    ] = Shapes.OBRIEN_FLEMING
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Only a positive difference counts.")] = False


@dataclass(frozen=True)
class Looking:
    """What is looked at now, and what was before; each field is an option."""

    run: Annotated[
        Path | None, typer.Option(metavar="RUN|RECORDS", help="Trials so far: take a look at them.")
    ] = None
    planned_tasks: Annotated[int | None, typer.Option(help="Tasks planned in all, for --run.", min=2)] = None
    earlier: Annotated[
        list[str] | None,
        typer.Option(help="What each earlier look printed as its look, in order; one left out would hide "
                     "error already spent. May be repeated."),
    ] = None  # fmt: skip
    a: Annotated[str | None, typer.Option(help="First system; may be left out where there are two.")] = None
    b: Annotated[str | None, typer.Option(help="Second system.")] = None
    measure: Annotated[str, typer.Option(help="What is compared.", show_default=True)] = SUCCESS
    allow_mixed: Annotated[
        bool, typer.Option("--allow-mixed", help="Go on where versions or protocols differ.")
    ] = False


@flat
def sequential(design: Design, looking: Looking, json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Group-sequential boundaries, so that looking early costs no error; with --run, continue or stop?

    A look says "continue", "stop" or "insufficient": all planned information is in and no boundary was
    crossed, which is not that there is no difference.
    """
    for share in design.information or []:
        check_number(
            "--information", share, "a share of the planned tasks in (0, 1]", lambda one: 0 < one <= 1
        )
    if sorted(set(design.information or [])) != (design.information or []):
        shares = ", ".join(f"{share:g}" for share in design.information or [])
        raise UsageError(f"no plan: --information {shares} does not rise. Give each look once, in order.")
    check_number("--alpha", design.alpha, "an error in (0, 1), such as 0.05", lambda one: 0 < one < 1)
    try:
        data, text = _look(design, looking) if looking.run is not None else _boundaries(design)
    except ValueError as fault:
        raise UsageError(f"no plan: {fault}") from fault
    if json:
        typer.echo(msgspec.json.encode({"plan": "sequential", **plain(data)}))
        return
    for line in text:
        typer.echo(visible(line))


def _boundaries(design: Design) -> tuple[dict[str, Any], list[str]]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.boundaries import spending_boundaries

    if not design.information:
        raise UsageError("no look is planned. Give --information for each, such as 0.5 and 1, or a --run.")
    looks = spending_boundaries(
        design.information, design.alpha, design.shape.value, 1 if design.one_sided else 2
    )
    rows = [["look", "information", "z boundary", "nominal p", "error spent"]]
    rows += [
        [str(number), f"{look.information:g}", f"{look.z:.4f}", f"{look.p:.4g}", f"{look.spent:.4g}"]
        for number, look in enumerate(looks, 1)
    ]
    sides = "one-sided" if design.one_sided else "two-sided"
    head = f"{design.shape.value} spending, {sides}, error {design.alpha:g} over all looks"
    return {"alpha": design.alpha, "shape": design.shape.value, "looks": looks}, [head, *aligned(rows)]


def _look(design: Design, looking: Looking) -> tuple[dict[str, Any], list[str]]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.sequential import watch

    if looking.planned_tasks is None:
        raise UsageError("a look needs --planned-tasks, of which the tasks so far are the information.")
    names, now, said = _now(looking, looking.planned_tasks)
    looks = [*map(_earlier, looking.earlier or []), now]
    found = watch(looks, design.alpha, design.shape.value, 1 if design.one_sided else 2)
    code = ":".join(
        "none" if part is None else f"{part:.9g}"
        for part in (now.information, now.difference, now.error, now.n_tasks, now.n_trials)
    )
    data = {"a": names[0], "b": names[1], "watch": found, "look": code, "measure": looking.measure,
            **said}  # fmt: skip
    return data, [
        *_watch_text(names, found, code),
        *(f"limit: {line}" for line in said["limits"]),
        *(f"mixed: {line}" for line in said["mixed"]),
    ]


def _watch_text(names: tuple[str, str], found: "Watch", code: str) -> list[str]:
    bound = found.boundaries[-1]
    difference = found.difference
    return [
        f"{found.state}: look {found.look} at information {bound.information:.3g}, "
        f"z {found.z[-1]:.3g} against the boundary {bound.z:.3g}",
        f"{names[0]} − {names[1]}: {number_words(difference.value, POINTS)} "
        f"{interval_words(difference, POINTS)} at {100 * difference.level:g} % over all looks",
        f"method: {difference.method}; sampling unit: {difference.unit}; {difference.n_tasks} tasks, "
        f"{difference.n_trials} trials",
        *found.notes,
        f"this look, for --earlier of the next: {code}",
    ]


def _now(looking: Looking, planned: int) -> tuple[tuple[str, str], "Interim", dict[str, list[str]]]:
    """The paired difference so far and its standard error over tasks, and what it leaves out or mixes.

    Unknown outcomes stop a look.
    """
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.clustered import clustered_spread
    from seatrial.estimate.sequential import Interim

    assert looking.run is not None, "asked for"
    asked = replace(Asked(), allow_mixed=looking.allow_mixed, common_tasks=True)
    sides = choose_sides([looking.run], (looking.a, looking.b), asked)
    measure, limits = find_measure(sides.chosen, looking.measure)
    left, right = (valid_by_task(cell, measure.read) for cell in (sides.a, sides.b))
    tasks = [task for task in sorted(left) if left[task] and right[task]]
    trials = [value for task in tasks for value in (*left[task], *right[task])]
    if unknown := trials.count(None):
        raise UsageError(f"{looking.run}: {unknown} trials have an unknown {measure.name}. Judge them first.")
    if not tasks or len(tasks) > planned:
        raise UsageError(f"{looking.run}: {len(tasks)} tasks have trials of both, of {planned} planned.")
    differences = {
        task: [
            sum(map(float, left[task])) / len(left[task]) - sum(map(float, right[task])) / len(right[task])
        ]
        for task in tasks
    }
    spread = clustered_spread(differences)
    interim = Interim(
        information=len(tasks) / planned, difference=spread.mean, error=spread.error or None,
        n_tasks=len(tasks), n_trials=len(trials),
    )  # fmt: skip
    limits = [*sides.chosen.limits, *limits]
    if lost := len(left) - len(tasks):
        limits.append(f"Left out for want of a valid trial of one of the two: {counted(lost, 'task')}.")
    said = {"limits": limits, "mixed": sides.chosen.mixed}
    return (sides.a.system, sides.b.system), interim, said


def _earlier(given: str) -> "Interim":
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.sequential import Interim

    parts = given.split(":")
    try:
        information, difference, error, tasks, trials = parts
        return Interim(
            information=float(information), difference=float(difference),
            error=None if error == "none" else float(error), n_tasks=int(tasks), n_trials=int(trials),
        )  # fmt: skip
    except ValueError:
        raise UsageError(f"--earlier {given!r} is no look. Copy what the earlier look printed.") from None
