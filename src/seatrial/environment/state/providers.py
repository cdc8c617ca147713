"""State that is compared by what it means instead of by its bytes.

A provider speaks for some files of the environment: their bytes still travel in the journal (so that a state
can be restored exactly), but the fingerprint and verdicts see the provider's digest.
"""

import os
import shutil
import sqlite3
import tempfile
import time
from typing import Protocol

from blake3 import blake3

SIDE = "side"
_LONGEST_VALUE = 64 << 20
_PATIENCE_SECONDS = 10.0
_SIDE_ENDINGS = ("-wal", "-shm", "-journal")


class StateProvider(Protocol):
    """A part of the state with a meaning of its own.

    Attributes:
        path: the root-relative path it speaks for.
        sides: further paths that belong to it and have no meaning of their own.
    """

    path: str
    sides: tuple[str, ...]

    def digest(self, tree: str) -> str | None:
        """Digest of the logical content below ``tree``; null when the bytes are not of its kind."""

    def save(self, tree: str) -> bytes:
        """The logical content in a form that ``restore`` takes."""

    def restore(self, tree: str, data: bytes) -> None:
        """Put saved content back below ``tree``, replacing what is there."""


class SqliteProvider:
    """A SQLite database by its schema and rows: page layout, free pages and journals do not count."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sides = tuple(path + ending for ending in _SIDE_ENDINGS)

    def digest(self, tree: str) -> str | None:
        """See ``StateProvider.digest``. Rows count as a multiset: their order in the file does not matter."""
        with tempfile.TemporaryDirectory(prefix="seatrial-db-") as copy:
            database = self._copy(tree, copy)
            if database is None:
                return None
            try:
                return _logical_digest(database)
            except (sqlite3.Error, UnicodeError):
                return None

    def save(self, tree: str) -> bytes:
        """See ``StateProvider.save``: a fresh database file with the same content."""
        with tempfile.TemporaryDirectory(prefix="seatrial-db-") as copy:
            database = self._copy(tree, copy)
            if database is None:
                raise FileNotFoundError(f"{tree}/{self.path}")
            with sqlite3.connect(database) as connection:
                connection.execute("PRAGMA journal_mode=DELETE")
                connection.execute("VACUUM")
            connection.close()
            with open(database, "rb") as file:
                return file.read()

    def restore(self, tree: str, data: bytes) -> None:
        """See ``StateProvider.restore``."""
        for side in self.sides:
            if os.path.lexists(f"{tree}/{side}"):
                os.unlink(f"{tree}/{side}")
        with open(f"{tree}/{self.path}", "wb") as file:
            file.write(data)

    def _copy(self, tree: str, folder: str) -> str | None:
        """Copy the database with its journals: opening the live one would write to it."""
        for path in (self.path, *self.sides):
            source = f"{tree}/{path}"
            if os.path.isfile(source) and not os.path.islink(source):
                shutil.copyfile(source, f"{folder}/{os.path.basename(path)}", follow_symlinks=False)
        database = f"{folder}/{os.path.basename(self.path)}"
        return database if os.path.exists(database) else None


def _logical_digest(database: str) -> str:
    """Digest of schema and rows. The file is the agent's: none of it may cost unbounded time or memory."""
    connection = sqlite3.connect(database)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.text_factory = bytes
        master = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        )
        schema = sorted((kind, name, sql or b"") for kind, name, sql in master)
        total = blake3(repr(schema).encode())
        for kind, name, sql in schema:
            if kind == b"table" and not sql.upper().startswith(b"CREATE VIRTUAL"):
                quoted = name.decode("utf-8", "surrogateescape").replace('"', '""')
                rows = connection.execute(f'SELECT * FROM "{quoted}"')
                digests = sorted(blake3(repr(row).encode()).digest() for row in rows)
                total.update(repr(name).encode() + b"".join(digests))
        return total.hexdigest()
    finally:
        connection.close()
