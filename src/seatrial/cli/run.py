"""``seatrial run``: run an experiment, or go on with an unfinished run."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.errors import SeatrialError
from seatrial.journal.run import RunFolder
from seatrial.records.table import write_records
from seatrial.report.evidence import read_run
from seatrial.schedule.open_run import close_dead_attempts, lock_run, open_run
from seatrial.schedule.runner import Progress, Tally, run_plan
from seatrial.spec.loading import load_experiment
from seatrial.trial.job import TrialDone


def run(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML, schema seatrial/experiment@1).")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Run folder; an unfinished one is resumed. [default: runs/NAME]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run every trial of an experiment, judge it at every step and measure it.

    Everything in the experiment and its tasks is checked before anything is written. The run folder can be
    given to `seatrial show`, `seatrial report` and `seatrial verify` at any time.
    """
    loaded = load_experiment(experiment)
    folder = open_run(loaded, out or Path("runs") / loaded.spec.name)
    with lock_run(folder):
        manifest = folder.manifest()
        dead = close_dead_attempts(folder, manifest)
        if dead and not json:
            typer.echo(f"{len(dead)} attempts of a runner that died are kept and marked: {', '.join(dead)}")
        tally = run_plan(folder, manifest, _progress(len(manifest.plan), quiet=json))
    _conclude(folder, tally, json)


def _progress(total: int, quiet: bool) -> Progress:
    begun: dict[str, int] = {}

    def say(trial: str, done: TrialDone | None) -> None:
        if quiet:
            return
        if done is None:
            begun[trial] = begun.get(trial, 0) + 1
            again = f", attempt {begun[trial]}" if begun[trial] > 1 else ""
            typer.echo(f"[{len(begun)}/{total}] {trial}{again} …", nl=False)
        else:
            note = f" ({done.note.splitlines()[-1][:200]})" if done.note else ""
            typer.echo(f" {done.stop_reason} after {done.steps} steps{note}")

    return say


def _conclude(folder: RunFolder, tally: Tally, json: bool) -> None:
    records = [attempt.record for attempt in read_run(folder.folder).attempts]
    write_records(folder.folder / "records.parquet", records)
    if json:
        outcome = {"run": str(folder.folder), "trials": msgspec.to_builtins(records), "given_up": tally.given_up}
        typer.echo(msgspec.json.encode(outcome).decode())
    else:
        for record in records:
            typer.echo(f"  {record.trial}: {record.terminal_class}")
        typer.echo(f"Run folder: {folder.folder}")
    if tally.given_up:
        listed = "; ".join(f"{trial}: {reason}" for trial, reason in tally.given_up.items())
        raise SeatrialError(f"{len(tally.given_up)} trials could not be completed: {listed}")
