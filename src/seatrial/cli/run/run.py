"""``seatrial run``: run an experiment, or go on with an unfinished run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from seatrial.cli.interrupting import INTERRUPTED_STATUS
from seatrial.cli.options import flat
from seatrial.cli.run.progress import Shown, cost, last_line, progress
from seatrial.cli.run.terminal import Terminal, terminal_for
from seatrial.errors import SeatrialError
from seatrial.evidence.read import read_run
from seatrial.journal.run import RunFolder
from seatrial.records.table import write_records
from seatrial.records.trial import TrialRecord
from seatrial.schedule.open_run import HeldRun, hold_run
from seatrial.schedule.queue import Selection
from seatrial.schedule.runner import Orders, Tally, run_plan
from seatrial.schedule.spending import Cap
from seatrial.schedule.stopping import on_signals
from seatrial.spec.approval_rules import given_by_nobody
from seatrial.spec.identity import plan
from seatrial.spec.loading import LoadedExperiment, load_experiment

AGAIN_LINE = "seatrial: interrupted. Give the same command again to go on."
UNSAFE_LINE = (
    "seatrial: WARNING: no sandbox: agents and the commands and code of theirs run as you. Your files, "
    "processes, network and credentials are not protected from them, nor are verdicts, journals and other "
    "trials; constraints on files cannot be watched. Every record is marked."
)


@dataclass(frozen=True)
class Which:
    """Which trials of the plan."""

    limit: Annotated[
        int | None, typer.Option(help="Begin at most so many trials this time, in execution order.")
    ] = None
    task: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only tasks whose id fits. Repeatable.")
    ] = None
    system: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this system. Repeatable.")
    ] = None
    arm: Annotated[list[str] | None, typer.Option(metavar="ARM", help="Only this arm. Repeatable.")] = None

    def selection(self) -> Selection:
        """The same as the schedule takes it."""
        return Selection(tuple(self.task or ()), tuple(self.system or ()), tuple(self.arm or ()), self.limit)


@dataclass(frozen=True)
class Bounds:
    """What the whole run may spend."""

    max_money: Annotated[
        float | None,
        typer.Option(
            help="Begin nothing more once the run's known cost has reached this much money. Needs a price "
            "for every system that is to run."
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(help="Begin nothing more once the run's known use has reached so many tokens."),
    ] = None


@flat
def run(
    experiment: Annotated[Path, typer.Argument(help="Experiment file (TOML, schema seatrial/experiment@1).")],
    which: Which,
    bounds: Bounds,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Run folder; an unfinished one is resumed. [default: runs/NAME]"),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Attempts at once, each in a process and sandbox of its own.")
    ] = 1,
    rerun_infrastructure: Annotated[
        bool,
        typer.Option(
            "--rerun-infrastructure",
            help="Give trials that used up their attempts for reasons of infrastructure new ones, with a "
            "dated note in the manifest. Nothing else is run again.",
        ),
    ] = False,
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
    Ctrl-C once: what runs is finished and judged, nothing more is begun. Twice: what runs is ended now. The
    exit code is then 130; it is 1 when trials could not be completed or a bound on the cost kept some from
    beginning.
    """
    cap = Cap(bounds.max_money, bounds.max_tokens)
    orders = Orders(workers, which.selection(), cap, rerun_infrastructure)
    try:
        loaded = load_experiment(experiment)
        # A filter that fits nothing, or a bound that cannot be held, is told before anything is written.
        wanted = {planned.system for planned in orders.selection.of(plan(loaded))}
        cap.check([system for system in loaded.spec.system if system.name in wanted], unsafe)
        terminal = terminal_for(loaded, workers)
        if terminal is not None:
            orders = replace(orders, person=terminal.answer)
        for line in _unheard(loaded):
            typer.echo(line, err=True)
        with hold_run(loaded, out or Path("runs") / loaded.spec.name, orders, unsafe) as held:
            if unsafe:
                typer.echo(UNSAFE_LINE, err=True)
            tally = _carry_out(held, orders, terminal, json)
    except KeyboardInterrupt:
        typer.echo(AGAIN_LINE, err=True)
        raise typer.Exit(INTERRUPTED_STATUS) from None
    _conclude(held.run, tally, json)


