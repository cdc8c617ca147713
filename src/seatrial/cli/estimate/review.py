"""``seatrial estimate review``, ``reviewed``: trials that people look at, and what these say of all."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Line
from seatrial.cli.estimate.giving import Origin, computed, delivered
from seatrial.cli.estimate.options import (
    JSON_OPTION,
    LEVEL,
    LEVEL_OPTION,
    PLOT_OPTION,
    SEED,
    SEED_OPTION,
    SYSTEM,
    Asked,
    Source,
    check_seed,
)
from seatrial.cli.estimate.text import aligned
from seatrial.cli.estimate.trials import SUCCESS, Chosen, by_themselves, choose_trials, find_measure, parts_by
from seatrial.cli.options import flat
from seatrial.cli.visible import visible
from seatrial.errors import SpecError, UsageError
from seatrial.importers.csv_text import read_csv
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row, number_in
from seatrial.journal.run import write_whole
from seatrial.records.trial import TrialRecord
from seatrial.spec.faults import choose, ended, shown
from seatrial.spec.reading import read_bytes

if TYPE_CHECKING:
    from seatrial.estimate.review import ReviewSample

EACH = 10
COLUMNS = ("item", "stratum", "stratum_size", "probability", "finding")
EXPECTS = "the sheet that `seatrial estimate review` wrote, its column finding filled in"
WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Sampling:
    """How the sample is drawn; each field is an option."""

    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Strata of risk are the values of this column; left out: "
                     "disputed verdicts, unknown outcomes, broken rules, successes, failures."),
    ] = None  # fmt: skip
    each: Annotated[
        int, typer.Option(help="Trials to review of every stratum; all where it has fewer.", min=1)
    ] = EACH
    want: Annotated[
        list[str] | None,
        typer.Option(metavar="STRATUM=N", help="Another number for one stratum. May be repeated."),
    ] = None  # fmt: skip


@flat
def review(
    source: Source,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Write the sample here: a new CSV, one trial a line.")
    ],
    sampling: Sampling,
    system: Annotated[list[str] | None, SYSTEM] = None,
    seed: Annotated[int, SEED_OPTION] = SEED,
    json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Draw trials for people to review, more often where the risk is higher, each with its probability kept.

    Show reviewers the items only, fill in `finding` (true, false or a number; empty is undecided), then weigh
    the sheet with `seatrial estimate reviewed`.
    """
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.review import draw_for_review

    check_seed(seed)
    if out.exists():
        raise UsageError(f"{out}: exists, and may hold findings. Give a new file.")
    chosen = by_themselves(choose_trials(source, Asked(system=system, allow_mixed=True)))
    strata = _strata(chosen, sampling.by)
    wanted = _wanted(sampling, set(strata.values()))
    sample = draw_for_review(strata, wanted, np.random.default_rng(seed))
    try:
        write_whole(out, _sheet(sample), sync=False)
    except OSError as fault:
        raise UsageError(f"{out}: cannot be written: {fault.strerror}. Give another file.") from fault
    counts = {
        name: (size, sum(one.stratum == name for one in sample.picked)) for name, size in sample.sizes.items()
    }
    if json:
        facts = {
            name: {"trials": size, "picked": n, "probability": n / size} for name, (size, n) in counts.items()
        }
        given = {"sheet": str(out), "source": chosen.source, "seed": seed, "strata": facts,
                 "picked": sample.picked, "limits": chosen.limits}  # fmt: skip
        typer.echo(msgspec.json.encode(given))
        return
    rows = [["stratum", "trials", "to review", "probability"]]
    rows += [[name, str(size), str(n), f"{n / size:.3g}"] for name, (size, n) in counts.items()]
    for text in [*aligned(rows), "", f"written: {out} ({len(sample.picked)} trials, seed {seed})"]:
        typer.echo(visible(text))


@flat
def reviewed(
    sheet: Annotated[
        Path, typer.Argument(metavar="SHEET.csv", help="A sheet of `review`, with its findings filled in.")
    ],
    level: Annotated[float, LEVEL_OPTION] = LEVEL,
    json: Annotated[bool, JSON_OPTION] = False,
    plot: Annotated[Path | None, PLOT_OPTION] = None,
) -> None:
    """Total and rate over all trials, reviewed or not, from a sheet that people filled in.

    Each finding counts for 1/probability trials (Horvitz and Thompson).
    """
    asked = Asked(level=level, json=json, plot=plot)
    asked.check()
    rows = list(read_csv(Piece(str(sheet), sheet.name, read_bytes(sheet), 0), EXPECTS, COLUMNS))
    answer = computed(str(sheet), "reviewed", lambda: _weighed(rows, asked))
    delivered(answer, "reviewed", Origin(source=str(sheet)), asked)


