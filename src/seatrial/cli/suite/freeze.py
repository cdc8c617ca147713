"""``seatrial suite freeze``: name calibrated tasks with their digests in a suite file."""

import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.calibrate.freeze import freeze_suite
from seatrial.spec.loading import load_task


def freeze(
    tasks: Annotated[list[Path], typer.Argument(help="Task folders, calibrated.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The suite's file, NAME.suite.toml.")],
    anchor: Annotated[
        list[str] | None,
        typer.Option(help="Id of a task kept from release to release. May be given several times."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Freeze tasks into a suite, which experiments then name as `suite:NAME`.

    A task must have passed `seatrial calibrate` in exactly the state it is in, and lint must find no error.
    Freezing again is allowed; a task that has changed since needs a new version.
    """
    suite = freeze_suite([load_task(folder) for folder in tasks], out, anchor or [])
    if as_json:
        typer.echo(json.dumps(msgspec.to_builtins(suite)))
        return
    for task in suite.task:
        typer.echo(f"  {task.id} {task.version} {task.digest[:12]}{' (anchor)' if task.anchor else ''}")
    typer.echo(
        f"{out}: suite {suite.name!r} of {len(suite.task)} tasks. Name it in an experiment: "
        f'tasks = ["suite:{suite.name}"]'
    )
