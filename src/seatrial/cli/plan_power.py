"""``seatrial plan power``: tasks and trials that a wanted difference, error or bound needs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.cli.compare_sides import Sides, choose_sides
from seatrial.cli.estimate_answer import plain
from seatrial.cli.estimate_options import JSON_OPTION, Asked, number_pairs
from seatrial.cli.estimate_trials import SUCCESS, Measure, choose_trials, find_measure, valid_by_task
from seatrial.cli.options import flat
from seatrial.cli.show_steps import visible
from seatrial.errors import UsageError
from seatrial.report.tables import Cell


@dataclass(frozen=True)
class Wanted:
    """What is to be found; each field is an option."""

    difference: Annotated[
        float | None, typer.Option(help="Smallest difference of two rates worth finding, such as 0.05.")
    ] = None
    rates: Annotated[
        str | None,
        typer.Option(metavar="RATE:RATE", help="Expected rates of two systems on DIFFERENT tasks each."),
    ] = None
    error: Annotated[
        float | None, typer.Option(help="Wanted standard error of one system's rate; needs --pilot.")
    ] = None
    never: Annotated[
        float | None, typer.Option(help="Show that an event which was never seen is rarer than this.")
    ] = None
    alpha: Annotated[float, typer.Option(help="Two-sided level of the test.", show_default=True)] = 0.05
    power: Annotated[float, typer.Option(help="Wanted chance to find the difference.", show_default=True)] = (
        0.8
    )


@dataclass(frozen=True)
class Known:
    """What is known of the spread; each field is an option."""

    trials: Annotated[int, typer.Option(help="Trials of each task and system.", min=1, show_default=True)] = 1
    between: Annotated[
        float | None,
        typer.Option(help="Variance over tasks of the true difference; a pilot's if there is one."),
    ] = None
    within: Annotated[
        float | None,
        typer.Option(help="Mean variance of one task's trials; 0.25 is the most a rate can have."),
    ] = None
    icc: Annotated[
        float, typer.Option(help="Correlation of two trials of one task, for --rates.", show_default=True)
    ] = 0.0
    pilot: Annotated[
        Path | None, typer.Option(metavar="RUN|RECORDS", help="Trials run already, to take the spread from.")
    ] = None
    a: Annotated[str | None, typer.Option(help="First system of the pilot; for --error the only one.")] = None
    b: Annotated[str | None, typer.Option(help="Second system of the pilot.")] = None
    measure: Annotated[str, typer.Option(help="Yes-or-no measure of the pilot.", show_default=True)] = SUCCESS
    tasks_available: Annotated[
        int | None, typer.Option(help="Tasks that could be run in all, for --error.", min=1)
    ] = None
    allow_mixed: Annotated[
        bool, typer.Option("--allow-mixed", help="Go on where the pilot's versions or protocols differ.")
    ] = False


@flat
def power(wanted: Wanted, known: Known, json: Annotated[bool, JSON_OPTION] = False) -> None:
    """How many tasks, and trials of each, are needed: tasks are added first, then trials where they vary.

    --difference plans a paired comparison, --rates one on different tasks, --error one system's rate, and
    --never the bound on an event that was not seen. Spread is given, or taken from a pilot.
    """
    asked = [name for name in ("difference", "rates", "error", "never") if getattr(wanted, name) is not None]
    if not asked:
        raise UsageError("there is nothing to plan for. Give --difference, --rates, --error or --never.")
    try:
        found = {name: _PLANS[name](wanted, known) for name in asked}
    except ValueError as fault:
        raise UsageError(f"no plan: {fault}") from fault
    if json:
        typer.echo(msgspec.json.encode({"plan": "power", **plain(found)}))
        return
    for name in asked:
        for line in found[name]["words"]:
            typer.echo(visible(line))


def _for_difference(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.power import TrialSpread, detectable_difference, paired_tasks

    assert wanted.difference is not None, "asked for"
    between, within, tasks, told = _spread(known)
    spread = TrialSpread(
        between=between, within_a=within[0], within_b=within[1], trials_a=known.trials, trials_b=known.trials
    )
    needed = paired_tasks(wanted.difference, spread, wanted.alpha, wanted.power)
    words = [
        f"{needed} tasks with {known.trials} trials of each system, paired: a difference of "
        f"{wanted.difference:g} is found with a chance of {wanted.power:g} at a level of {wanted.alpha:g}.",
        f"Spread: variance of the difference over tasks {between:.4g}, of a task's trials "
        f"{within[0]:.4g} and {within[1]:.4g}. {told}",
    ]
    smallest = None
    if tasks is not None:
        smallest = detectable_difference(tasks, spread, wanted.alpha, wanted.power)
        words.append(f"The {tasks} tasks of the pilot would find a difference of {smallest:.3g} or more.")
    return {
        "tasks": needed, "trials_per_task": known.trials, "difference": wanted.difference,
        "alpha": wanted.alpha, "power": wanted.power, "spread": spread, "pilot_tasks": tasks,
        "pilot_detects": smallest, "words": words,
    }  # fmt: skip


def _spread(known: Known) -> tuple[float, tuple[float, float], int | None, str]:
    """Variance between tasks, within tasks for each system, tasks of the pilot, and where they are from."""
    if known.pilot is None:
        if known.between is None or known.within is None:
            raise UsageError("the spread is not known. Give --between and --within, or a --pilot.")
        return known.between, (known.within, known.within), None, "It was given."
    sides = _sides(known)
    measure = _yes_no(known, sides)
    between, within, tasks = _pilot_spread(sides, measure)
    told = (
        f"It is from {tasks} tasks of {sides.a.system} and {sides.b.system}; a small pilot tells it roughly."
    )
    return (
        between if known.between is None else known.between,
        within if known.within is None else (known.within, known.within),
        tasks,
        told,
    )


def _sides(known: Known) -> Sides:
    assert known.pilot is not None, "asked for"
    return choose_sides([known.pilot], (known.a, known.b), replace(Asked(), allow_mixed=known.allow_mixed))


def _yes_no(known: Known, sides: Sides) -> Measure:
    measure, _ = find_measure(sides.chosen, known.measure)
    if not measure.yes_no:
        raise UsageError(f"{known.measure} is a number. A pilot's spread is taken of yes-or-no measures.")
    return measure


def _pilot_spread(sides: Sides, measure: Measure) -> tuple[float, tuple[float, float], int]:
    """Variance of the task differences less what the trials' noise explains, at least 0."""
    # Loaded here, since most commands need no statistics.
    from statistics import fmean, variance

    from seatrial.estimate.power import pilot_spread

    left, right = (_known_outcomes(cell, measure) for cell in (sides.a, sides.b))
    tasks = sorted(set(left) & set(right))
    if len(tasks) < 2:
        raise UsageError(
            f"{sides.chosen.source}: {len(tasks)} tasks with known outcomes of both show no spread."
        )
    pilots = [pilot_spread({task: side[task] for task in tasks}) for side in (left, right)]
    noise = fmean(
        sum(pilot.within[task] / len(side[task]) for pilot, side in zip(pilots, (left, right), strict=True))
        for task in tasks
    )
    differences = [fmean(map(float, left[task])) - fmean(map(float, right[task])) for task in tasks]
    within = tuple(fmean(pilot.within.values()) for pilot in pilots)
    return max(0.0, variance(differences) - noise), (within[0], within[1]), len(tasks)


