"""``seatrial estimate verifier-error``: what a verifier gets wrong, and what success rate that leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from seatrial.calibrate.record import Outcome, read_calibration
from seatrial.cli.estimate.answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import Origin, computed, delivered
from seatrial.cli.estimate.options import Asked
from seatrial.cli.estimate.raters import Drawn
from seatrial.cli.estimate.trials import Chosen, choose_trials, outcome_measure, valid_by_task
from seatrial.cli.options import flat
from seatrial.errors import SpecError
from seatrial.importers.csv_text import read_csv
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row
from seatrial.report.wording import counted
from seatrial.spec.reading import read_bytes

COLUMNS = ("product", "quality", "accepted")
EXPECTS = "a CSV with the columns product, quality (good or bad) and accepted (true, false or empty)"

Judged = dict[str, list[bool | None]]


@dataclass(frozen=True)
class Products:
    """Products of known quality, and those that tell nothing of a verifier of final states.

    Attributes:
        good, bad: product to whether each judging of it accepted.
        lawless: products that must be rejected and broke a hard constraint, or may have.
    """

    good: Judged = field(default_factory=dict)
    bad: Judged = field(default_factory=dict)
    lawless: list[str] = field(default_factory=list)


@flat
def verifier_error(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="TASK|PRODUCTS.csv…", help="Task folders with a `seatrial calibrate`, "
                       "or tables with the columns product, quality (good, bad), accepted (true, false)."),
    ],
    drawn: Drawn,
    run: Annotated[
        Path | None,
        typer.Option(metavar="RUN|RECORDS", help="Also correct the strict success of each of its systems."),
    ] = None,
    allow_mixed: Annotated[
        bool, typer.Option("--allow-mixed", help="Go on where the run's versions or protocols differ.")
    ] = False,
) -> None:  # fmt: skip
    """Recall on good and on bad products apart, precision, idempotence; and a run's success corrected.

    Good products are references and other right solutions, bad ones all that must be rejected for their
    final state: one that broke a hard constraint may be right by it, and is left out and counted. The
    corrected rate (Rogan and Gladen) joins the uncertainty of all three rates.
    """
    asked = drawn.asked()
    products = _products(sources)
    chosen = None
    if run is not None:
        chosen = choose_trials(run, Asked(level=asked.level, allow_mixed=allow_mixed))
    where = ", ".join(map(str, sources))
    answer = computed(where, "verifier error", lambda: _answer(products, chosen, asked))
    origin = Origin(
        source=where,
        experiments=chosen.loaded.experiments if chosen else [],
        limits=chosen.limits if chosen else [],
        mixed=chosen.mixed if chosen else [],
    )
    delivered(answer, "verifier-error", origin, asked)


def _products(sources: list[Path]) -> Products:
    """Every product's judgements."""
    found = Products()
    for source in sources:
        if source.is_dir():
            _of_task(source, found)
        else:
            _of_table(source, found)
    return found


def _of_task(folder: Path, found: Products) -> None:
    calibration = read_calibration(folder)
    if calibration is None:
        raise SpecError(
            str(folder), "", "the task was never calibrated", f"Run `seatrial calibrate {folder}`"
        )
    for product in calibration.products:
        name = f"{calibration.task}: {product.name}"
        judged = [one for one in product.outcomes if one.terminal_class != "infrastructure"]
        good = product.expected == "accepted"
        if not good and not _lawful(judged):
            found.lawless.append(name)
            continue
        (found.good if good else found.bad)[name] = [outcome.strict_success for outcome in judged]


def _lawful(outcomes: Sequence[Outcome]) -> bool:
    """Whether no trial broke a hard constraint: only then must the final state be why it is rejected."""
    return all(outcome.hard_violations == 0 for outcome in outcomes)


def _of_table(path: Path, found: Products) -> None:
    for row in read_csv(Piece(str(path), path.name, read_bytes(path), 0), EXPECTS, COLUMNS):
        quality = row.text("quality")
        if quality not in ("good", "bad"):
            raise row.fault("quality", f"{quality!r} is not known", "Write good or bad")
        judged = found.good if quality == "good" else found.bad
        judged.setdefault(row.text("product"), []).append(_accepted(row))


def _accepted(row: Row) -> bool | None:
    """The verdict; a CSV holds words only."""
    word = row.maybe_text("accepted")
    if word is None:
        return None
    if word.strip().lower() not in ("true", "false"):
        raise row.fault("accepted", f"{word!r} is not known", "Write true, false, or nothing where unknown")
    return word.strip().lower() == "true"


def _answer(products: Products, chosen: Chosen | None, asked: Asked) -> Answer:
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.verifier_error import verifier_error as errors

    good, bad = products.good, products.bad
    found = errors(good, bad, asked.level)
    parts = {
        "recall on good products": found.recall_good,
        "recall on bad products": found.recall_bad,
        "precision": found.precision,
        "accuracy in this mix": found.accuracy,
        "idempotence": found.idempotence,
    }
    lines = [
        Line(system="verifier", quantity=name, counts=SHARE, estimate=part) for name, part in parts.items()
    ]
    said = [
        f"{len(good)} good and {len(bad)} bad products; tasks counts products and trials judgements here."
    ]
    if products.lawless:
        count, names = len(products.lawless), ", ".join(products.lawless)
        said.append(
            f"Left out: {counted(count, 'product')} that must be rejected and broke a hard constraint, or may"
            f" have ({names}): the final state may be right, so that accepting it is no error."
        )
    if chosen is not None:
        corrected, more = _corrected(good, bad, chosen, asked)
        lines += corrected
        said += more
    return Answer(title="Verifier error", lines=lines, limits=said)


def _corrected(good: Judged, bad: Judged, chosen: Chosen, asked: Asked) -> tuple[list[Line], list[str]]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.verifier_error import corrected_rate

    measure, said = outcome_measure(chosen, "strict_success", None)
    lines = []
    for cell in chosen.cells:
        outcomes = valid_by_task(cell, measure.read)
        rng = np.random.default_rng(asked.seed)
        lines.append(
            Line(
                system=name_of(cell, chosen.cells),
                quantity="strict_success, corrected",
                counts=SHARE,
                estimate=corrected_rate(outcomes, good, bad, rng, asked.level, asked.draws or DRAWS),
                denominators=counts_of(cell, [measure.read(record) for record in cell.valid], True),
            )
        )
    return lines, [*said, "The correction takes the run's products to be like the calibration's."]
