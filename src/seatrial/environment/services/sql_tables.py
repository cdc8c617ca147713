"""The database of ``sql``: the task's own tables, open to the agent's statements and to nothing else of them.

A statement may read and write rows of those tables. What else SQLite could do for it (other files, settings,
extensions, a new schema) the authorizer refuses, and a clock ends it. Triggers of ours note each row written.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from seatrial.environment.services.database import open_quick, whole
from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row, read_row, row_bytes, row_path, split_path
from seatrial.environment.services.sql_values import from_json, to_json, to_text
from seatrial.environment.services.stop import StoppedPartway
from seatrial.journal.entries import Entry
from seatrial.journal.objects import ObjectStore
from seatrial.spec.sql_file import quoted, stored_columns, table_names

LONGEST_VALUE = 1 << 20
LONGEST_STATEMENT = 256 << 10
_NOTE = "_row_written"
_TRIGGER = "_note_"
_STEPS_BETWEEN_LOOKS = 10_000
_MOST_PAGES = (512 << 20) // 4096
# Rows that may be written between two settles: each becomes an object and an entry of the journal.
MOST_WRITTEN = 100_000
# What a result may hold before it is cut off.
MOST_ROWS, MOST_BYTES = 200, 256 << 10
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_WRITING = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
# Table-valued ones that describe a table; as functions they only read.
_DESCRIBING = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
_BUILT_IN = ("json_each('[]')", "json_tree('[]')", *(f"pragma_{name}('')" for name in sorted(_DESCRIBING)))


@dataclass(frozen=True)
class Result:
    """What a statement gave.

    Attributes:
        columns: their names; empty where it gives no rows.
        rows: the first ones.
        more: whether there are more.
        changed: rows it wrote.
    """

    columns: list[str]
    rows: list[list[Any]]
    more: bool
    changed: int


class SqlTables:
    """The task's tables.

    Args:
        folder: holds the database file.

    Attributes:
        names: of the tables.
        dirty: rows written since they were last taken from here: table and rowid.
        hurried: the statement under way is to end now.
    """

    FILE: ClassVar[str] = "sql.db"

    def __init__(self, folder: str) -> None:
        self._connection = open_quick(f"{folder}/{self.FILE}")
        self._connection.text_factory = to_text
        self.names = table_names(self._connection)
        self._columns = {name: stored_columns(self._connection, name) for name in self.names}
        self.dirty: set[tuple[str, int]] = set()
        self._statement: list[tuple[str, int]] | None = None
        self._stop_after = False
        self._deadline = 0.0
        self.hurried = False
        self._harden()

    def _harden(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA recursive_triggers=ON")  # so that a REPLACE tells which row it removed
        connection.execute(f"PRAGMA max_page_count={_MOST_PAGES}")
        for name in _BUILT_IN:  # to come into being they need more than a statement is allowed
            connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()
        connection.create_function(_NOTE, 2, self._written)
        for number, name in enumerate(self.names):
            for event, rows in (("INSERT", ["NEW"]), ("DELETE", ["OLD"]), ("UPDATE", ["OLD", "NEW"])):
                notes = [f"{_NOTE}({_text(name)}, {row}.rowid)" for row in rows]
                connection.execute(
                    f"CREATE TEMP TRIGGER {_TRIGGER}{number}_{event} AFTER {event} ON main.{quoted(name)} "
                    f"BEGIN SELECT RAISE(FAIL, 'stopped') WHERE {' + '.join(notes)}; END"
                )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(self._late, _STEPS_BETWEEN_LOOKS)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def whole(self) -> AbstractContextManager[Callable[[], None]]:
        """Everything written inside is kept, or taken back by what this yields. Not to be nested."""
        return whole(self._connection, self)

    # -- the agent's statements -------------------------------------------------------------------------
    def run(self, statement: str, writing: bool, seconds: float, stop_partway: bool = False) -> Result:
        """Run one statement of the agent's.

        Args:
            statement: one; its text is not trusted in any way.
            writing: whether rows may be written.
            seconds: it may take.
            stop_partway: it fails after the first row it writes, which stays written.

        Raises:
            Refusal: 400 for a statement that SQLite does not take, 403 for what is not allowed, 413 for too
                many rows, 408 when its time is up, 503 when it is hurried. Nothing of it was done.
            StoppedPartway: as asked for; ``written`` says what was done.
        """
        if not statement.strip():
            raise Refusal(400, "the statement is empty")
        self._statement, self._stop_after = [], stop_partway
        before = self._connection.total_changes
        self._deadline = time.monotonic() + seconds
        self._connection.set_authorizer(self._allow_writing if writing else self._allow_reading)
        try:
            cursor = self._connection.execute(statement)
            columns = [name for name, *_ in cursor.description or ()]
            rows, more = _fetch(cursor)
            cursor.close()
            return Result(columns, rows, more, self._connection.total_changes - before)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as fault:
            raise self._refusal(fault, seconds) from fault
        finally:
            self._connection.set_authorizer(None)
            self._deadline, self._stop_after = 0.0, False

    @property
    def written(self) -> list[tuple[str, int]]:
        """Rows written by the last statement, each once, in their order."""
        return list(dict.fromkeys(self._statement or ()))

    def _refusal(self, fault: Exception, seconds: float) -> Exception:
        if len(self.dirty) > MOST_WRITTEN:
            return Refusal(413, f"more than {MOST_WRITTEN} rows would be written in one step")
        if self._stop_after and self.written:
            return StoppedPartway()
        said = str(fault)
        if self.hurried and "interrupted" in said:
            return Refusal(503, "the statement was interrupted; try again")
        if time.monotonic() > self._deadline and "interrupted" in said:
            return Refusal(408, f"the statement took longer than {seconds:g} seconds and was stopped")
        if "authorized" in said or "prohibited" in said:
            return Refusal(403, f"{said}: only rows of {', '.join(self.names) or 'no table'} can be used")
        return Refusal(400, said)

    def _late(self) -> bool:
        return self._deadline > 0 and (self.hurried or time.monotonic() > self._deadline)

    def _written(self, table: str, row: int) -> bool:
        """Called by our triggers for each row; true ends the statement and keeps what it did."""
        self.dirty.add((table, row))
        if self._statement is not None:
            self._statement.append((table, row))
        return self._deadline > 0 and (self._stop_after or len(self.dirty) > MOST_WRITTEN)

    def _allow_reading(self, action: int, *details: str | None) -> int:
        return self._allow(action, details, _READING)

    def _allow_writing(self, action: int, *details: str | None) -> int:
        return self._allow(action, details, _READING | _WRITING)

    def _allow(self, action: int, details: tuple[str | None, ...], allowed: set[int]) -> int:
        one, other, database, trigger = details
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if one in _DESCRIBING else sqlite3.SQLITE_DENY
        fine = action in allowed
        if action == sqlite3.SQLITE_FUNCTION:
            fine = other != _NOTE or (trigger or "").startswith(_TRIGGER)
        elif action in _WRITING:
            fine = fine and database == "main" and one in self.names
        elif action == sqlite3.SQLITE_READ:
            fine = database != "temp"
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    # -- rows -----------------------------------------------------------------------------------------
    def _data(self, table: str, row: int) -> bytes | None:
        names = ", ".join(map(quoted, self._columns[table]))
        found = self._connection.execute(
            f"SELECT {names} FROM {quoted(table)} WHERE rowid = ?", (row,)
        ).fetchone()
        return None if found is None else self._bytes(table, found)

    def _bytes(self, table: str, values: Iterable[Any]) -> bytes:
        return row_bytes(dict(zip(self._columns[table], map(to_json, values), strict=True)))

    def take_dirty(self) -> list[tuple[str, bytes | None]]:
        """Path and bytes of each row written since the last call; null for one that is gone."""
        taken = [(row_path("sql", table, row), self._data(table, row)) for table, row in sorted(self.dirty)]
        self.dirty.clear()
        return taken

    def every(self) -> Iterator[tuple[str, bytes]]:
        """Path and bytes of every row there is."""
        for table in self.names:
            names = ", ".join(map(quoted, self._columns[table]))
            for row, *values in self._connection.execute(f"SELECT rowid, {names} FROM {quoted(table)}"):
                yield row_path("sql", table, row), self._bytes(table, values)

    def truth(self, table: str) -> Iterator[Row]:
        """All rows of a table by ``rowid``, which each holds as well."""
        if table in self.names:
            names = ", ".join(map(quoted, self._columns[table]))
            found = self._connection.execute(
                f"SELECT rowid, {names} FROM {quoted(table)} ORDER BY rowid"
            ).fetchall()
            for row, *values in found:
                yield {"rowid": row, **dict(zip(self._columns[table], map(to_json, values), strict=True))}

    def restore(self, entries: Iterable[Entry], objects: ObjectStore) -> None:
        """Make rows what recorded entries say; ``absent`` ones go. They do not count as written."""
        given = [(*split_path(entry.path)[1:], entry) for entry in entries]
        self._connection.execute("BEGIN")
        # All go before any comes, so that no two rows meet in a unique column.
        for table, row, _ in given:
            self._connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid = ?", (int(row),))
        for table, row, entry in given:
            if entry.kind != "absent" and entry.digest is not None:
                self._insert(table, int(row), read_row(objects.get(entry.digest)))
        self._connection.execute("COMMIT")
        self.dirty.clear()

    def _insert(self, table: str, row: int | None, values: Row) -> int:
        given = [("?", row), *map(from_json, values.values())]
        names = ", ".join(["rowid", *map(quoted, values)])
        cursor = self._connection.execute(
            f"INSERT INTO {quoted(table)} ({names}) VALUES ({', '.join(place for place, _ in given)})",
            [value for _, value in given],
        )
        return cursor.lastrowid or 0

    def set_row(self, table: str, given: Row) -> str:
        """Change, add or remove one row without a statement of the agent's; see ``Services.set_rows``.

        Raises:
            ValueError: no such table or column, or a value that no column holds.
        """
        if table not in self.names:
            raise ValueError(f"there is no table {table!r}")
        values = {name: value for name, value in given.items() if name not in ("_delete", "rowid")}
        for column in values:
            if column not in self._columns[table]:
                raise ValueError(f"{table}: there is no column {column!r}")
        row = given.get("rowid")
        if row is not None and (isinstance(row, bool) or not isinstance(row, int)):
            raise ValueError(f"{table}: {row!r} is no rowid")
        if given.get("_delete"):
            self._connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid = ?", (row,))
        elif row is None or self._data(table, row) is None:
            row = self._insert(table, row, values)
        elif values:
            new = {quoted(column): from_json(value) for column, value in values.items()}
            changes = ", ".join(f"{column} = {place}" for column, (place, _) in new.items())
            raw = [value for _, value in new.values()]
            self._connection.execute(f"UPDATE {quoted(table)} SET {changes} WHERE rowid = ?", [*raw, row])
        return row_path("sql", table, row or 0)


def _fetch(cursor: sqlite3.Cursor) -> tuple[list[list[Any]], bool]:
    """The first rows of a result, within bounds, and whether there are more."""
    rows: list[list[Any]] = []
    size = 0
    for values in cursor:
        row = [to_json(value) for value in values]
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in values)
        if len(rows) == MOST_ROWS or size > MOST_BYTES:
            return rows, True
        rows.append(row)
    return rows, False


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