def _known_outcomes(cell: Cell, measure: Measure) -> dict[str, list[bool]]:
    by_task = valid_by_task(cell, measure.read)
    known = {task: [v for v in trials if v is not None] for task, trials in by_task.items()}
    return {task: trials for task, trials in known.items() if trials}


def _for_rates(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.power import unpaired_tasks

    assert wanted.rates is not None, "asked for"
    rates = number_pairs("--rates", wanted.rates)
    needed = unpaired_tasks(rates, known.trials, known.icc, wanted.alpha, wanted.power)
    words = [
        f"{needed} tasks for EACH system with {known.trials} trials a task, on different tasks: rates of "
        f"{rates[0]:g} and {rates[1]:g} are told apart with a chance of {wanted.power:g} at a level of "
        f"{wanted.alpha:g}, trials of a task correlated by {known.icc:g}.",
        "Paired on the same tasks it mostly takes fewer.",
    ]
    return {"tasks_each": needed, "trials_per_task": known.trials, "rates": list(rates), "icc": known.icc,
            "alpha": wanted.alpha, "power": wanted.power, "words": words}  # fmt: skip


def _for_error(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.power import pilot_spread, plan_trials

    assert wanted.error is not None, "asked for"
    if known.pilot is None or known.tasks_available is None:
        raise UsageError("--error needs --pilot and --tasks-available, to say which tasks to repeat.")
    asked = replace(Asked(), system=None if known.a is None else [known.a], allow_mixed=known.allow_mixed)
    chosen = choose_trials(known.pilot, asked)
    if len(chosen.cells) != 1:
        names = ", ".join(cell.system for cell in chosen.cells)
        raise UsageError(f"{known.pilot}: holds {names}. Name one with --a.")
    measure, _ = find_measure(chosen, known.measure)
    found = plan_trials(
        pilot_spread(_known_outcomes(chosen.cells[0], measure)), wanted.error, known.tasks_available
    )
    most = sorted(found.repeats.items(), key=lambda item: (-item[1], item[0]))[:10]
    words = [
        f"{found.tasks} tasks, {found.trials} trials in all: standard error {found.error:.3g}"
        + ("" if found.reached else f", which is not the wanted {wanted.error:g}")
        + ".",
        *found.notes,
        "Most trials: " + ", ".join(f"{task} {count}" for task, count in most) + ".",
    ]
    return {"plan": found, "words": words}


def _for_never(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.rare import trials_without_event

    assert wanted.never is not None, "asked for"
    needed = trials_without_event(wanted.never, 1 - wanted.alpha)
    words = [
        f"{needed} independent trials without the event show that its rate is below {wanted.never:g}, with "
        f"confidence {1 - wanted.alpha:g}.",
        "Trials of one task are not independent: count tasks, or multiply by the design effect.",
    ]
    return {"trials": needed, "rate": wanted.never, "confidence": 1 - wanted.alpha, "words": words}


_PLANS = {"difference": _for_difference, "rates": _for_rates, "error": _for_error, "never": _for_never}
