"""Checks the files of a task's services when the task is read, the tables of ``sql`` by making them."""

import contextlib
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from seatrial.errors import SpecError
from seatrial.spec.faults import Source, choose, shown
from seatrial.spec.reading import read_text
from seatrial.spec.service_file import FOLDER, file_of, parse_service
from seatrial.spec.sql_file import build_tables


def check_services(folder: Path, services: Sequence[str], files: Collection[str]) -> None:
    """Check the files of a task's services, and that there is none of a service it does not have.

    Args:
        folder: the task's.
        services: those it declares.
        files: every file of the task, relative to the folder.

    Raises:
        SpecError: the first thing that is wrong.
    """
    source = Source(str(folder / "task.toml"))
    if "sql" in services and file_of("sql") not in files:
        raise source.fault(
            f"environment.services[{services.index('sql')}]",
            f'"sql" has no {file_of("sql")} with its tables',
            "Write one; docs/services.md says how",
        )  # fmt: skip
    for path in sorted(files):
        place = PurePosixPath(path)
        if str(place.parent) != FOLDER or place.suffix != ".toml":
            continue
        if place.stem not in services:
            raise SpecError(
                str(folder / path), "", f"the task has no service {shown(place.stem)}",
                choose(place.stem, services, "a service of environment.services"),
            )  # fmt: skip
        given = parse_service(Source(str(folder / path)), place.stem, read_text(folder / path))
        for named in given.files:
            if named not in files:
                raise SpecError(
                    str(folder / path), "", f"there is no file {shown(named)}", "Add it to the task"
                )
        if place.stem == "sql":
            with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
                build_tables(connection, given, lambda name: read_text(folder / name), f"{folder}/")
