"""Proves a generated task: its statements, run by a database, make what Python computed apart from them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from seatrial.errors import SpecError
from seatrial.families.ledger.book import WORLDS, Book, World
from seatrial.families.ledger.statements import Statements
from seatrial.families.ledger.workspace import schema


def prove(book: Book, folder: Path) -> None:
    """Runs the reference's statements, and those of the plan, in every world.

    Raises:
        SpecError: a table or report is not what it must be, or the empty book has one that is.
    """
    for world in WORLDS:
        statements = Statements(book, ceiling=str(book.ceiling(world)))
        natural = [statements.clean(), *statements.stages(), *_each(book, statements.sums)]
        alone = [statements.staged_alone(), *_each(book, statements.sums_alone)]
        for made in (natural, alone):
            database = _loaded(book, statements, world)
            for statement in made:
                database.execute(statement)
            _require(book, statements, world, database, folder)


def _each(book: Book, statement: Callable[[int], str]) -> list[str]:
    return [statement(number) for number in range(1, book.knobs.depth + 1)]


def _loaded(book: Book, statements: Statements, world: World) -> sqlite3.Connection:
    w = book.words
    database = sqlite3.connect(":memory:")
    database.executescript(schema(book))
    if world.corrected:
        database.execute(f"INSERT INTO {w.corrections} ({w.line}, {w.amount}) VALUES (?, ?)", book.corrected)
    for batch in range(book.knobs.breadth):
        database.execute(statements.load(batch))
    return database


def _require(
    book: Book, statements: Statements, world: World, database: sqlite3.Connection, folder: Path
) -> None:
    """Refuses another content than the one that Python computed."""
    staged = [tuple(vars(each).values()) for each in book.staged(world)]
    wanted: dict[str, list[tuple[object, ...]]] = {statements.last_stage: list(staged)}
    for number, sums in enumerate(book.sums(world), start=1):
        wanted[statements.sums_name(number)] = [(*key, total) for key, total in sums.items()]
    found = {
        name: database.execute(f"SELECT {', '.join(statements.columns_of(name))} FROM {name} ORDER BY 1, 2")
        .fetchall()
        for name in wanted
    }  # fmt: skip
    for by, name in enumerate(("party", "period")):
        least, between = str(book.least(world)), book.words.between
        lines = [(f"{named}{between}{total}",) for named, total in book.report(world, by)]
        for select in (statements.select_report(statements.last_sums, least, name),
                       statements.report_alone(least, name)):  # fmt: skip
            wanted[f"the report by {name}"] = list(lines)
            found[f"the report by {name}"] = database.execute(select).fetchall()
            _same(wanted, found, world, folder)


def _same(wanted: dict[str, list[tuple[object, ...]]], found: dict[str, list[tuple[object, ...]]],
          world: World, folder: Path) -> None:  # fmt: skip
    for name, rows in wanted.items():
        if found[name] != rows:
            raise SpecError(
                str(folder), f"{name} ({world.name})", f"holds {found[name][:3]} and not {rows[:3]}",
                "Correct the generator",
            )  # fmt: skip