def _strata(chosen: Chosen, by: str | None) -> dict[str, str]:
    """Every trial's stratum of risk, by its name; with its experiment's where two share one."""
    found: dict[str, str] = {}
    several = len({record.experiment for record in chosen.records}) > 1
    success, _ = find_measure(chosen, SUCCESS)
    for cell in chosen.cells:
        parts = [("", cell)] if by is None else parts_by(cell, by)
        for name, part in parts:
            for record in part.records:
                item = f"{record.experiment}/{record.trial}" if several else record.trial
                found[item] = name or risk_of(record, success.read(record))
    return found


def risk_of(record: TrialRecord, outcome: bool | None) -> str:
    """How far a verdict on a trial is to be doubted: the first of these that holds."""
    if record.contradictions or record.flaky_verifiers or record.product_triggered_errors:
        return "disputed"
    if record.terminal_class == "infrastructure":
        return "infrastructure"
    if outcome is None:
        return "unknown"
    if record.hard_violations:
        return "broke a rule"
    return "success" if outcome else "failure"


def _wanted(sampling: Sampling, strata: set[str]) -> dict[str, int]:
    wanted = dict.fromkeys(sorted(strata), sampling.each)
    for given in sampling.want or ():
        name, _, number = given.rpartition("=")
        if not number.isascii() or not number.isdigit() or int(number) < 1:
            raise UsageError(f"--want {given!r} names no number of 1 or more. Write it as STRATUM=N.")
        if name not in wanted:
            raise UsageError(f"there is no stratum {shown(name)}. {ended(choose(name, wanted, 'a stratum'))}")
        wanted[name] = int(number)
    return wanted


def _sheet(sample: "ReviewSample") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in sample.picked:
        writer.writerow([one.item, one.stratum, sample.sizes[one.stratum], repr(one.probability), ""])
    return text.getvalue().encode()


def _weighed(rows: Sequence[Row], asked: Asked) -> Answer:
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.review import weighted_total

    sample, found = _read(rows)
    total = weighted_total(sample, found, asked.level)
    items = sum(sample.sizes.values())
    yes_no = all(value in (0.0, 1.0, None) for value in found.values())
    if yes_no and total.low is not None and total.high is not None:
        total = msgspec.structs.replace(total, low=max(0.0, total.low), high=min(float(items), total.high))
    share = msgspec.structs.replace(
        total,
        value=None if total.value is None else total.value / items,
        low=None if total.low is None else total.low / items,
        high=None if total.high is None else total.high / items,
    )
    facts = {"sizes": sample.sizes, "undecided": sum(value is None for value in found.values())}
    return Answer(
        title="Findings of a review, weighed to all trials",
        lines=[
            Line(system="all trials", quantity="total of findings", estimate=total, facts=facts),
            Line(
                system="all trials", quantity="findings a trial", counts=SHARE if yes_no else "",
                estimate=share,
            ),
        ],
        limits=["tasks and trials count reviewed items here.", "Strata are those of the sheet."],
    )  # fmt: skip


def _read(rows: Sequence[Row]) -> tuple["ReviewSample", dict[str, float | None]]:
    """The sample as it was drawn, and its findings.

    Raises:
        SpecError: an item is there twice, a stratum has two sizes, or lines of it are missing or too many.
    """
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.review import Picked, ReviewSample

    picked: list[Picked] = []
    found: dict[str, float | None] = {}
    sizes: dict[str, int] = {}
    lines: dict[str, Row] = {}
    for row in rows:
        item, stratum = row.text("item"), row.text("stratum")
        size = row.parsed("stratum_size").whole("stratum_size", 1)
        probability = row.parsed("probability").number("probability", 0.0)
        if item in found:
            raise row.fault("item", f"{item} is there twice", "Keep one line of each item")
        if size is None or probability is None:
            raise row.fault("probability", "is unknown", "Leave size and probability as they were drawn")
        if sizes.setdefault(stratum, size) != size:
            raise row.fault(
                "stratum_size", f"{size}, and {sizes[stratum]} before", "Leave it as it was drawn"
            )
        lines[stratum] = row
        picked.append(Picked(item=item, stratum=stratum, probability=probability))
        found[item] = _finding(row)
    for stratum, size in sizes.items():
        own = [one for one in picked if one.stratum == stratum]
        if len(own) > size or any(abs(one.probability - len(own) / size) > 1e-9 for one in own):
            raise lines[stratum].fault(
                "probability", f"{len(own)} of {size} lines of {stratum} do not fit it",
                "Keep every line that was drawn, also those nobody decided (an empty finding)",
            )  # fmt: skip
    return ReviewSample(picked=picked, sizes=sizes), found


def _finding(row: Row) -> float | None:
    text = row.maybe_text("finding")
    if text is None:
        return None
    value: Any = WORDS.get(text.lower(), number_in(text))
    if isinstance(value, str) or value != value or abs(value) == float("inf"):
        raise SpecError(
            row.file, row.place, f"finding {text!r} is no finding", "Write true, false, a number, or nothing"
        )
    return float(value)
