"""``seatrial estimate survival`` and ``budget``: success against time or any other resource."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Counted, Line, counts_of, name_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source, check_number, number_pairs
from seatrial.cli.estimate.trials import Chosen, Measure, by_themselves, number_measure, outcome_measure
from seatrial.cli.options import flat
from seatrial.estimate.estimate import Estimate
from seatrial.report.tables import Cell

if TYPE_CHECKING:
    from numpy.random import Generator

    from seatrial.estimate.endings import Ending
    from seatrial.estimate.timed import Timed

FAILED = "stopped by itself"
AXIS = "elapsed_seconds"
# How trials are read whose outcome, or whose cut, nobody knows: all as ended without success, all as
# succeeded, and all as still running where they may have been cut off.
Endings = Mapping[str, Sequence["Ending"]]
Read = Callable[[Endings, "Generator"], "Timed"]

AXIS_OPTION = typer.Option(
    help="What is spent until the end of a trial: elapsed_seconds, actions, output_tokens, money …",
    show_default=True,
)


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """One system's trials on an axis.

    Attributes:
        worst, best: task to endings, unknown outcomes taken as failures and as successes.
        running: the same, taken as cut off without a success wherever that may be.
        counted: the denominators.
        unknown: trials read in these ways.
        unplaced: valid trials whose place is unknown; in no curve.
        late: successes among trials that a limit cut off.
    """

    worst: Endings
    best: Endings
    running: Endings
    counted: Counted
    unknown: int
    unplaced: int
    late: int

    @property
    def ways(self) -> list[Endings]:
        """What has to be read; one where nothing is unknown."""
        return [self.worst, self.best, self.running] if self.unknown else [self.worst]


@flat
def survival(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    axis: Annotated[str, AXIS_OPTION] = AXIS,
    within: Annotated[
        list[float] | None, typer.Option(help="Also the share that succeeds within this; may be repeated.")
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(help="Where the restricted mean stops; the shortest of the systems' longest trials."),
    ] = None,
) -> None:
    """Time to success, with trials cut off by a limit censored and trials that stopped by themselves apart.

    Gives F(b), the share that succeeds within b (Aalen–Johansen); the time by which half have succeeded;
    and the restricted mean time to any end (Kaplan–Meier). A success stands at the end of its trial.
    """
    estimated(
        source, "survival", asked, lambda chosen: _survival(chosen, asked, outcome, axis, within, until)
    )


def _survival(
    chosen: Chosen, asked: Asked, outcome: Outcome, axis: str, within: list[float] | None, until: float | None
) -> Answer:
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.endings import DRAWS
    from seatrial.estimate.rmst import restricted_mean

    measure, spent, said = _measures(chosen, outcome, axis)
    watched = {name_of(cell, chosen.cells): watch(cell, measure, spent) for cell in chosen.cells}
    draws = asked.draws or DRAWS
    ends = _longest_of_each(chosen, watched)
    stop = until if until is not None else min(ends, default=None)
    budgets = within or ([stop / 4, stop / 2, stop] if stop else [])
    lines: list[Line] = []
    for name, one in watched.items():
        for budget in budgets:
            share = read_every_way(one, _within(budget, asked.level, draws), asked.seed)
            lines.append(_line(name, f"success within {budget:.4g} {spent.counts}", SHARE, one, share))
        half = read_every_way(one, _least(0.5, asked.level, draws), asked.seed)
        lines.append(_line(name, "half have succeeded by", spent.counts, one, half))
        if stop:
            mean = read_every_way(
                one, lambda e, rng: restricted_mean(e, stop, rng, asked.level, draws), asked.seed
            )
            lines.append(
                _line(name, f"mean until any end, up to {stop:.4g} {spent.counts}", spent.counts, one, mean)
            )
    drawn = Drawing(
        look="steps", rows=_curves(watched, asked), x=f"{axis} until the end of the trial",
        y="share that has succeeded",
    )  # fmt: skip
    return Answer(
        title=f"Success against {axis} by {measure.name}",
        lines=lines,
        limits=[*said, *_said(watched, axis)],
        settings={"measure": measure.name, "axis": axis, "until": stop},
        drawing=drawn,
    )


@flat
def budget(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    axis: Annotated[str, AXIS_OPTION] = AXIS,
    between: Annotated[
        str | None,
        typer.Option(metavar="LOW:HIGH", help="The practical range, declared before the results; from 0 to "
                     "the shortest of the systems' longest trials if left out."),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Every doubling of the budget counts alike.")] = False,
    target: Annotated[
        list[float] | None, typer.Option(help="Least budget for this share of successes; may be repeated.")
    ] = None,
) -> None:  # fmt: skip
    """What a budget buys: mean success over a range of budgets, and the least budget for a target.

    A target that no budget reaches is said to be unreachable, or unreached within what was watched.
    """
    for share in target or []:
        check_number("--target", share, "a share of successes in (0, 1]", lambda one: 0 < one <= 1)
    estimated(
        source, "budget", asked, lambda chosen: _budget(chosen, asked, outcome, axis, (between, log), target)
    )


def _budget(
    chosen: Chosen,
    asked: Asked,
    outcome: Outcome,
    axis: str,
    over: tuple[str | None, bool],
    targets: list[float] | None,
) -> Answer:
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.budget import Scale, budget_area
    from seatrial.estimate.endings import DRAWS

    measure, spent, said = _measures(chosen, outcome, axis)
    watched = {name_of(cell, chosen.cells): watch(cell, measure, spent) for cell in chosen.cells}
    draws, scale = asked.draws or DRAWS, _scale(over[1])
    ends = _longest_of_each(chosen, watched)
    reach = number_pairs("--between", over[0]) if over[0] else (0.0, min(ends, default=0.0))
    chosen_scale: Scale = "log" if scale == "log" else "linear"
    lines: list[Line] = []
    for name, one in watched.items():
        if reach[1] > 0:
            area = read_every_way(
                one, lambda e, rng: budget_area(e, reach, rng, chosen_scale, asked.level, draws), asked.seed
            )
            lines.append(
                _line(
                    name,
                    f"mean success from {reach[0]:.4g} to {reach[1]:.4g} {spent.counts} ({scale})",
                    SHARE,
                    one,
                    area,
                )
            )
        for wanted in targets or [0.5]:
            least = read_every_way(one, _least(wanted, asked.level, draws), asked.seed)
            lines.append(_line(name, f"least budget for {100 * wanted:g} %", spent.counts, one, least))
    drawn = Drawing(
        look="steps", rows=_curves(watched, asked), x=axis, y="share that has succeeded", log_x=over[1]
    )
    return Answer(
        title=f"What {axis} buys, by {measure.name}",
        lines=lines,
        limits=[*said, *_said(watched, axis)],
        settings={"measure": measure.name, "axis": axis, "between": list(reach), "scale": scale},
        drawing=drawn,
    )


def _longest_of_each(chosen: Chosen, watched: Mapping[str, Watched]) -> list[float]:
    """The longest trial of each system; what a person had a part in shortens nobody's range."""
    names = [name_of(cell, chosen.cells) for cell in by_themselves(chosen).cells]
    return [found for name in names if (found := longest(watched[name]))]


