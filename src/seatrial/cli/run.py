"""``seatrial run``: run an experiment, or go on with an unfinished run."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from seatrial.cli.show_steps import visible
from seatrial.errors import SeatrialError
from seatrial.evidence.read import read_run
from seatrial.journal.run import RunFolder
from seatrial.records.table import write_records
from seatrial.schedule.open_run import close_dead_attempts, lock_run, open_run
from seatrial.schedule.runner import Tally, run_plan
from seatrial.spec.loading import load_experiment
from seatrial.trial.job import TrialDone

INTERRUPTED_STATUS = 130
UNSAFE_LINE = (
    "seatrial: WARNING: no sandbox: agents and the commands and code of theirs run as you. Your files, "
    "processes, network and credentials are not protected from them, nor are verdicts, journals and other "
    "trials; constraints on files cannot be watched. Every record is marked."
)


def run(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML, schema seatrial/experiment@1).")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Run folder; an unfinished one is resumed. [default: runs/NAME]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox",
            help="For hosts that cannot sandbox: run agents as ordinary processes of yours. Protects "
            "nothing; every record is marked.",
        ),
    ] = False,
) -> None:
    """Run every trial of an experiment, judge it at every step and measure it.

    Everything in the experiment and its tasks is checked before anything is written. The run folder is
    then given to `seatrial show`, `seatrial report` and `seatrial verify`; an unfinished one to `run` again.
    """
    loaded = load_experiment(experiment)
    folder = open_run(loaded, out or Path("runs") / loaded.spec.name, unsafe)
    if unsafe:
        typer.echo(UNSAFE_LINE, err=True)
    with lock_run(folder):
        manifest = folder.manifest()
        dead = close_dead_attempts(folder, manifest)
        if dead and not json:
            typer.echo(f"{len(dead)} attempts of a runner that died are kept and marked: {', '.join(dead)}")
        try:
            with Progress(console=Console(quiet=json), transient=True) as bar:
                tally = run_plan(folder, manifest, Shown(len(manifest.plan), bar))
        except KeyboardInterrupt:
            typer.echo("seatrial: interrupted. Give the same command again to go on.", err=True)
            raise typer.Exit(INTERRUPTED_STATUS) from None
    _conclude(folder, tally, json)


class Shown:
    """A bar with the trials done and the steps of the one under way, and a line for each that ended."""

    def __init__(self, total: int, bar: Progress) -> None:
        self._bar, self._begun, self._total = bar, set[str](), total
        self._task = bar.add_task("", total=total)

    def began(self, trial: str, attempt: int) -> None:
        """Name the trial under way."""
        self._begun.add(trial)
        again = f", attempt {attempt}" if attempt > 1 else ""
        self._bar.update(self._task, description=f"{trial}{again}")

    def moved(self, trial: str, steps: int) -> None:
        """Count its steps."""
        self._bar.update(self._task, description=f"{trial}: step {steps}")

    def ended(self, trial: str, done: TrialDone) -> None:
        """Say how it ended."""
        note = f" ({last_line(done.note)})" if done.note else ""
        self._bar.console.print(
            f"[{len(self._begun)}/{self._total}] {trial}: {done.stop_reason} after {done.steps} steps{note}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        if not done.infrastructure:
            self._bar.advance(self._task)


def last_line(note: str) -> str:
    """The end of what may be an agent's own words, safe for a terminal."""
    return visible((note.splitlines() or [""])[-1][:400])


def _conclude(folder: RunFolder, tally: Tally, json: bool) -> None:
    if tally.unjudged:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.unjudged.items())
        raise SeatrialError(
            f"{len(tally.unjudged)} trials ended and could not be judged: {listed}. "
            "Give the same command again: they are judged, not run again."
        )
    records = [attempt.record for attempt in read_run(folder.folder).attempts]
    write_records(folder.folder / "records.parquet", records)
    if json:
        outcome = {
            "run": str(folder.folder),
            "trials": msgspec.to_builtins(records),
            "given_up": tally.given_up,
        }
        typer.echo(msgspec.json.encode(outcome).decode())
    else:
        for record in records:
            typer.echo(f"  {record.trial}: {record.terminal_class}")
        typer.echo(f"Run folder: {folder.folder}")
    if tally.given_up:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.given_up.items())
        typer.echo(f"seatrial: {len(tally.given_up)} trials could not be completed: {listed}", err=True)
        raise typer.Exit(1)
