"""``seatrial estimate variants``: does success hold where only the surface of a task changed? (F28)"""

import msgspec

from seatrial.cli.estimate.answer import POINTS, SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source
from seatrial.cli.estimate.trials import Chosen, Measure, outcome_measure, restricted, valid_by_task
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.report.tables import Cell

SHOWN = 3


@flat
def variants(source: Source, asked: Asked, outcome: Outcome) -> None:
    """Success on original tasks less success on their variants, paired by original.

    `variant_of` says of which task a row's task is a variant: generated tasks declare it, and an import's
    mapping or a table may have it as a column. All variants of one original stand together.
    """
    estimated(source, "variants", asked, lambda chosen: _answer(chosen, asked, outcome))


def _answer(chosen: Chosen, asked: Asked, outcome: Outcome) -> Answer:
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    lines: list[Line] = []
    for cell in chosen.cells:
        found, left_out = _lines(chosen, cell, measure, asked)
        lines += found
        said += left_out
    return Answer(
        title=f"Originals against their variants by {measure.name}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name},
    )


def _lines(chosen: Chosen, cell: Cell, measure: Measure, asked: Asked) -> tuple[list[Line], list[str]]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.permutation import FLIPS
    from seatrial.estimate.rates import rate_over_tasks
    from seatrial.estimate.variants import variant_gap

    name, there = name_of(cell, chosen.cells), {record.task for record in cell.records}
    original_of = _originals(chosen, cell)
    paired = {task: source for task, source in original_of.items() if source in there}
    if not paired:
        known = f"e.g. {next(iter(original_of.values()))}" if original_of else "no row has variant_of"
        raise UsageError(
            f"{chosen.source}: {name} has no variant together with its original ({known}). Run both, or give "
            "rows whose variant_of names a task among them."
        )
    sources = set(paired.values())
    originals = restricted(cell, [record for record in cell.records if record.task in sources])
    changed = restricted(cell, [record for record in cell.records if record.task in paired])
    sides = {"the originals": originals, "their variants": changed}
    outcomes = [valid_by_task(side, measure.read) for side in sides.values()]
    found = variant_gap(
        outcomes[0], outcomes[1], paired, np.random.default_rng(asked.seed), asked.level, asked.draws or FLIPS
    )
    gap = {key: value for key, value in msgspec.structs.asdict(found).items() if key != "difference"}
    p = "none" if found.p is None else f"{found.p:.3g}"
    words = _words(found.verdict)
    lines = [
        Line(
            system=name, quantity=f"{measure.name} on {which}", counts=SHARE,
            estimate=rate_over_tasks(values, asked.level),
            denominators=counts_of(side, [measure.read(record) for record in side.valid], True),
        )
        for (which, side), values in zip(sides.items(), outcomes, strict=True)
    ]  # fmt: skip
    lines.append(
        Line(
            system=name, quantity="gap, original − variant", counts=POINTS, estimate=found.difference,
            columns={"wins/losses/ties": f"{found.wins}/{found.losses}/{found.ties}", "p": p},
            facts={**gap, "words": words, "original_of": paired},
            told=[f"{words} (p = {p}, {found.test})"],
        )
    )  # fmt: skip
    return lines, _left_out(name, there, paired, original_of)


def _originals(chosen: Chosen, cell: Cell) -> dict[str, str]:
    """Each variant's original.

    Raises:
        UsageError: rows of one task name several, or a variant's original is a variant itself.
    """
    found: dict[str, str] = {}
    for record in cell.records:
        if record.variant_of is None:
            continue
        if found.setdefault(record.task, record.variant_of) != record.variant_of:
            raise UsageError(
                f"{chosen.source}: {record.task} is a variant of {found[record.task]} and of "
                f"{record.variant_of}; a task has one original. Correct the rows."
            )
    chained = sorted(task for task, source in found.items() if source in found)
    if chained:
        raise UsageError(
            f"{chosen.source}: {chained[0]} is a variant of {found[chained[0]]}, which is a variant itself. "
            "Let variant_of name the original."
        )
    return found


def _left_out(name: str, there: set[str], paired: dict[str, str], original_of: dict[str, str]) -> list[str]:
    alone = sorted(set(original_of) - set(paired))
    other = sorted(there - set(original_of) - set(paired.values()))
    said = []
    if alone:
        said.append(f"{name}: {len(alone)} variants without their original are left out: {_few(alone)}.")
    if other:
        said.append(f"{name}: {len(other)} tasks without a variant are left out: {_few(other)}.")
    return said


def _words(verdict: str) -> str:
    return {
        "A higher": "does better on the originals than on their variants",
        "B higher": "does better on the variants than on their originals",
    }.get(verdict, "originals and variants cannot be told apart yet")


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