def _within(budget: float, level: float, draws: int) -> Read:
    """F(b) at one budget."""
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.incidence import success_within

    return lambda endings, rng: success_within(endings, [budget], rng, level, draws)[0]


def _least(share: float, level: float, draws: int) -> Read:
    """The least budget by which a share succeeds."""
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.budget import least_budget

    return lambda endings, rng: least_budget(endings, share, rng, level, draws)


def _scale(log: bool) -> str:
    return "log" if log else "linear"


def _measures(chosen: Chosen, outcome: Outcome, axis: str) -> tuple[Measure, Measure, list[str]]:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    return measure, number_measure(chosen, axis, "axis"), said


def watch(cell: Cell, measure: Measure, spent: Measure) -> Watched:
    """One system's endings.

    A success stands at the end of its trial, also where a limit cut that off. A failure that was cut off is
    censored, any other one a competing end.
    """
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.endings import SUCCESS, Ending

    worst: dict[str, list[Ending]] = {}
    best: dict[str, list[Ending]] = {}
    running: dict[str, list[Ending]] = {}
    unknown = unplaced = late = 0
    for record in cell.valid:
        at, outcome = spent.read(record), measure.read(record)
        if at is None:
            unplaced += 1
            continue
        late += outcome is True and record.censored is True
        open_end = outcome is None or (outcome is False and record.censored is None)
        unknown += open_end
        against = SUCCESS if outcome else None if record.censored else FAILED
        cut = SUCCESS if outcome else FAILED if record.censored is False else None
        favour = cut if outcome is False else SUCCESS
        for found, cause in ((worst, against), (best, favour), (running, cut)):
            found.setdefault(record.task, []).append(Ending(float(at), cause))
    return Watched(
        worst=worst,
        best=best,
        running=running,
        counted=counts_of(cell, [measure.read(record) for record in cell.valid], True),
        unknown=unknown,
        unplaced=unplaced,
        late=late,
    )


