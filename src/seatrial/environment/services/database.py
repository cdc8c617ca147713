"""SQLite as the services use it: quick, since the journal is what lasts, and written whole or not at all."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Noting(Protocol):
    """Whoever notes the rows that it touches."""

    dirty: set[Any]


def open_quick(path: str) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time, and that does not wait for the disk."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=MEMORY")
    connection.execute("PRAGMA synchronous=OFF")
    return connection


@contextmanager
def whole(connection: sqlite3.Connection, noting: Noting) -> Iterator[Callable[[], None]]:
    """Everything written inside is kept, or taken back, with its notes, by what this yields."""
    connection.execute("BEGIN")
    before, kept = set(noting.dirty), True

    def undo() -> None:
        nonlocal kept
        kept, noting.dirty = False, before

    try:
        yield undo
    except BaseException:
        undo()
        raise
    finally:
        # SQLite has rolled back by itself where a statement that writes was interrupted.
        if kept or connection.in_transaction:
            connection.execute("COMMIT" if kept else "ROLLBACK")
