"""``seatrial estimate horizon``: the human length of tasks that a system does with a given chance."""

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source, check_number
from seatrial.cli.estimate.text import number_words
from seatrial.cli.estimate.trials import (
    Chosen,
    Measure,
    find_measure,
    only_tasks,
    outcome_measure,
    task_values,
    valid_by_task,
)
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.journal.run import RunFolder
from seatrial.report.tables import Cell
from seatrial.spec.frozen import frozen_task

if TYPE_CHECKING:
    from seatrial.estimate.horizon import Horizon, HorizonAt
    from seatrial.estimate.horizon_draws import HorizonOptions


class Weights(StrEnum):
    """How trials count, as ``--weighting`` spells it."""

    INVSQRT = "invsqrt"
    EQUAL_TASK = "equal_task"
    NONE = "none"


@dataclass(frozen=True)
class Fit:
    """How the curve is fitted; each field is an option."""

    chance: Annotated[
        list[float] | None, typer.Option(help="Chances of success asked for, in (0, 1); 0.5 and 0.8.")
    ] = None
    ridge: Annotated[
        float,
        typer.Option(help="λ in Σw·nll/Σw + λ/2·slope²; 0.1 was METR's first choice.", show_default=True),
    ] = 1e-5
    weighting: Annotated[
        Weights,
        typer.Option(
            help="invsqrt: 1/(trials of the task · √tasks of the family), as METR; equal_task; none."
        ),
    ] = Weights.INVSQRT
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Also under other ridges and weights, and without each family."),
    ] = False
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="With --sensitivity and --at-least: other thresholds to try; may be repeated."),
    ] = None
    human_times: Annotated[
        bool,
        typer.Option("--human-times", help="Resample the single human times that tasks declare, so that "
                     "their spread is in the interval; runs of seatrial's only."),
    ] = False  # fmt: skip


@flat
def horizon(source: Source, asked: Asked, outcome: Outcome, fit: Fit) -> None:
    """The 50 % and 80 % time horizon of each system: success against human minutes, a logistic curve.

    Intervals draw families, tasks inside them and trials inside those. A horizon outside the measured range
    is printed as below or beyond it, never as a number. Draws of one class, with rising curves, and outside
    the range are counted.
    """
    check_number("--ridge", fit.ridge, "a penalty of 0 or more, such as 1e-5", lambda ridge: ridge >= 0)
    for chance in fit.chance or []:
        check_number("--chance", chance, "a chance in (0, 1), such as 0.5", lambda one: 0 < one < 1)
    estimated(source, "horizon", asked, lambda chosen: _answer(chosen, asked, outcome, fit))


def _answer(chosen: Chosen, asked: Asked, outcome: Outcome, fit: Fit) -> Answer:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    lines: list[Line] = []
    rows: list[dict[str, Any]] = []
    if all(record.human_minutes is None for record in chosen.records):
        raise UsageError(
            f"{chosen.source}: no row has human_minutes, so there is no length to hold success against. "
            "`seatrial estimate depth --axis` takes other axes."
        )
    times = _human_times(Path(chosen.source)) if fit.human_times else None
    scores = find_measure(chosen, outcome.measure)[0]
    for cell in chosen.cells:
        name = name_of(cell, chosen.cells)
        minutes = task_values(cell, "human_minutes", lambda record: record.human_minutes)
        timed, lost = only_tasks(cell, "human_minutes", minutes)
        said += lost
        said += _without_family(timed, name)
        options = _options(timed, minutes, times, asked, fit)
        found = _horizon(timed, measure, minutes, asked, options)
        variants = (
            _variants(timed, scores, outcome.at_least, minutes, options, fit) if fit.sensitivity else []
        )
        lines += [_line(timed, measure, name, found, at, variants) for at in found.horizons]
        rows += _bins(name, found)
    drawn = Drawing(
        look="lines", rows=rows, x="human minutes (middle of the bin)", y="success rate", log_x=True
    )
    settings = {"measure": measure.name, "ridge": fit.ridge, "weighting": fit.weighting.value}
    title = f"Time horizon by {measure.name}, ridge {fit.ridge:g}"
    return Answer(title=title, lines=lines, limits=said, settings=settings, drawing=drawn)


def _human_times(folder: Path) -> dict[str, list[float]]:
    """Each task's single human times, in minutes, as its folder declared them.

    Raises:
        UsageError: not a run of ours, or no task declares any.
    """
    own = folder.is_dir() and RunFolder.open(folder).manifest().imported is None
    found: dict[str, list[float]] = {}
    for task in RunFolder.open(folder).manifest().tasks if own else ():
        declared = frozen_task(task, folder).human_minutes
        if declared is not None and declared.times:
            found[task.id] = declared.times
    if not found:
        raise UsageError(f"{folder}: no task declares single human times. Leave out --human-times.")
    return found


def _options(
    cell: Cell,
    minutes: dict[str, float],
    times: dict[str, list[float]] | None,
    asked: Asked,
    fit: Fit,
) -> "HorizonOptions":
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.horizon_draws import DRAWS, HorizonOptions

    families = _families(cell)
    return HorizonOptions(
        chances=tuple(fit.chance or (0.5, 0.8)),
        families={task: families.get(task, task) for task in minutes},
        weighting=fit.weighting.value,
        ridge=fit.ridge,
        human_times=None
        if times is None
        else {task: found for task, found in times.items() if task in minutes},
        level=asked.level,
        draws=asked.draws or DRAWS,
    )