def longest(watched: Watched) -> float:
    """The longest watched trial; 0 without any."""
    return max((end.at for ends in watched.worst.values() for end in ends), default=0.0)


def read_every_way(watched: Watched, read: Read, seed: int) -> list["Timed"]:
    """A number by each way unknown outcomes and cuts may be read; all on the same draws."""
    # Loaded here, since numpy slows every start.
    import numpy as np

    return [read(endings, np.random.default_rng(seed)) for endings in watched.ways]


def between(ways: Sequence[Estimate], unknown: int) -> Estimate:
    """One estimate that covers all ways; its value is null unless they agree."""
    first = ways[0]
    if not unknown or all(one == first for one in ways):
        return first
    values = [one.value for one in ways]
    ends = [end for one in ways for end in (one.low, one.high)]
    known = [end for end in ends if end is not None]
    note = f"{unknown} trials whose outcome or cut is unknown are taken every way"
    told = [value for value in values if value is not None]
    span = f": between {min(told):.4g} and {max(told):.4g}." if len(told) == len(values) else "."
    return msgspec.structs.replace(
        first,
        value=first.value if len(set(values)) == 1 else None,
        low=None if len(known) < len(ends) else min(known),
        high=None if len(known) < len(ends) else max(known),
        notes=[*dict.fromkeys(note for one in ways for note in one.notes), note + span],
    )


def _line(name: str, quantity: str, counts: str, watched: Watched, found: list["Timed"]) -> Line:
    first = found[0]
    facts: dict[str, Any] = {
        "analytic": first.analytic, "standard_error": first.standard_error, "draws": first.draws,
        "draws_unreached": first.draws_unreached, "unplaced": watched.unplaced,
        "taken_every_way": watched.unknown, "verified_timeouts": watched.late,
    }  # fmt: skip
    if len(found) > 1:
        names = ("as_failures", "as_successes", "as_still_running")
        facts |= {way: one.estimate for way, one in zip(names, found, strict=True)}
    return Line(
        system=name,
        quantity=quantity,
        counts=counts,
        estimate=between([one.estimate for one in found], watched.unknown),
        denominators=watched.counted,
        columns={"draws unreached": str(first.draws_unreached)} if first.draws else {},
        facts=facts,
    )


def _said(watched: Mapping[str, Watched], axis: str) -> list[str]:
    """What the curves leave out or decide, in words."""
    said = ["A success stands at the end of its trial: when the work was done before is not known."]
    for name, one in watched.items():
        if one.unplaced:
            said.append(f"{one.unplaced} valid trials of {name} have no {axis} and are in no curve.")
        if one.late:
            said.append(f"{one.late} trials of {name} were cut off and are successes all the same.")
    return said


def _curves(watched: Mapping[str, Watched], asked: Asked) -> list[dict[str, Any]]:
    """F(b) of every system for the drawing, unknown outcomes as failures."""
    if asked.plot is None:
        return []
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.endings import DRAWS
    from seatrial.estimate.incidence import cumulative_incidence

    rows = []
    for name, one in watched.items():
        series = f"{name} (unknown as failures)" if one.unknown else name
        curve = cumulative_incidence(
            one.worst, np.random.default_rng(asked.seed), level=asked.level, draws=asked.draws or DRAWS
        )
        columns = (curve.places, curve.values, curve.lows, curve.highs)
        for x, y, low, high in zip(*columns, strict=True):
            rows.append({"series": series, "x": x, "y": y, "low": low, "high": high})
    return rows