def _unheard(loaded: LoadedExperiment) -> Iterator[str]:
    """A warning for each task that asks for leave of a person where the experiment has none."""
    if loaded.spec.human.tier != "none":
        return
    for task in loaded.tasks:
        if names := given_by_nobody(task.spec):
            yield (
                f"seatrial: {task.spec.id}: nobody is there to give {', '.join(names)}, so what needs it is "
                "not allowed in any trial. Add [human] to the experiment, unless that is meant."
            )


def _carry_out(held: HeldRun, orders: Orders, terminal: Terminal | None, json: bool) -> Tally:
    if held.died:
        marked = f"{len(held.died)} attempts of a runner that died are kept and marked: "
        typer.echo(marked + ", ".join(held.died), err=json)
    console = Console(stderr=json, quiet=json)
    with on_signals() as stop, progress(console) as bar:
        if terminal is not None:
            terminal.bar, terminal.stop = bar, stop
        return run_plan(held.run, held.manifest, Shown(len(held.manifest.plan), bar), orders, stop)


def _conclude(folder: RunFolder, tally: Tally, json: bool) -> None:
    """Write the records, say what came of it, and end with the status that fits."""
    if tally.unjudged and tally.interrupted:
        typer.echo(AGAIN_LINE, err=True)
        raise typer.Exit(INTERRUPTED_STATUS)
    if tally.unjudged:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.unjudged.items())
        raise SeatrialError(
            f"{len(tally.unjudged)} trials ended and could not be judged: {listed}. "
            "Give the same command again: they are judged, not run again."
        )
    records = [attempt.record for attempt in read_run(folder.folder).attempts]
    write_records(folder.folder / "records.parquet", records)
    if json:
        typer.echo(msgspec.json.encode(_outcome(folder, tally, msgspec.to_builtins(records))).decode())
    else:
        for line in closing_lines(records):
            typer.echo(line)
        typer.echo(f"Cost so far: {cost(tally.spent)}")
        if tally.left:
            typer.echo(f"{tally.left} trials of the plan are left. Give the same command again to go on.")
        typer.echo(f"Run folder: {folder.folder}")
    _end(tally)


def closing_lines(records: Sequence[TrialRecord]) -> list[str]:
    """How every attempt ended, one a line; those of a trial that has several are told apart."""
    attempts = Counter(record.trial for record in records)
    return [
        f"  {record.trial}{f', attempt {record.attempt}' if attempts[record.trial] > 1 else ''}: "
        f"{record.terminal_class}"
        for record in records
    ]


def _outcome(folder: RunFolder, tally: Tally, records: object) -> dict[str, object]:
    return {
        "run": str(folder.folder),
        "trials": records,
        "given_up": tally.given_up,
        "left": tally.left,
        "not_begun": tally.waiting,
        "capped": tally.capped,
        "beyond_cap": tally.beyond_cap,
        "interrupted": tally.interrupted,
        "killed": tally.killed,
        "infrastructure_ends": tally.infrastructure_ends,
        "spent": msgspec.to_builtins(tally.spent),
    }


def _end(tally: Tally) -> None:
    status = 0
    if tally.given_up:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.given_up.items())
        typer.echo(
            f"seatrial: {len(tally.given_up)} trials could not be completed: {listed}. "
            "Once the cause is gone, --rerun-infrastructure tries them again.",
            err=True,
        )
        status = 1
    if tally.capped is not None:
        typer.echo(
            f"seatrial: {len(tally.waiting)} trials not run because of the cap: {tally.capped}. "
            "Give the same command with a higher one, or without it, to go on.",
            err=True,
        )
        status = 1
    if tally.beyond_cap is not None:
        typer.echo(f"seatrial: {tally.beyond_cap}.", err=True)
    if tally.interrupted:
        typer.echo(AGAIN_LINE, err=True)
        status = INTERRUPTED_STATUS
    if status:
        raise typer.Exit(status)
