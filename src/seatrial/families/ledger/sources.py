"""Real data sets, all in the public domain, from the source archive of one package."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seatrial.errors import SpecError
from seatrial.families.sdist import read_member

DATA = "vega_datasets/_data"
PERIOD_LETTERS = 4
EACH_BEFORE = 2


@dataclass(frozen=True)
class Archive:
    """The pinned sdist; see ``sdist.Pinned``. Its own code is under the MIT licence."""

    name: str = "vega_datasets"
    version: str = "0.9.0"
    sdist_sha256: str = "9dbe9834208e8ec32ab44970df315de9102861e4cda13d8e143aab7a80d93fc0"
    keep: tuple[str, ...] = (DATA, "LICENSE")


@dataclass(frozen=True)
class Entry:
    """One real observation.

    Attributes:
        stamp: an ISO date.
        party: what it belongs to, in lower case.
        amount: in the smallest unit, 0 or more.
    """

    stamp: str
    party: str
    amount: int

    @property
    def period(self) -> str:
        """Its year."""
        return self.stamp[:PERIOD_LETTERS]


@dataclass(frozen=True)
class Source:
    """A data set as entries of a book.

    Attributes:
        name: what it is called here.
        file: in the archive.
        origin, licence: who published it, and on what terms, as the package says.
        about: what an entry is, in words for a work request.
        smallest: the unit of an entry's amount, in words.
        units: what stands for an amount in a file, with how many of the smallest unit it is.
        parties: those that are taken, each with its short name.
        periods: years that are taken.
        spare: entries that a task can take beside the first ones.
        read: entries from the file's rows.
    """

    name: str
    file: str
    origin: str
    licence: str
    about: str
    smallest: str
    units: tuple[tuple[str, int], tuple[str, int]]
    parties: dict[str, str]
    periods: tuple[str, ...]
    spare: int
    read: Callable[[list[dict[str, str]]], list[Entry]]


def entries_of(source: Source, archive: Path) -> list[Entry]:
    """All entries of the taken parties and periods, as the data set orders them.

    Raises:
        SpecError: the archive lacks the file.
    """
    text = read_member(Archive(), archive, f"{DATA}/{source.file}").decode("utf-8")
    found = source.read(list(csv.DictReader(io.StringIO(text))))
    kept = [each for each in found if each.party in source.parties and each.period in source.periods]
    if len(kept) < source.spare:
        raise SpecError(
            str(archive), source.file, f"holds only {len(kept)} entries", "Correct the data set's `spare`"
        )
    return kept


def _weather(rows: list[dict[str, str]]) -> list[Entry]:
    return [
        Entry(row["date"].replace("/", "-"), row["weather"], round(float(row["wind"]) * 10)) for row in rows
    ]


def _employment(rows: list[dict[str, str]]) -> list[Entry]:
    return [
        Entry(row["month"], column.replace("_", " "), round(float(value) * 10))
        for row in rows
        for column, value in row.items()
        if column not in ("month", "nonfarm_change")
    ]


def _electricity(rows: list[dict[str, str]]) -> list[Entry]:
    return [Entry(row["year"], row["source"].lower(), int(row["net_generation"])) for row in rows]


SOURCES = {
    source.name: source
    for source in (
        Source(
            "weather", "seattle-weather.csv", "NOAA, daily records of Seattle, 2012 to 2015",
            "public domain", "the wind of one day, entered under the day's weather",
            "tenths of a metre per second", (("m/s", 10), ("dm/s", 1)),
            {"rain": "ra", "sun": "su", "fog": "fo", "drizzle": "dz"},
            ("2012", "2013", "2014", "2015"), 400, _weather,
        ),
        Source(
            "employment", "us-employment.csv",
            "U.S. Bureau of Labor Statistics, Current Employment Statistics, 2006 to 2015",
            "public domain", "the people employed in one industry in one month", "hundreds of people",
            (("thousand", 10), ("million", 10_000)),
            {"construction": "con", "manufacturing": "man", "retail trade": "ret", "utilities": "uti",
             "information": "inf"},
            ("2007", "2009", "2011", "2013"), 160, _employment,
        ),
        Source(
            "electricity", "iowa-electricity.csv",
            "U.S. Energy Information Administration, net generation in Iowa, 2001 to 2017",
            "public domain", "the electricity made from one source in one year", "gigawatt hours",
            (("GWh", 1), ("TWh", 1000)),
            {"fossil fuels": "ff", "nuclear energy": "nuc", "renewables": "ren"},
            tuple(str(year) for year in range(2001, 2018)), 0, _electricity,
        ),
    )
}  # fmt: skip
