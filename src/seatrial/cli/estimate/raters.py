"""``seatrial estimate agreement``: do people who rate the same things agree beyond chance?"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from seatrial.cli.estimate.answer import Answer, Line
from seatrial.cli.estimate.giving import Origin, computed, delivered
from seatrial.cli.estimate.options import (
    DRAWS_OPTION,
    JSON_OPTION,
    LEVEL,
    LEVEL_OPTION,
    PLOT_OPTION,
    SEED,
    SEED_OPTION,
    Asked,
)
from seatrial.cli.options import flat
from seatrial.errors import SpecError
from seatrial.importers.csv_text import read_csv
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row, number_in
from seatrial.spec.reading import read_bytes

COLUMNS = ("item", "rater", "rating")
EXPECTS = "a CSV with the columns item, rater and rating, one rating a line, empty where there is none"


class Scales(StrEnum):
    """How far apart two ratings are, as ``--scale`` spells it."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Drawn:
    """How the answer is computed and given; each field is an option."""

    level: Annotated[float, LEVEL_OPTION] = LEVEL
    draws: Annotated[int | None, DRAWS_OPTION] = None
    seed: Annotated[int, SEED_OPTION] = SEED
    json: Annotated[bool, JSON_OPTION] = False
    plot: Annotated[Path | None, PLOT_OPTION] = None

    def asked(self) -> Asked:
        """The same as the estimates over trials take it.

        Raises:
            UsageError: an option is out of range.
        """
        asked = Asked(level=self.level, draws=self.draws, seed=self.seed, json=self.json, plot=self.plot)
        asked.check()
        return asked


@flat
def agreement(
    ratings: Annotated[
        Path, typer.Argument(metavar="RATINGS.csv", help="Columns item, rater, rating; one rating a line.")
    ],
    drawn: Drawn,
    scale: Annotated[
        Scales, typer.Option(help="nominal: words; ordinal and interval: numbers.", show_default=True)
    ] = Scales.NOMINAL,
) -> None:
    """Agreement of raters: Krippendorff's alpha; Cohen's and Fleiss' kappa and ICC where they are defined.

    Items are the sampling unit. A missing rating is missing, never a category.
    """
    asked = drawn.asked()
    rows = list(read_csv(Piece(str(ratings), ratings.name, read_bytes(ratings), 0), EXPECTS, COLUMNS))
    answer = computed(str(ratings), "agreement", lambda: _answer(rows, scale, asked))
    delivered(answer, "agreement", Origin(source=str(ratings)), asked)


def _table(rows: list[Row], scale: Scales) -> tuple[list[list[Any]], list[str]]:
    """Items by raters, in the order of their names; null where one did not rate."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        item, rater = row.text("item"), row.text("rater")
        if rater in found.setdefault(item, {}):
            raise row.fault(
                "rating", f"{rater} rated {item} before", "Keep one rating of each rater and item"
            )
        found[item][rater] = _rating(row, scale)
    raters = sorted({rater for by_rater in found.values() for rater in by_rater})
    return [[found[item].get(rater) for rater in raters] for item in sorted(found)], raters


def _rating(row: Row, scale: Scales) -> Any:
    text = row.maybe_text("rating")
    if text is None or scale is Scales.NOMINAL:
        return text
    value = number_in(text)
    if isinstance(value, str) or value != value or abs(value) == float("inf"):
        raise row.fault("rating", f"{text!r} is no finite number", f"Give numbers to --scale {scale.value}")
    return value


def _answer(rows: list[Row], scale: Scales, asked: Asked) -> Answer:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate import agreement as room
    from seatrial.estimate.bootstrap import DRAWS

    table, raters = _table(rows, scale)
    if len(raters) < 2:
        raise SpecError(
            rows[0].file, "column rater", f"there is one rater, {raters[0]}", "Agreement takes two"
        )
    how: dict[str, Any] = {"level": asked.level, "draws": asked.draws or DRAWS}

    def rng() -> np.random.Generator:
        return np.random.default_rng(asked.seed)

    made = {"Krippendorff's alpha": room.krippendorff_alpha(table, rng(), scale.value, **how)}
    said = []
    if len(raters) == 2 and scale is Scales.NOMINAL:
        made["Cohen's kappa"] = room.cohen_kappa(table, rng(), **how)
    given = [[value for value in row if value is not None] for row in table]
    if scale is Scales.NOMINAL and len({len(row) for row in given}) == 1 and len(given[0]) > 1:
        made["Fleiss' kappa"] = room.fleiss_kappa(given, rng(), **how)
    elif scale is Scales.NOMINAL:
        said.append("No Fleiss' kappa: items differ in how many rated them.")
    if scale is Scales.INTERVAL and all(len(row) == len(raters) for row in given) and len(table) > 1:
        made["ICC(2,1), one rater"] = room.icc(table, rng(), "single", **how)
        made["ICC(2,k), the raters' mean"] = room.icc(table, rng(), "mean", **how)
    elif scale is Scales.INTERVAL:
        said.append("No ICC: not every rater rated every item.")
    missing = sum(value is None for row in table for value in row)
    counts = Counter(str(value) for row in given for value in row)
    said.append(
        f"{len(table)} items, {len(raters)} raters, {missing} ratings missing; "
        + ", ".join(f"{value} {count}" for value, count in sorted(counts.items()))
    )
    said.append("tasks counts items and trials counts ratings here.")
    return Answer(
        title=f"Agreement of {len(raters)} raters, {scale.value}",
        lines=[Line(system="raters", quantity=name, estimate=estimate) for name, estimate in made.items()],
        limits=said,
        settings={"scale": scale.value, "raters": raters},
    )
