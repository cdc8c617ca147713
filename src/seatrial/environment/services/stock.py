"""What the services of a task begin with: built once a task, copied for each trial."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seatrial.environment.services.database import open_quick
from seatrial.environment.services.row import row_entry
from seatrial.environment.services.sql_tables import SqlTables
from seatrial.environment.services.store import RowStore
from seatrial.errors import EnvironmentFault
from seatrial.journal.digest import digest_stream
from seatrial.journal.entries import State
from seatrial.journal.objects import ObjectStore
from seatrial.spec.service_file import Stocked
from seatrial.spec.sql_file import build_tables

Texts = Callable[[str], str]


@dataclass
class Stock:
    """Databases that trials begin with.

    Attributes:
        folder: holds them; never written after they were built.
        settings: of each service there is.
        digests: of the database files, by name.
        rows: every row as an entry; part of the task's base.
    """

    folder: str
    settings: dict[str, dict[str, Any]]
    digests: dict[str, str] = field(default_factory=dict)
    rows: State = field(default_factory=dict)

    def copy_to(self, folder: str) -> None:
        """Copy the databases for one trial.

        Raises:
            EnvironmentFault: they are not what was built.
        """
        for name, digest in self.digests.items():
            shutil.copyfile(f"{self.folder}/{name}", f"{folder}/{name}")
            with open(f"{folder}/{name}", "rb") as file:
                if digest_stream(file) != digest:
                    raise EnvironmentFault(f"{self.folder}/{name}: was changed. Remove the folder.")


def build_stock(
    folder: str, stocked: Mapping[str, Stocked], objects: ObjectStore, text_of: Texts, task: str
) -> Stock:
    """Build the databases of a task's services.

    Args:
        folder: new folder for them.
        stocked: what the task's files say, by service.
        objects: where rows go.
        text_of: content of a further file of the task, by its path in the task's folder.
        task: its id, for messages.

    Raises:
        SpecError: a script or CSV file does not give tables.
    """
    os.makedirs(folder)
    store = RowStore(f"{folder}/{RowStore.FILE}")
    with store.whole():
        for service, given in stocked.items():
            for table, rows in given.rows.items():
                for row in rows:
                    store.put(service, table, row)
    stock = Stock(folder, {name: given.settings for name, given in stocked.items()})
    _enter(stock, store.every(), objects)
    store.close()
    names = [RowStore.FILE]
    if "sql" in stocked:
        connection = open_quick(f"{folder}/{SqlTables.FILE}")
        build_tables(connection, stocked["sql"], text_of, f"task {task}: ")
        connection.close()
        tables = SqlTables(folder)
        _enter(stock, tables.every(), objects)
        tables.close()
        names.append(SqlTables.FILE)
    for name in names:
        with open(f"{folder}/{name}", "rb") as file:
            stock.digests[name] = digest_stream(file)
    return stock


def _enter(stock: Stock, rows: Iterable[tuple[str, bytes]], objects: ObjectStore) -> None:
    for path, data in rows:
        entry = row_entry(path, data)
        objects.put(data, entry.digest)
        stock.rows[path] = entry
