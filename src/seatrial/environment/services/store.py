"""Rows of the services of one trial in SQLite, with a note of every row that was touched since the last look.

All but the tables of ``sql`` live here. Nothing waits for the disk: the journal is what lasts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar

from seatrial.environment.services.database import open_quick, whole
from seatrial.environment.services.row import Key, Row, RowId, read_row, row_bytes, row_path
from seatrial.journal.entries import Entry
from seatrial.journal.objects import ObjectStore
from seatrial.spec.services import TABLES

# Rows that a verb lists at once.
PAGE = 50
# ``key`` has no affinity: numbers stay numbers and come before texts.
_SCHEMA = """
CREATE TABLE rows (
    service TEXT NOT NULL, tbl TEXT NOT NULL, key NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (service, tbl, key)
) WITHOUT ROWID;
CREATE INDEX groups ON rows (service, tbl, grp, key);
"""
Page = tuple[list[Row], bool]


class RowStore:
    """The rows of all services but the tables of ``sql``. Callers take turns (``Services`` holds a lock).

    Args:
        path: database file; made when it is not there.

    Attributes:
        dirty: rows put or deleted since they were last taken from here.
    """

    FILE: ClassVar[str] = "rows.db"

    def __init__(self, path: str) -> None:
        self._connection = open_quick(path)
        if not self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._connection.executescript(_SCHEMA)
        self.dirty: set[RowId] = set()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def whole(self) -> AbstractContextManager[Callable[[], None]]:
        """Everything written inside is kept, or taken back by what this yields. Not to be nested."""
        return whole(self._connection, self)

    # -- one row --------------------------------------------------------------------------------------
    def get(self, service: str, table: str, key: Key) -> Row | None:
        """A row; null when there is none."""
        data = self.data((service, table, key))
        return None if data is None else read_row(data)

    def data(self, row: RowId) -> bytes | None:
        """A row's bytes as the state has them."""
        found = self._connection.execute(
            "SELECT body FROM rows WHERE service = ? AND tbl = ? AND key = ?", row
        ).fetchone()
        return None if found is None else bytes(found[0])

    def put(self, service: str, table: str, row: Row) -> str:
        """Write a row, replacing the one of the same ``id``; returns its path.

        Raises:
            Refusal: it is too large.
        """
        self._write(service, table, row, row_bytes(row))
        self.dirty.add((service, table, row["id"]))
        return row_path(service, table, row["id"])

    def _write(self, service: str, table: str, row: Row, data: bytes) -> None:
        column = TABLES[service][table].group
        group = "" if column is None else str(row.get(column, ""))
        self._connection.execute(
            "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)", (service, table, row["id"], group, data)
        )

    def delete(self, service: str, table: str, key: Key) -> None:
        """Remove a row, if it is there."""
        self._remove((service, table, key))
        self.dirty.add((service, table, key))

    def _remove(self, row: RowId) -> None:
        self._connection.execute("DELETE FROM rows WHERE service = ? AND tbl = ? AND key = ?", row)

    def under_key(self, service: str, key: str) -> Row | None:
        """The ledger's row for an idempotency key; null for a new one."""
        rows, _ = self.page(service, "ledger", key)
        return rows[0] if rows else None

    # -- many rows ------------------------------------------------------------------------------------
    def next_key(self, service: str, table: str) -> int:
        """One more than the largest number among the keys."""
        (last,) = self._connection.execute(
            "SELECT max(key) FROM rows WHERE service = ? AND tbl = ?", (service, table)
        ).fetchone()
        return last + 1 if isinstance(last, int) else 1

    def page(self, service: str, table: str, group: str | None = None, after: Key | None = None) -> Page:
        """Up to ``PAGE`` rows in the order of their keys, and whether there are more.

        Args:
            group: value of the table's ``group`` column; null for all rows.
            after: only keys beyond this one.
        """
        return self._page(service, table, group, after)

    def newest(self, service: str, table: str, group: str) -> list[Row]:
        """The last ``PAGE`` rows of a group, the newest first."""
        found = self._connection.execute(
            f"SELECT body FROM rows WHERE service = ? AND tbl = ? AND grp = ? ORDER BY key DESC LIMIT {PAGE}",
            (service, table, group),
        )
        return [read_row(data) for (data,) in found]

    def search(
        self, service: str, table: str, text: str, columns: Sequence[str], group: str | None = None,
        after: Key | None = None,
    ) -> Page:  # fmt: skip
        """Like ``page``, of rows with a text in one of some columns, whatever the case of ASCII letters."""
        part = "instr(lower(json_extract(CAST(body AS TEXT), '$.' || ?)), lower(?))"
        wanted = f" AND ({' OR '.join([part] * len(columns))})"
        return self._page(service, table, group, after, wanted, [v for name in columns for v in (name, text)])

    def _page(
        self, service: str, table: str, group: str | None, after: Key | None, wanted: str = "",
        values: Sequence[Key] = (),
    ) -> Page:  # fmt: skip
        query, given = (
            "SELECT body FROM rows WHERE service = ? AND tbl = ?" + wanted,
            [service, table, *values],
        )
        if group is not None:
            query, given = f"{query} AND grp = ?", [*given, group]
        if after is not None:
            query, given = f"{query} AND key > ?", [*given, after]
        found = self._connection.execute(f"{query} ORDER BY key LIMIT {PAGE + 1}", given).fetchall()
        return [read_row(data) for (data,) in found[:PAGE]], len(found) > PAGE

    def all_of(self, service: str, table: str) -> Iterator[Row]:
        """All rows of a table in the order of their keys."""
        found = self._connection.execute(
            "SELECT body FROM rows WHERE service = ? AND tbl = ? ORDER BY key", (service, table)
        )
        return (read_row(data) for (data,) in found)

    def every(self) -> Iterator[tuple[str, bytes]]:
        """Path and bytes of every row there is."""
        for service, table, key, data in self._connection.execute("SELECT service, tbl, key, body FROM rows"):
            yield row_path(service, table, key), bytes(data)

    def restore(self, entries: Iterable[Entry], objects: ObjectStore, by_path: "PathIndex") -> None:
        """Make rows what recorded entries say; ``absent`` ones go. They do not count as touched."""
        self._connection.execute("BEGIN")
        for entry in entries:
            _, service, table, _ = entry.path.split("/", 3)
            if entry.kind == "absent" or entry.digest is None:
                key = by_path.key_of(entry.path)
                if key is not None:
                    self._remove((service, table, key))
                continue
            data = objects.get(entry.digest)
            self._write(service, table, read_row(data), data)
        self._connection.execute("COMMIT")


class PathIndex:
    """Finds the key behind a path that is to go: from the row the base had there."""

    def __init__(self, base: dict[str, Entry], objects: ObjectStore) -> None:
        self._base, self._objects = base, objects

    def key_of(self, path: str) -> Key | None:
        """The key; null where the base has no such row."""
        entry = self._base.get(path)
        if entry is None or entry.digest is None:
            return None
        key: Key = read_row(self._objects.get(entry.digest))["id"]
        return key
