"""Reads ``services/<service>.toml`` of a task: the service's settings and the rows it begins with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec

from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.reading import convert, parse_toml
from seatrial.spec.services import REQUIRED, TABLES, Table
from seatrial.spec.task import Strict

FOLDER = "services"
_NUMBERS = ("amount", "balance", "limit", "refunded", "comments", "message", "charge", "ticket")
_NO_TEXTS = (*_NUMBERS, "versions", "form")
# Rows are numbered on from the greatest id; every JSON reader knows this one exactly.
_LAST_ID = 2**52
_NO_PAGES = ("/get", "/submit", "/renew")


class SqlTable(Strict, frozen=True, kw_only=True):
    """A table filled from a CSV file. ``columns`` declares it in SQL; without it all columns are texts."""

    name: str
    csv: str
    columns: str | None = None


class ServiceFile(Strict, frozen=True, kw_only=True):
    """All of the file.

    Attributes:
        settings: see the service.
        rows: table to rows.
        script: of ``sql``: a file of the task with CREATE and INSERT statements.
        table: of ``sql``: tables from CSV files, after the script.
    """

    settings: dict[str, Any] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    script: str | None = None
    table: list[SqlTable] = []


class _MailSettings(Strict, frozen=True, kw_only=True):
    address: str = "agent@example.org"


class _TicketSettings(Strict, frozen=True, kw_only=True):
    states: list[str] = []
    author: str = "agent"


class _WebSettings(Strict, frozen=True, kw_only=True):
    lines: int = 40


class _SqlSettings(Strict, frozen=True, kw_only=True):
    seconds: float = 5.0


class _NoSettings(Strict, frozen=True, kw_only=True):
    pass


_SETTINGS: dict[str, type[Strict]] = {
    "mail": _MailSettings, "tickets": _TicketSettings, "web": _WebSettings, "sql": _SqlSettings,
}  # fmt: skip


class _Field(Strict, frozen=True, kw_only=True):
    name: str
    required: bool = True
    choices: list[str | int | float] = []


class _Form(Strict, frozen=True, kw_only=True):
    fields: list[_Field]
    adds_to: str | None = None
    thanks: str = "Sent."


@dataclass(frozen=True)
class Stocked:
    """What a task gives one service.

    Attributes:
        settings: those that were written.
        rows: table to rows, each with its ``id`` and all columns.
        script, tables: of ``sql``.
    """

    settings: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]
    script: str | None = None
    tables: tuple[SqlTable, ...] = ()

    @property
    def files(self) -> list[str]:
        """Further files of the task that it names."""
        return [name for name in (self.script, *(table.csv for table in self.tables)) if name is not None]


def file_of(service: str) -> str:
    """Where a task keeps a service's file, relative to its folder."""
    return f"{FOLDER}/{service}.toml"