def _families(cell: Cell) -> dict[str, str]:
    return task_values(cell, "family", lambda record: record.family)


def _without_family(cell: Cell, name: str) -> list[str]:
    """What weights and bootstrap by family do with tasks of which nobody says the family."""
    tasks = {record.task for record in cell.records}
    alone = len(tasks - set(_families(cell)))
    if not alone:
        return []
    words = "1 task has" if alone == 1 else f"{alone} tasks have"
    return [
        f"{words} no family for {name}: each stands for a family of its own in weights and draws, which is "
        "too sure where tasks are alike."
    ]


def _horizon(
    cell: Cell, measure: Measure, minutes: dict[str, float], asked: Asked, options: "HorizonOptions"
) -> "Horizon":
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate import horizon as room

    rng = np.random.default_rng(asked.seed)
    return room.horizon(valid_by_task(cell, measure.read), minutes, rng, options)


def _variants(
    cell: Cell,
    scores: Measure,
    at_least: float | None,
    minutes: dict[str, float],
    options: "HorizonOptions",
    fit: Fit,
) -> list[dict[str, Any]]:
    """The same under other ridges, weightings and thresholds, and without each family."""
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.sensitivity import horizon_sensitivity

    threshold = 1.0 if at_least is None else at_least
    others = fit.threshold or () if at_least is not None else ()
    found = horizon_sensitivity(valid_by_task(cell, scores.read), minutes, options, threshold, others)
    return [msgspec.to_builtins(variant) for variant in found]


def _line(
    cell: Cell, measure: Measure, name: str, found: "Horizon", at: "HorizonAt", variants: list[dict[str, Any]]
) -> Line:
    column = [one.chance for one in found.horizons].index(at.chance)
    shown = number_words(at.estimate.value, "minutes") if at.place == "inside" else f"{at.shown} ({at.place})"
    if found.rises:
        shown = "none (the curve rises)"
    told = [_success_by_length(found)] if column == 0 and found.bins else []
    if variants:
        told.append(_other_choices(at.chance, column, variants[1:]))
    facts = {
        "chance": at.chance, "place": at.place, "fitted": at.fitted, "draws_below": at.draws_below,
        "draws_beyond": at.draws_beyond, "draws_undefined": at.draws_undefined, "draws": found.draws,
        "draws_all_success": found.draws_all_success, "draws_all_failure": found.draws_all_failure,
        "draws_rising": found.draws_rising, "draws_unconverged": found.draws_unconverged,
        "intercept": found.intercept, "slope": found.slope, "rises": found.rises, "shortest": found.shortest,
        "longest": found.longest, "n_families": found.n_families, "bins": found.bins,
        "variants": variants,
    }  # fmt: skip
    columns = {
        "draws": str(found.draws), "below": str(at.draws_below), "beyond": str(at.draws_beyond),
        "undefined": str(at.draws_undefined), "all success": str(found.draws_all_success),
        "all failure": str(found.draws_all_failure), "rising": str(found.draws_rising),
    }  # fmt: skip
    return Line(
        system=name,
        quantity=f"horizon at {100 * at.chance:g} %",
        counts="minutes",
        estimate=at.estimate,
        denominators=counts_of(cell, (measure.read(record) for record in cell.valid), True),
        shown=shown,
        columns=columns,
        facts=facts,
        told=told,
    )


def _success_by_length(found: "Horizon") -> str:
    """Success on tasks of each bin of length, beside what the curve says of them."""
    words = []
    for part in found.bins:
        if part.rate.n_trials:
            where = f"under {part.high:g}" if part.low == 0 else f"{part.low:g} and more"
            if part.low > 0 and part.high != math.inf:
                where = f"{part.low:g} to {part.high:g}"
            fitted = "" if part.fitted is None else f", fitted {number_words(part.fitted, SHARE)}"
            words.append(
                f"{where}: {number_words(part.rate.value, SHARE)} of {part.rate.n_trials} trials on "
                f"{part.rate.n_tasks} tasks{fitted}"
            )
    return f"success by human minutes, tasks counting alike: {'; '.join(words)}"


def _other_choices(chance: float, column: int, variants: list[dict[str, Any]]) -> str:
    """The horizon under choices nobody can settle; leaving out one family each as a range."""
    words = [
        f"{one['choice']} {one['setting']}: {one['shown'][column]}"
        for one in variants
        if one["choice"] != "without family"
    ]
    families = [one for one in variants if one["choice"] == "without family" and one["horizons"][column]]
    if families:
        least, most = (pick(families, key=lambda one: one["horizons"][column]) for pick in (min, max))
        words.append(
            f"without one family each: {least['shown'][column]} ({least['setting']}) "
            f"to {most['shown'][column]} ({most['setting']})"
        )
    return f"horizon at {100 * chance:g} %, minutes under other choices: {'; '.join(words)}"


def _bins(name: str, found: "Horizon") -> list[dict[str, Any]]:
    """Success by bin of length, at the bin's middle on the logarithmic axis."""
    rows = []
    for part in found.bins:
        low = max(part.low, found.shortest or part.low)
        high = min(part.high, found.longest or part.high)
        if part.rate.n_trials and 0 < low <= high:
            rows.append({"series": name, "x": (low * high) ** 0.5, "y": part.rate.value,
                         "low": part.rate.low, "high": part.rate.high})  # fmt: skip
    return rows
