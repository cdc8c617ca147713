"""``seatrial calibrate``: show that a task's verifiers accept what is right and reject the rest."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from seatrial.calibrate.calibration import DEFAULT_ROUNDS, Effort
from seatrial.calibrate.calibration import calibrate as calibrate_task
from seatrial.calibrate.record import Calibration, ProductResult, write_calibration
from seatrial.cli.run_progress import Shown
from seatrial.errors import UsageError
from seatrial.spec.loading import CALIBRATION_FILE, load_task


def calibrate(
    tasks: Annotated[list[Path], typer.Argument(help="Task folders.")],
    mutate: Annotated[
        bool,
        typer.Option(
            "--mutate",
            help="Also try the reference with any one state-changing step dropped or any one argument of it "
            "altered: each must be rejected.",
        ),
    ] = False,
    rounds: Annotated[int, typer.Option(min=2, help="Trials of each product.")] = DEFAULT_ROUNDS,
    workers: Annotated[int, typer.Option(min=1, help="Trials at once.")] = 1,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the runs in this new folder, to look at with `seatrial show`."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the calibrations as JSON.")] = False,
) -> None:
    """Play each of a task's solutions, and doing nothing, and compare the verdicts with what must come out.

    Solutions whose name begins with `reference` or `equivalent` must be accepted: a strict success without
    a hard violation. All others must be rejected. What was found is kept in the task's folder as
    calibration.json; `seatrial suite freeze` asks for it. Exit code 1 when a task does not pass; 2 when a
    trial could not be completed, and then nothing is recorded.
    """
    loaded = [load_task(folder) for folder in tasks]
    if keep is not None and keep.exists():
        raise UsageError(f"{keep}: exists. Give a new folder with --keep.")
    found = []
    for task in loaded:
        folder = keep if keep is None or len(loaded) == 1 else keep / task.spec.id.replace("/", "-")
        effort = Effort(rounds, mutate, workers, folder)
        with Progress(console=Console(stderr=True, quiet=json), transient=True) as bar:
            calibration = calibrate_task(task, effort, lambda what, trials: Shown(trials, bar))
        write_calibration(task.folder, calibration)
        found.append(calibration)
        if not json:
            _print(task.folder, calibration)
    if json:
        typer.echo(msgspec.json.encode({"calibrations": found}).decode())
    if not all(calibration.passed for calibration in found):
        raise typer.Exit(1)


def _print(folder: Path, found: Calibration) -> None:
    typer.echo(f"{folder}: task {found.task} {found.version}, {found.rounds} trials of each product")
    for product in found.products:
        typer.echo(f"  {'right' if product.right else 'WRONG'}  {product.name}: {_line(product)}")
    for subgoal in found.flaky:
        typer.echo(f"  FLAKY  {subgoal}: its verifier disagreed with itself on one state")
    if found.mutation is not None:
        killed = found.mutation.tried - len(found.mutation.survivors)
        typer.echo(f"  mutants of the reference: {killed} of {found.mutation.tried} rejected")
        for survivor in found.mutation.survivors:
            typer.echo(f"  SURVIVED ({survivor.terminal_class})  {survivor.change}")
    typer.echo(f"{folder}: {'calibrated' if found.passed else 'NOT calibrated'} ({CALIBRATION_FILE})")


def _line(product: ProductResult) -> str:
    ends = []
    for outcome in product.outcomes:
        why = f" at {', '.join(outcome.failing)}" if outcome.failing else ""
        broken = f", {outcome.hard_violations} hard violations" if outcome.hard_violations else ""
        ends.append(f"{outcome.terminal_class}{why}{broken}")
    same = ends[0] if len(set(ends)) == 1 else "; ".join(ends)
    return f"must be {product.expected}; {same}"
