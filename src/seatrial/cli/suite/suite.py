"""``seatrial suite``: make a task, and check tasks before they are used."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.cli.interrupting import ended_in_order
from seatrial.cli.options import flat
from seatrial.cli.suite.families import FAMILIES, FamilyOptions, generate
from seatrial.cli.suite.freeze import freeze
from seatrial.errors import UsageError
from seatrial.spec.lint import Finding, lint_task
from seatrial.spec.loading import LoadedTask, load_task
from seatrial.spec.new_experiment import check_place, new_experiment
from seatrial.spec.new_task import new_task

app = typer.Typer(name="suite", help="Make tasks and check them.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
@flat
def new(
    folder: Annotated[Path, typer.Argument(help="Where the task goes; must not exist or be empty.")],
    made: FamilyOptions,
    task_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="family/name; by default example/ and the folder's name. Not with --family, whose tasks are "
            "named by their knobs.",
        ),
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(help="Also write a ready experiment on the task to this new file, outside the task."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a small, complete task to start from, or generate one of a family.

    A family makes a whole task, with hidden checks, solutions right and wrong, a plan for simulated agents
    and, where it has disturbances, the reference recovery from each. What it takes from the package index is
    pinned and checked by its hash. Every task is proved before it is put in place.
    """
    if experiment is not None:
        check_place(experiment, folder)
    if made.family is not None:
        task = _generate(folder, task_id, made)
    else:
        given = list(made.given())
        if given:
            raise UsageError(
                f"--{given[0]} is for generated tasks only. Add --family ({', '.join(FAMILIES)}), "
                "or leave it out."
            )
        task = new_task(folder, task_id or f"example/{folder.resolve().name}")
    if experiment is not None:
        new_experiment(experiment, task)
    if as_json:
        told = {"folder": str(folder), "id": task.spec.id, "files": list(task.files)}
        typer.echo(json.dumps(told if experiment is None else {**told, "experiment": str(experiment)}))
        return
    typer.echo(f"{folder}: task {task.spec.id}, {len(task.files)} files")
    _print_next(folder, experiment)


def _print_next(folder: Path, experiment: Path | None) -> None:
    """The commands that lead on from a new task."""
    task = shlex.quote(str(folder))
    typer.echo(f"Work on it yourself:        seatrial shell {task}")
    typer.echo(f"Check it after changes:     seatrial suite lint {task}")
    typer.echo(f"Show that it judges well:   seatrial calibrate {task} --mutate")
    if experiment is not None:
        file = shlex.quote(str(experiment))
        typer.echo(f"Run the experiment on it:   seatrial run {file} -o RUN")
        typer.echo("See what may be concluded:  seatrial report RUN")


def _generate(folder: Path, task_id: str | None, made: FamilyOptions) -> LoadedTask:
    if task_id is not None:
        raise UsageError("--id: a generated task is named by its knobs. Leave --id out.")
    with ended_in_order(lambda: f"{folder} was not made. Give the same command again."):
        made_folder = generate(made, folder)
    return load_task(made_folder)


app.command()(freeze)


@app.command()
def lint(
    tasks: Annotated[list[Path], typer.Argument(help="Task folders.")],
    as_json: Json = False,
) -> None:
    """Check tasks for what is allowed but wrong. Exit code 1 when an error is found."""
    loaded = [load_task(folder) for folder in tasks]
    found = [(task, lint_task(task)) for task in loaded]
    if as_json:
        typer.echo(json.dumps({"tasks": [_plain(task, findings) for task, findings in found]}))
    else:
        for task, findings in found:
            _print(task, findings)
    if any(finding.level == "error" for _, findings in found for finding in findings):
        raise typer.Exit(1)


def _plain(task: LoadedTask, findings: list[Finding]) -> dict[str, Any]:
    return {"task": task.spec.id, "folder": str(task.folder), "findings": msgspec.to_builtins(findings)}


def _print(task: LoadedTask, findings: list[Finding]) -> None:
    for finding in findings:
        where = f"{task.folder}: {finding.place}"
        typer.echo(f"{finding.level}: {where}: {finding.problem}. {finding.remedy}.")
    errors = sum(finding.level == "error" for finding in findings)
    typer.echo(f"{task.folder}: {errors} errors, {len(findings) - errors} warnings")
