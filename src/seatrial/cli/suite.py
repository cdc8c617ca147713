"""``seatrial suite``: make a task, and check tasks before they are used."""

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.errors import UsageError
from seatrial.spec.lint import Finding, lint_task
from seatrial.spec.loading import LoadedTask, load_task
from seatrial.spec.scaffold import new_task

app = typer.Typer(name="suite", help="Make tasks and check them.", no_args_is_help=True)

FAMILIES = ("repair",)
DOWNLOADS = Path("build/downloads")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="Where the task goes; must not exist or be empty.")],
    task_id: Annotated[
        str | None, typer.Option("--id", help="family/name; by default example/ and the folder's name.")
    ] = None,
    family: Annotated[str | None, typer.Option(help="Generate a task of a family: repair.")] = None,
    package: Annotated[str, typer.Option(help="With --family repair: the package to break.")] = "toolz",
    seed: Annotated[int, typer.Option(help="With --family: the same seed gives the same task.")] = 1,
    cache: Annotated[Path, typer.Option(help="With --family: where downloads are kept.")] = DOWNLOADS,
    as_json: Json = False,
) -> None:
    """Write a small, complete task to start from, or generate one of a family.

    `--family repair` takes a real package from the package index (pinned and checked by its hash), breaks
    some of its functions and builds a chain of work on them, with hidden checks and solutions.
    """
    if family is None:
        task = new_task(folder, task_id or f"example/{folder.resolve().name}")
    else:
        task = _generate(family, package, seed, folder, cache)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "id": task.spec.id, "files": list(task.files)}))
        return
    typer.echo(f"{folder}: task {task.spec.id}, {len(task.files)} files")
    typer.echo(f"Check it after changes with: seatrial suite lint {folder}")


def _generate(family: str, package: str, seed: int, folder: Path, cache: Path) -> LoadedTask:
    if family not in FAMILIES:
        raise UsageError(f"there is no family {family!r}. Choose one of: {', '.join(FAMILIES)}.")
    from seatrial.families import repair  # a generator is loaded only when asked for

    return load_task(repair.generate(package, seed, folder, cache))


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
