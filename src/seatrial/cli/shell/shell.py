"""``seatrial shell``: a person inside a task's sandbox, through the same gateway as any agent."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.cli.shell.front import Front
from seatrial.cli.shell.input import Input
from seatrial.environment.scratch import scratch_folder
from seatrial.errors import SeatrialError, UsageError
from seatrial.evidence.read import read_run
from seatrial.records.table import write_records
from seatrial.records.trial import TrialRecord
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.open_run import HeldRun, hold_run
from seatrial.spec.experiment import Script
from seatrial.spec.loading import LoadedTask, load_script, load_task
from seatrial.spec.person import person_experiment
from seatrial.trial.job import TrialJob
from seatrial.trial.sessions.session import Ask, Session

# How the trial of a person who just leaves is recorded to have stopped.
LEFT = "killed"
TEMPORARY, KEPT = "seatrial-shell-", "seatrial-kept-"


def shell(
    task: Annotated[Path, typer.Argument(help="Task folder.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Keep the session as a run in this new folder.")
    ] = None,
    play: Annotated[
        Path | None,
        typer.Option(help="First play this script; a path in the task's folder, or any other."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="After each action, show the verdicts it changed.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print how it ended as JSON; all else goes to stderr.")
    ] = False,
) -> None:
    """Work on a task yourself: in its sandbox, under its rules and budget, every step recorded.

    Lines are shell commands; `:help` lists what else there is, such as `:verify` and `:save`. Commands may
    come from a pipe. The run is one of a person, marked so, and never mixed with trials of agents.

    Exit code 1 when a finished session is no safe success, a budget ended it, or the last `:verify` found a
    subgoal that does not pass; 2 when a line of a pipe means nothing. Such a line ends the session, unless
    the work does not depend on it (`:save`, `:verify`, `:watch`): then it is told and passed over.
    """
    loaded = load_task(task)
    script = None if play is None else load_script(_script(task, play), loaded.spec.environment.services)
    if out is not None and (out / "manifest.json").exists():
        raise UsageError(f"{out}: holds a run already, and a session is not gone on with. Give a new folder.")
    with _folder(out) as folder:
        with hold_run(person_experiment(loaded), folder) as held:
            try:
                front = _work(loaded, held, script, str(play), watch, json)
            finally:
                close_dead_attempts(held.run, held.manifest)
        record = read_run(folder).attempts[-1].record
        write_records(folder / "records.parquet", [record])
        _conclude(record, out, json)
    if front.passed_over:
        raise typer.Exit(2)
    # Time may have run out before a person left, so the record says how it ended and not what was typed.
    broken_off = record.stop_reason in (LEFT, "gave_up")
    solved = record.stop_reason == "finished" and record.safe_success is True
    if front.unmet or not (broken_off or solved):
        raise typer.Exit(1)


def _script(task: Path, play: Path) -> Path:
    return task / play if (task / play).is_file() else play


def _work(
    loaded: LoadedTask, held: HeldRun, script: Script | None, name: str, watch: bool, json: bool
) -> Front:
    """Hold the session to its end; returns what became of it."""
    planned = held.manifest.plan[0]
    job = TrialJob(run=str(held.run.folder.resolve()), trial=planned.trial, attempt=1)

    def say(text: str) -> None:
        typer.echo(text, err=json)

    def complain(text: str) -> None:
        typer.echo(f"seatrial: {text}", err=True)

    lines = Input()
    with Session(job) as session:
        front = Front(loaded, session, lines, say, complain)
        if lines.is_terminal:
            say(f"{loaded.spec.id}: you are in its sandbox. `:goal` shows what to do, `:help` what there is.")
        if watch:
            front.watch("on")
        try:
            if script is not None:
                front.play(script, name)
            front.converse()
        except UsageError:
            _leave(session)
            raise
        _leave(session)
    return front


def _leave(session: Session) -> None:
    """Let the trial end in order; anything else than a wrong line just kills its process."""
    if session.done is None:
        session.ask(Ask(what="leave"))


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The run's folder; one of our own is removed afterwards, and kept when something broke."""
    if out is not None:
        yield out
        return
    # Held for as long as anything is read from it or written to it: other sessions sweep what nobody holds.
    with scratch_folder(TEMPORARY) as own:
        try:
            yield own / "run"
        except UsageError:
            raise
        except SeatrialError:
            if (own / "run" / "manifest.json").exists():
                # Under another name, so that no later session sweeps it away.
                kept = own.rename(own.with_name(own.name.replace(TEMPORARY, KEPT)))
                typer.echo(f"What was recorded is kept in {kept / 'run'}", err=True)
            raise


def _conclude(record: TrialRecord, out: Path | None, json: bool) -> None:
    if json:
        names = ("stop_reason", "terminal_class", "strict_success", "safe_success", "partial_progress",
                 "hard_violations", "actions")  # fmt: skip
        outcome = {name: getattr(record, name) for name in names}
        kept = None if out is None else str(out)
        typer.echo(msgspec.json.encode({"run": kept, "trial": record.trial, **outcome}).decode())
        return
    if record.stop_reason == LEFT:
        typer.echo(f"left after {record.actions} actions")
    else:
        safe = {True: "a safe success", False: "no safe success", None: "unknown"}[record.safe_success]
        typer.echo(
            f"ended ({record.stop_reason}) after {record.actions} actions: {safe}, progress "
            f"{'unknown' if record.partial_progress is None else f'{record.partial_progress:.4g}'}"
            f"{'' if not record.hard_violations else f', {record.hard_violations} hard violations'}"
        )
    if out is not None:
        typer.echo(f"Run folder: {out}")
