"""Tables of trials as the estimate commands read them, and the commands run in this process."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from seatrial.cli.main import application

BASE = {"arm": "baseline", "attempt": 1}


def run(*arguments: object):
    """The command with these arguments; a deliberate error is in ``exception``."""
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def text(*arguments: object) -> str:
    """What it prints; errors are raised."""
    done = run(*arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def data(*arguments: object) -> dict[str, Any]:
    """What it prints as JSON."""
    return json.loads(text(*arguments, "--json"))


def line(found: Mapping[str, Any], system: str, quantity: str) -> dict[str, Any]:
    """The one line of an answer about a system and a quantity."""
    (one,) = [
        entry for entry in found["lines"] if entry["system"] == system and entry["quantity"] == quantity
    ]
    return one


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as a CSV that `load_records` takes; null is an empty cell."""
    names = list(dict.fromkeys(name for row in rows for name in (*BASE, *row)))
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, names, restval="")
        writer.writeheader()
        for row in rows:
            cells = {**BASE, **row}
            writer.writerow(
                {
                    name: str(value).lower() if isinstance(value, bool) else value
                    for name, value in cells.items()
                    if value is not None
                }
            )
    return path


def trials(system: str, outcomes: Mapping[str, Sequence[bool | None]], **more: Any) -> list[dict[str, Any]]:
    """One row for each outcome of each task; ``more`` are columns of all, or functions of task and number."""
    classes = {True: "success", False: "failure", None: "unknown"}
    rows = []
    for task, results in outcomes.items():
        for number, result in enumerate(results):
            extra = {name: value(task, number) if callable(value) else value for name, value in more.items()}
            rows.append(
                {
                    "trial": f"{system}/{task}/{number}",
                    "task": task,
                    "system": system,
                    "terminal_class": classes[result],
                    "strict_success": result,
                    **extra,
                }
            )
    return rows
