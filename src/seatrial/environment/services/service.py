"""What all services have in common: rows, verbs, and the order in which an effect is written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Key, Row, row_path
from seatrial.environment.services.sql_tables import SqlTables
from seatrial.environment.services.stop import StoppedPartway
from seatrial.environment.services.store import Page, RowStore
from seatrial.spec.services import REQUIRED, TABLES


class Service:
    """One service. A verb ``x`` is the method ``do_x``: it takes the arguments, which have been checked, and
    returns the answer's body. It looks at everything first and refuses by ``Refusal`` before it writes.

    Args:
        store: rows of all services.
        settings: from the task's file.
        tables: the database of ``sql``; null where there is none.

    Attributes:
        effect: paths of rows written by the call under way.
        number: ledger number that the effect of the call under way gets.
        compensates: ledger number of the effect that the call under way takes back.
        stop_partway: the call under way ends after its first row, by a fault.
    """

    name: ClassVar[str]

    def __init__(self, store: RowStore, settings: dict[str, Any], tables: SqlTables | None = None) -> None:
        self._store, self.settings, self._tables = store, settings, tables
        self.effect: list[str] = []
        self.number = 0
        self.compensates: int | None = None
        self.stop_partway = False

    def begin(self, stop_partway: bool = False) -> None:
        """A call begins."""
        self.effect, self.compensates, self.stop_partway = [], None, stop_partway
        self.number = self._store.next_key(self.name, "ledger")

    def verb(self, name: str) -> Callable[[dict[str, Any]], Any]:
        """The method of a verb."""
        method: Callable[[dict[str, Any]], Any] = getattr(self, f"do_{name}")
        return method

    def do_renew(self, _: dict[str, Any]) -> Any:
        """A credential that has expired works again."""
        known = self.get("credential", "agent")
        if known is not None and not known["valid"]:
            self._store.put(
                self.name, "credential", {**known, "valid": True, "renewals": known["renewals"] + 1}
            )
        return {"credential": "valid"}

    @contextmanager
    def whole(self) -> Iterator[Callable[[], None]]:
        """What a call writes elsewhere than into the store is kept, or taken back by what this yields."""
        yield lambda: None

    # -- rows -----------------------------------------------------------------------------------------
    def get(self, table: str, key: Key) -> Row | None:
        """A row; null when there is none."""
        return self._store.get(self.name, table, key)

    def need(self, table: str, key: Key, what: str) -> Row:
        """A row that must be there.

        Raises:
            Refusal: 404.
        """
        row = self.get(table, key)
        if row is None:
            raise Refusal(404, f"there is no {what} {key!r}")
        return row

    def page(self, table: str, group: str | None, after: Any = None) -> Page:
        """Rows of a group in the order of their keys, a page of them; see ``RowStore.page``."""
        return self._store.page(self.name, table, group, after)

    def put(self, table: str, row: Row) -> Row:
        """Write a row as a part of the effect.

        Raises:
            StoppedPartway: a fault lets no second row of this effect be written.
        """
        if self.stop_partway and self.effect:
            raise StoppedPartway
        self.effect.append(self._store.put(self.name, table, row))
        return row

    def add(self, table: str, row: Row) -> Row:
        """Write a new row under the next number, as ``put`` does."""
        return self.put(table, {"id": self._store.next_key(self.name, table), **row})

    @staticmethod
    def listed(name: str, page: Page) -> dict[str, Any]:
        """A page of rows as an answer; ``more`` says from which id to ask on."""
        rows, more = page
        return {name: rows, "more": rows[-1]["id"] if more else None}

    # -- from outside -----------------------------------------------------------------------------------
    def truth(self, table: str) -> Iterator[Row]:
        """All rows of a table in the order of their keys."""
        return self._store.all_of(self.name, table)

    def set_row(self, table: str, given: Row) -> str:
        """Change, add or remove one row without a call; see ``Services.set_rows``.

        Raises:
            ValueError: no such table or column, or a column is missing.
        """
        declared = TABLES[self.name].get(table)
        if declared is None or declared.hidden:
            raise ValueError(f"there is no table {table!r}")
        given = dict(given)
        gone = given.pop("_delete", False)
        if "id" not in given and declared.numbered:
            given["id"] = self._store.next_key(self.name, table)
        key = given.get("id")
        if not isinstance(key, int if declared.numbered else str) or isinstance(key, bool):
            raise ValueError(f"{table}: {key!r} is no id")
        for column in given:
            if column != "id" and column not in declared.columns:
                raise ValueError(f"{table}: there is no column {column!r}")
        if gone:
            self._store.delete(self.name, table, key)
            return row_path(self.name, table, key)
        row = {**declared.columns, **(self.get(table, key) or {}), **given}
        missing = [column for column, value in row.items() if value is REQUIRED]
        if missing:
            raise ValueError(f"{table}: {key!r} lacks the column {missing[0]!r}")
        return self._store.put(self.name, table, row)
