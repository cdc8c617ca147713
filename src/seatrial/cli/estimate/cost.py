"""``seatrial estimate cost``: what a success costs, and the tail of what trials take."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.estimate.answer import Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source, check_number
from seatrial.cli.estimate.text import number_words
from seatrial.cli.estimate.trials import (
    Chosen,
    Measure,
    by_task,
    number_measure,
    outcome_measure,
    valid_by_task,
    words_on_money,
)
from seatrial.cli.options import flat
from seatrial.report.tables import Cell

if TYPE_CHECKING:
    from seatrial.estimate.tail import TailQuantile

COST_OPTION = typer.Option(help="What is paid: money, elapsed_seconds, actions, output_tokens, model_calls …")


@flat
def cost(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    of: Annotated[str, COST_OPTION] = "money",
    cap: Annotated[
        float | None,
        typer.Option(help="The declared limit that trials without a success are counted at, in the tail."),
    ] = None,
) -> None:
    """Cost per success over all trials, failed ones too; and P50 to P99 of the cost until a success.

    The interval is Fieller's over tasks, the bootstrap stands beside it, or instead of it where too few
    succeeded for Fieller's to end (g of 1 and more). With --cap, trials without a
    success stand at the cap in the quantiles; without it quantiles are of all trials as they ended.
    """
    check_number("--cap", cap, "a limit above 0, in the unit of the cost", lambda limit: limit > 0)
    estimated(source, "cost", asked, lambda chosen: _answer(chosen, asked, outcome, of, cap))


def _answer(chosen: Chosen, asked: Asked, outcome: Outcome, of: str, cap: float | None) -> Answer:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    paid = number_measure(chosen, of, "cost")
    said += words_on_money(chosen, paid)
    lines: list[Line] = []
    for cell in chosen.cells:
        name = name_of(cell, chosen.cells)
        lines.append(_per_success(cell, measure, paid, asked, name))
        lines += _tail(cell, measure, paid, asked, name, cap)
    title = f"{of} per success by {measure.name}"
    return Answer(
        title=title, lines=lines, limits=said, settings={"measure": measure.name, "of": of, "cap": cap}
    )


def _per_success(cell: Cell, measure: Measure, paid: Measure, asked: Asked, name: str) -> Line:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.cost import BY_DRAWS, cost_per_success

    found = cost_per_success(
        by_task(cell.every, paid.read), valid_by_task(cell, measure.read),
        np.random.default_rng(asked.seed), asked.level, asked.draws or DRAWS,
    )  # fmt: skip
    told, beside = [], []
    if found.bootstrap is not None and found.estimate.method != BY_DRAWS:
        low, high = found.bootstrap
        beside = [msgspec.structs.replace(found.estimate, low=low, high=high, method=BY_DRAWS, notes=[])]
    if found.fieller is not None:
        least, most = (number_words(end) for end in found.fieller)
        told.append(
            f"Fieller's interval of {paid.name} per success is [{least}, {most}] (g {found.instability:.3g})."
        )
    return Line(
        system=name,
        quantity=f"{paid.name} per success",
        counts=paid.counts,
        estimate=found.estimate,
        beside=beside,
        denominators=counts_of(cell, [measure.read(record) for record in cell.valid], True),
        columns={"draws": str(found.draws), "without success": str(found.draws_without_success)},
        facts={"fieller": found.fieller, "bootstrap": found.bootstrap, "instability": found.instability,
               "draws": found.draws, "draws_without_success": found.draws_without_success},
        told=told,
    )  # fmt: skip


def _tail(
    cell: Cell, measure: Measure, paid: Measure, asked: Asked, name: str, cap: float | None
) -> list[Line]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.endings import DRAWS, SUCCESS, Ending
    from seatrial.estimate.tail import tail_quantiles

    ends: dict[str, list[Ending]] = {}
    unknown = 0
    for record in cell.valid:
        amount, outcome = paid.read(record), measure.read(record)
        if amount is None or (outcome is None and cap is not None):
            unknown += 1
            continue
        ends.setdefault(record.task, []).append(
            Ending(float(amount), SUCCESS if outcome or cap is None else None)
        )
    found = tail_quantiles(
        ends, np.inf if cap is None else cap, np.random.default_rng(asked.seed), level=asked.level,
        draws=asked.draws or DRAWS,
    )  # fmt: skip
    what = f"{paid.name} of a trial" if cap is None else f"{paid.name} until a success, others at {cap:g}"
    counted = counts_of(cell, [paid.read(record) for record in cell.valid], False)
    return [
        Line(
            system=name,
            quantity=f"P{100 * one.share:g} of {what}",
            counts=paid.counts,
            estimate=one.estimate,
            denominators=counted,
            shown=f">= {number_words(one.estimate.value)}"
            if one.at_cap and one.estimate.value is not None
            else None,
            columns=_columns(one),
            facts={**_facts(one), "left_out": unknown},
            told=[f"{unknown} valid trials without a known {what} are in no quantile."]
            if unknown and n == 0
            else [],
        )
        for n, one in enumerate(found)
    ]


def _columns(one: "TailQuantile") -> dict[str, str]:
    return {
        "beyond": str(one.trials_beyond),
        "at the cap": str(one.n_at_cap),
        "trials wanted": str(one.trials_wanted),
    }


def _facts(one: "TailQuantile") -> dict[str, Any]:
    return {
        "share": one.share, "at_cap": one.at_cap, "order_statistics": one.order_statistics,
        "bootstrap": one.bootstrap,
        "trials_beyond": one.trials_beyond, "trials_wanted": one.trials_wanted, "n_at_cap": one.n_at_cap,
    }  # fmt: skip
