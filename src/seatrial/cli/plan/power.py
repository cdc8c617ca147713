"""``seatrial plan power``: tasks and trials that a wanted difference, error or bound needs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.cli.compare.sides import Sides, choose_sides
from seatrial.cli.estimate.answer import plain
from seatrial.cli.estimate.options import JSON_OPTION, Asked, check_number, number_pairs
from seatrial.cli.estimate.trials import (
    SUCCESS,
    Chosen,
    Measure,
    by_themselves,
    choose_trials,
    find_measure,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.cli.visible import visible
from seatrial.errors import UsageError
from seatrial.report.tables import Cell
from seatrial.report.wording import counted

AT_THE_EDGE = (
    "The variance over tasks is estimated at its lower edge, 0: the noise of the trials alone explains how "
    "tasks differ. That does not show that they do not, so the plan may be too small."
)


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

    trials: Annotated[
        int | None,
        typer.Option(help="Trials of each task and system; the pilot's own, or 1 without one.", min=1),
    ] = None
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
    for option in ("alpha", "power"):
        share = getattr(wanted, option)
        check_number(f"--{option}", share, "a share in (0, 1)", lambda one: 0 < one < 1)
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
    from seatrial.estimate.paired_power import FEWEST_TASKS, tasks_by_mcnemar, tasks_by_t
    from seatrial.estimate.power import TrialSpread, detectable_difference

    assert wanted.difference is not None, "asked for"
    found = _spread(known)
    between, within, pilot = found.between, found.within, found.pilot
    trials = known.trials or (1 if pilot is None else pilot.usual)
    spread = TrialSpread(
        between=between, within_a=within[0], within_b=within[1], trials_a=trials, trials_b=trials
    )
    if trials == 1:
        needed, share = tasks_by_mcnemar(wanted.difference, spread, wanted.alpha, wanted.power)
        test = f"McNemar's exact test, the systems differing on {100 * share:.3g} % of the tasks"
    else:
        needed, test = (
            tasks_by_t(wanted.difference, spread, wanted.alpha, wanted.power),
            "t on task differences",
        )
    words = [
        f"{counted(needed, 'task')} with {counted(trials, 'trial')} of each system, paired: a difference of "
        f"{wanted.difference:g} is found with a chance of {wanted.power:g} at a level of {wanted.alpha:g}.",
        f"Spread: variance of the difference over tasks {between:.4g}, of a task's trials "
        f"{within[0]:.4g} and {within[1]:.4g}. {found.told}",
        f"The test: {test}. No fewer than {FEWEST_TASKS} tasks are planned.",
    ]
    smallest = None
    if pilot is not None:
        # What it could find hangs on the trials that it had, whatever is planned next.
        had = TrialSpread(
            between=between, within_a=within[0] * pilot.per_trial[0], within_b=within[1] * pilot.per_trial[1]
        )
        smallest = detectable_difference(pilot.tasks, had, wanted.alpha, wanted.power)
        words.append(
            f"The pilot itself, {counted(pilot.tasks, 'task')} with {pilot.words} of each system, would find "
            f"a difference of {smallest:.3g} or more."
        )
    return {
        "tasks": needed, "trials_per_task": trials, "difference": wanted.difference, "test": test,
        "alpha": wanted.alpha, "power": wanted.power, "spread": spread,
        "pilot_tasks": None if pilot is None else pilot.tasks,
        "pilot_trials": None if pilot is None else pilot.words,
        "pilot_detects": smallest, "limits": list(found.limits), "mixed": list(found.mixed),
        "words": [*words, *_said(found.limits, found.mixed)],
    }  # fmt: skip


@dataclass(frozen=True)
class Size:
    """How large a pilot was.

    Attributes:
        tasks: with known outcomes of both systems.
        usual: trials that most of its tasks have of a system; the smaller number where two are as common.
        words: the trials of a task, as a range where they differ.
        per_trial: for each system the mean over tasks of one over its trials.
    """

    tasks: int
    usual: int
    words: str
    per_trial: tuple[float, float]


@dataclass(frozen=True)
class Spread:
    """Variance between tasks and within tasks for each system, the pilot if any, and where they are from."""

    between: float
    within: tuple[float, float]
    pilot: Size | None
    told: str
    limits: Sequence[str] = ()
    mixed: Sequence[str] = ()


def _spread(known: Known) -> Spread:
    if known.pilot is None:
        if known.between is None or known.within is None:
            raise UsageError("the spread is not known. Give --between and --within, or a --pilot.")
        return Spread(known.between, (known.within, known.within), None, "It was given.")
    sides = _sides(known)
    between, within, size = _pilot_spread(sides, _yes_no(known, sides))
    told = (
        f"It is from {counted(size.tasks, 'task')} of {sides.a.system} and {sides.b.system}; a small pilot "
        "tells it roughly."
    )
    if known.between is None and between == 0:
        told += f" {AT_THE_EDGE} --between takes another."
    return Spread(
        between if known.between is None else known.between,
        within if known.within is None else (known.within, known.within),
        size,
        told,
        _limits(sides.chosen, known),
        sides.chosen.mixed,
    )


def _sides(known: Known) -> Sides:
    assert known.pilot is not None, "asked for"
    return choose_sides([known.pilot], (known.a, known.b), replace(Asked(), allow_mixed=known.allow_mixed))


def _yes_no(known: Known, sides: Sides) -> Measure:
    measure, _ = find_measure(sides.chosen, known.measure)
    if not measure.yes_no:
        raise UsageError(f"{known.measure} is a number. A pilot's spread is taken of yes-or-no measures.")
    return measure


def _pilot_spread(sides: Sides, measure: Measure) -> tuple[float, tuple[float, float], Size]:
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
    size = _size([{task: len(side[task]) for task in tasks} for side in (left, right)])
    return max(0.0, variance(differences) - noise), (within[0], within[1]), size


def _size(trials: Sequence[Mapping[str, int]]) -> Size:
    """The size of a pilot, from each system's trials of each task."""
    counts = Counter(count for side in trials for count in side.values())
    usual = min(counts, key=lambda count: (-counts[count], count))
    least, most = min(counts), max(counts)
    per_trial = [sum(1 / count for count in side.values()) / len(side) for side in trials]
    return Size(
        tasks=len(trials[0]),
        usual=usual,
        words=counted(most, "trial") if least == most else f"{least} to {most} trials",
        per_trial=(per_trial[0], per_trial[1]),
    )


