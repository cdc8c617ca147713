"""The tables of ``sql`` as a task's files make them; what would keep state outside the rows is refused."""

import csv
import io
import sqlite3
import time
from collections.abc import Callable

from seatrial.spec.faults import Source
from seatrial.spec.service_file import SqlTable, Stocked
from seatrial.spec.services import TABLES

_MADE = {
    sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_REINDEX,
}  # fmt: skip
_ROWID_NAMES = {"rowid", "oid", "_rowid_"}
# What a script may take: one that never ends, or fills the disk, is refused when the task is read.
SCRIPT_SECONDS, _MOST_PAGES = 60.0, (512 << 20) // 4096
_STEPS_BETWEEN_LOOKS = 10_000
_LONGEST_NAME = 100


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def table_names(connection: sqlite3.Connection) -> list[str]:
    """Names of a database's own tables, sorted."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return sorted(name for (name,) in found if not name.startswith("sqlite_"))


def stored_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Names of a table's columns that hold values of their own, in their order."""
    found = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return [name for _, name, _, _, _, _, hidden in found if not hidden]


def build_tables(
    connection: sqlite3.Connection, given: Stocked, text_of: Callable[[str], str], shown: str
) -> None:
    """Make and fill the tables that a task's files describe.

    Args:
        connection: an empty database, without a transaction.
        given: the content of ``services/sql.toml``.
        text_of: content of a file that it names.
        shown: what messages put before the name of a file, such as the task's folder.

    Raises:
        SpecError: the first thing that is wrong with them.
    """
    if given.script is not None:
        _run_script(connection, Source(shown + given.script), text_of(given.script))
    for table in given.tables:
        _fill(connection, Source(shown + table.csv), table, text_of(table.csv))
    _check_tables(connection, Source(shown + (given.script or given.tables[0].csv)))


def _run_script(connection: sqlite3.Connection, source: Source, text: str) -> None:
    deadline = time.monotonic() + SCRIPT_SECONDS
    connection.execute(f"PRAGMA max_page_count={_MOST_PAGES}")
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in _MADE else sqlite3.SQLITE_DENY
    )
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        connection.executescript(text)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as fault:
        if time.monotonic() > deadline and "interrupted" in str(fault):
            problem = f"runs longer than {SCRIPT_SECONDS:g} seconds"
            raise source.fault("", problem, "Make it shorter, or end its recursion") from fault
        remedy = "Use CREATE TABLE, CREATE INDEX, CREATE VIEW, INSERT, UPDATE and DELETE only"
        raise source.fault("", f"cannot be run: {fault}", remedy) from fault
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
    if connection.in_transaction:
        raise source.fault("", "begins a transaction that it does not end", "Add COMMIT at its end")


def _fill(connection: sqlite3.Connection, source: Source, table: SqlTable, text: str) -> None:
    """A table from a CSV file whose first line names the columns; an empty cell is null."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        lines = list(reader)
    except csv.Error as fault:
        problem = f"is no CSV: {fault}"
        raise source.fault(f"line {reader.line_num}", problem, "Correct quotes and cells") from fault
    if not lines or not all(lines[0]):
        raise source.fault("line 1", "does not name the columns", "Write their names into the first line")
    names = lines[0]
    columns = table.columns or ", ".join(f"{quoted(name)} TEXT" for name in names)
    try:
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
        places = ", ".join("?" * len(names))
        into = f"INSERT INTO {quoted(table.name)} ({', '.join(map(quoted, names))}) VALUES ({places})"
        for number, cells in enumerate(lines[1:], start=2):
            if len(cells) != len(names):
                problem = f"has {len(cells)} cells, the first line {len(names)}"
                raise source.fault(f"line {number}", problem, "Give each line as many")
            connection.execute(into, [None if cell == "" else cell for cell in cells])
        connection.execute("COMMIT")
    except (sqlite3.Error, sqlite3.Warning) as fault:
        raise source.fault("", f"does not fit the columns: {fault}", "Correct the file or columns") from fault


def _check_tables(connection: sqlite3.Connection, source: Source) -> None:
    """Refuse what hides a state outside the rows: such a database could not be forked."""
    names = table_names(connection)
    if not names:
        raise source.fault("", "makes no table", "Create one")
    for name, sql in connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    ).fetchall():
        if name in names and not (name.isidentifier() and len(name.encode()) <= _LONGEST_NAME):
            raise source.fault("", f"{name!r:.200} is no name of a table here", "Use letters, digits and _")
        if name.lower() in TABLES["sql"]:
            raise source.fault("", f"{name!r} is a table of the service itself", "Give it another name")
        if "AUTOINCREMENT" in (sql or "").upper():
            raise source.fault("", f"{name} uses AUTOINCREMENT", "Leave it out: numbers go up without it")
    for name in names:
        if taken := _ROWID_NAMES & {column.lower() for column in stored_columns(connection, name)}:
            raise source.fault("", f"{name} has a column {taken.pop()!r}", "Give it another name")
        try:
            connection.execute(f"SELECT rowid FROM {quoted(name)} LIMIT 1").fetchall()
        except sqlite3.OperationalError as fault:
            raise source.fault("", f"{name} has no rowid", "Leave out WITHOUT ROWID") from fault
