"""What a task's services begin with, from its frozen files: built with the base and kept beside it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seatrial.environment.services.stock import Stock, build_stock
from seatrial.environment.state.base import Base
from seatrial.environment.state.overlay import remove_tree
from seatrial.errors import SpecError
from seatrial.journal.entries import is_row
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.spec.canaries import filled, generated
from seatrial.spec.faults import Source
from seatrial.spec.service_file import Stocked, file_of, parse_service
from seatrial.spec.task import Task


def stock_folder(base: Path) -> Path:
    """Where the databases lie of a task whose base has a folder."""
    return base.with_name(f"{base.name}.services")


def is_stocked(base: Base, folder: Path) -> bool:
    """Whether the databases that a base was indexed with are there."""
    return all((stock_folder(folder) / name).is_file() for name in base.databases)


def build_stock_of(run: RunFolder, task: TaskFrozen, spec: Task, folder: Path) -> Stock | None:
    """Build the databases of a task's services; null where it has none.

    Raises:
        SpecError: a file of theirs is wrong.
    """
    if not spec.environment.services:
        return None
    place = stock_folder(folder)
    workshop = place.with_name(f".{place.name}.{os.getpid()}")
    remove_tree(str(workshop))
    try:
        stock = build_stock(
            str(workshop), _stocked(run, task, spec), run.objects, _text_of(run, task, spec), task.id
        )
        remove_tree(str(place))
        os.rename(workshop, place)
    finally:
        remove_tree(str(workshop))
    stock.folder = str(place)
    return stock


def known_stock(run: RunFolder, task: TaskFrozen, spec: Task, base: Base, folder: Path) -> Stock | None:
    """The services' databases as they were indexed with a base; null where the task has no services."""
    if not spec.environment.services:
        return None
    rows = {path: entry for path, entry in base.state.items() if is_row(path)}
    return Stock(str(stock_folder(folder)), _settings(run, task, spec), dict(base.databases), rows)


def _settings(run: RunFolder, task: TaskFrozen, spec: Task) -> dict[str, dict[str, Any]]:
    return {name: stocked.settings for name, stocked in _stocked(run, task, spec).items()}


def _stocked(run: RunFolder, task: TaskFrozen, spec: Task) -> dict[str, Stocked]:
    text_of, found = _text_of(run, task, spec), dict[str, Stocked]()
    for service in spec.environment.services:
        path = file_of(service)
        text = text_of(path) if path in task.files else ""
        found[service] = parse_service(Source(f"task {task.id}: {path}"), service, text)
    return found


def _text_of(run: RunFolder, task: TaskFrozen, spec: Task) -> Callable[[str], str]:
    """The text of a file of the task, with generated canaries where it has room for them."""
    pairs = generated(spec, int(run.manifest().experiment.get("seed", 0)))

    def text_of(path: str) -> str:
        try:
            return filled(run.objects.get(task.files[path][0]), pairs).decode()
        except KeyError:
            raise SpecError(f"task {task.id}", path, "there is no such file in the task", "Add it") from None
        except UnicodeDecodeError as fault:
            raise SpecError(f"task {task.id}", path, "is not UTF-8", "Save it as UTF-8") from fault

    return text_of