def _limits(chosen: Chosen, known: Known) -> list[str]:
    """What the pilot's trials cannot say, and which of them a plan leaves out."""
    measure, said = find_measure(chosen, known.measure)
    outcomes = [valid_by_task(cell, measure.read) for cell in chosen.cells]
    unknown = sum(trials.count(None) for side in outcomes for trials in side.values())
    judged = [_known_outcomes(cell, measure) for cell in chosen.cells]
    lost = len({task for side in outcomes for task in side}) - len(set.intersection(*map(set, judged)))
    limits = [*chosen.limits, *said]
    if unknown:
        limits.append(f"Left out of the pilot: {counted(unknown, 'trial')} whose outcome is unknown.")
    if lost:
        limits.append(
            f"Left out of the pilot: {counted(lost, 'task')} without a known outcome of each system."
        )
    return limits


def _said(limits: Sequence[str], mixed: Sequence[str]) -> list[str]:
    return [*(f"limit: {line}" for line in limits), *(f"mixed: {line}" for line in mixed)]


def _known_outcomes(cell: Cell, measure: Measure) -> dict[str, list[bool]]:
    by_task = valid_by_task(cell, measure.read)
    known = {task: [v for v in trials if v is not None] for task, trials in by_task.items()}
    return {task: trials for task, trials in known.items() if trials}


def _for_rates(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.power import unpaired_tasks

    assert wanted.rates is not None, "asked for"
    rates = number_pairs("--rates", wanted.rates)
    trials = known.trials or 1
    needed = unpaired_tasks(rates, trials, known.icc, wanted.alpha, wanted.power)
    words = [
        f"{counted(needed, 'task')} for EACH system with {counted(trials, 'trial')} a task, on different "
        f"tasks: rates of {rates[0]:g} and {rates[1]:g} are told apart with a chance of {wanted.power:g} at "
        f"a level of {wanted.alpha:g}, trials of a task correlated by {known.icc:g}.",
        "Paired on the same tasks it mostly takes fewer.",
    ]
    return {"tasks_each": needed, "trials_per_task": trials, "rates": list(rates), "icc": known.icc,
            "alpha": wanted.alpha, "power": wanted.power, "words": words}  # fmt: skip


def _for_error(wanted: Wanted, known: Known) -> dict[str, Any]:
    # Loaded here, since most commands need no statistics.
    from seatrial.estimate.power import pilot_spread, plan_trials

    assert wanted.error is not None, "asked for"
    if known.pilot is None or known.tasks_available is None:
        raise UsageError("--error needs --pilot and --tasks-available, to say which tasks to repeat.")
    asked = replace(Asked(), system=None if known.a is None else [known.a], allow_mixed=known.allow_mixed)
    chosen = by_themselves(choose_trials(known.pilot, asked))
    if len(chosen.cells) != 1:
        names = ", ".join(cell.system for cell in chosen.cells)
        raise UsageError(f"{known.pilot}: holds {names}. Name one with --a.")
    measure, _ = find_measure(chosen, known.measure)
    limits = _limits(chosen, known)
    pilot = pilot_spread(_known_outcomes(chosen.cells[0], measure))
    found = plan_trials(pilot, wanted.error, known.tasks_available)
    most = sorted(found.repeats.items(), key=lambda item: (-item[1], item[0]))[:10]
    words = [
        f"{counted(found.tasks, 'task')}, {counted(found.trials, 'trial')} in all: "
        f"standard error {found.error:.3g}"
        + ("" if found.reached else f", which is not the wanted {wanted.error:g}")
        + ".",
        *found.notes,
        *([AT_THE_EDGE] if pilot.between == 0 else []),
        "Most trials: " + ", ".join(f"{task} {count}" for task, count in most) + ".",
        *_said(limits, chosen.mixed),
    ]
    return {"plan": found, "limits": limits, "mixed": chosen.mixed, "words": words}


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
