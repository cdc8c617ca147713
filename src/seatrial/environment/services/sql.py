"""SQL: statements on the task's own tables, reading and writing apart."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from seatrial.environment.services.row import Row, row_path
from seatrial.environment.services.service import Service
from seatrial.environment.services.sql_tables import Result, SqlTables
from seatrial.environment.services.stop import StoppedPartway

STATEMENT_SECONDS = 5.0


class Sql(Service):
    """Settings: ``seconds`` that a statement may take."""

    name = "sql"

    @property
    def _open(self) -> SqlTables:
        assert self._tables is not None, "a trial with sql has its tables"
        return self._tables

    @contextmanager
    def whole(self) -> Iterator[Callable[[], None]]:
        """See ``Service.whole``."""
        with self._open.whole() as undo:
            yield undo

    def do_query(self, given: dict[str, Any]) -> Any:
        """Rows that a statement gives; it can write nothing."""
        result = self._open.run(given["statement"], False, self._seconds)
        return _shown(result)

    def do_execute(self, given: dict[str, Any]) -> Any:
        """Write rows with one statement."""
        try:
            result = self._open.run(given["statement"], True, self._seconds, self.stop_partway)
        except StoppedPartway:
            self._note_effect()
            raise
        self._note_effect()
        return {"changed": result.changed, **(_shown(result) if result.columns else {})}

    def _note_effect(self) -> None:
        self.effect += [row_path(self.name, table, row) for table, row in self._open.written]

    @property
    def _seconds(self) -> float:
        return float(self.settings.get("seconds", STATEMENT_SECONDS))

    def truth(self, table: str) -> Iterator[Row]:
        """See ``Service.truth``; rows of the task's tables hold their ``rowid``."""
        return self._open.truth(table) if table in self._open.names else super().truth(table)

    def set_row(self, table: str, given: Row) -> str:
        """See ``Service.set_row``."""
        return self._open.set_row(table, given)


def _shown(result: Result) -> dict[str, Any]:
    return {"columns": result.columns, "rows": result.rows, "more": result.more}