def parse_service(source: Source, service: str, text: str) -> Stocked:
    """The content of a service's file, checked.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    plain = parse_toml(source.file, text)
    given = convert(source, plain, ServiceFile)
    settings = convert(source.within("settings"), given.settings, _SETTINGS.get(service, _NoSettings))
    if isinstance(settings, _WebSettings):
        check_range(source, "settings.lines", settings.lines, 1, 10_000)
    if isinstance(settings, _SqlSettings):
        check_range(source, "settings.seconds", settings.seconds, 0.1, 60, "s")
    if isinstance(settings, _TicketSettings) and given.settings.get("states") == []:
        raise source.fault("settings.states", "[] holds no state", "Name some, or leave the key out")
    _check_sql(source, service, given)
    return Stocked(given.settings, parse_rows(source, service, given.rows), given.script, tuple(given.table))


def _check_sql(source: Source, service: str, given: ServiceFile) -> None:
    for key, value in (("script", given.script), ("table", given.table)):
        if value and service != "sql":
            raise source.fault(key, f"{service} has no database", "Give it rows, or use the service sql")
    if service == "sql" and not (given.script or given.table):
        raise source.fault(
            "table", "the database has no table", "Name a script, or tables with their CSV files"
        )
    for index, table in enumerate(given.table):
        if not table.name.isidentifier() or table.name.startswith("sqlite_"):
            place = f"table[{index}].name"
            raise source.fault(
                place, f"{shown(table.name)} is no name of a table", "Use letters, digits and _"
            )
    for place, path in [
        ("script", given.script),
        *((f"table[{i}].csv", t.csv) for i, t in enumerate(given.table)),
    ]:
        if path is not None and (path.startswith("/") or ".." in PurePosixPath(path).parts):
            raise source.fault(place, f"{shown(path)} leaves the task", "Name a file of the task's folder")


def parse_rows(
    source: Source, service: str, tables: Mapping[str, list[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """Rows of a file with defaults and numbers filled in.

    Raises:
        SpecError: an unknown table or column, a missing or repeated id, a value of the wrong type.
    """
    if service == "sql" and tables:
        raise source.fault("rows", "the rows of sql come from a script or CSV files", "Move them there")
    known = {name: table for name, table in TABLES[service].items() if not table.hidden}
    filled: dict[str, list[dict[str, Any]]] = {}
    for name, rows in tables.items():
        if name not in known:
            raise source.fault(f"rows.{name}", f"unknown table {shown(name)}", choose(name, known, "a table"))
        taken: set[object] = set()
        filled[name] = []
        for index, row in enumerate(rows):
            place = f"rows.{name}[{index}]"
            full = _full_row(source, place, known[name], row, len(taken) + 1)
            if full["id"] in taken:
                raise source.fault(
                    f"{place}.id", f"{shown(full['id'])} is used before", "Give each row its own id"
                )
            taken.add(full["id"])
            if service == "web" and name == "pages":
                _check_page(source, place, full)
            filled[name].append(full)
    return filled


def _full_row(source: Source, place: str, table: Table, row: dict[str, Any], number: int) -> dict[str, Any]:
    for column in row:
        if column != "id" and column not in table.columns:
            raise source.fault(
                f"{place}.{column}", f"unknown column {shown(column)}",
                choose(column, [*table.columns, "id"], "a column"),
            )  # fmt: skip
    full = {"id": number, **table.columns, **row} if table.numbered else {**table.columns, **row}
    key = full.get("id")
    is_id = isinstance(key, int) and 1 <= key <= _LAST_ID if table.numbered else isinstance(key, str) and key
    if isinstance(key, bool) or not is_id:
        raise source.fault(
            f"{place}.id",
            f"{shown(key)} is no id",
            f"Write a number from 1 to {_LAST_ID}" if table.numbered else "Write a text",
        )
    for column, value in full.items():
        if value is REQUIRED:
            raise source.fault(f"{place}.{column}", "the column is missing", f"Add {column} = …")
        _check_value(source, f"{place}.{column}", column, table.columns.get(column), value)
    return full


def _check_value(source: Source, place: str, column: str, default: object, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if column in _NUMBERS and not number:
        raise source.fault(place, f"{shown(value)} has the wrong type", "Write a number")
    text = isinstance(default, str) or (default is REQUIRED and column not in _NO_TEXTS)
    if text and not isinstance(value, str):
        raise source.fault(place, f"{shown(value)} has the wrong type", "Write a text")
    if column == "versions" and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        raise source.fault(
            place, f"{shown(value)} has the wrong type", "Write a list of versions, oldest first"
        )


def _check_page(source: Source, place: str, page: dict[str, Any]) -> None:
    if not page["id"].startswith("/") or page["id"] in _NO_PAGES:
        raise source.fault(
            f"{place}.id", f"{shown(page['id'])} is no path of a page",
            f"Begin it with '/'; {', '.join(_NO_PAGES)} are taken",
        )  # fmt: skip
    if not (isinstance(page["links"], list) and all(isinstance(link, str) for link in page["links"])):
        raise source.fault(
            f"{place}.links", f"{shown(page['links'])} has the wrong type", "Write a list of paths"
        )
    if page["form"] is not None:
        form = convert(source.within(f"{place}.form"), page["form"], _Form)
        page["form"] = msgspec.to_builtins(form)
