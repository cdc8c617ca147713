"""``seatrial fork``: new trials that begin in a recorded state, with something changed there or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from seatrial.cli.interrupting import INTERRUPTED_STATUS
from seatrial.cli.options import flat
from seatrial.cli.run.progress import Shown, last_line, progress
from seatrial.cli.run.run import AGAIN_LINE
from seatrial.cli.show.show import PIPED_WIDTH
from seatrial.cli.show.steps import visible
from seatrial.errors import SpecError, UsageError
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.fork_effect import THIS_STATE
from seatrial.evidence.read import read_run, refuse_imported
from seatrial.journal.run import Manifest, RunFolder, TrialPlanned
from seatrial.records.table import write_records
from seatrial.report import wording
from seatrial.report.forks import ForkGroup, Forks, forks_report
from seatrial.schedule.amendments import add_trials
from seatrial.schedule.forks import ForkOrders, ForkPlace, draw_places, plan_forks, prove_places
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.locking import lock_run
from seatrial.schedule.queue import Selection, ledger_of
from seatrial.schedule.runner import Orders, Tally, run_plan
from seatrial.schedule.stopping import on_signals
from seatrial.spec.faults import choose
from seatrial.spec.frozen import frozen_task
from seatrial.spec.person import PERSON
from seatrial.spec.scripts import load_script

MOST_FORKS = 1000


@dataclass(frozen=True)
class What:
    """What is changed at the step."""

    action: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Script whose steps are carried out in place of the action that came next; then the agent "
            "goes on. Repeatable.",
        ),
    ] = None
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another system of the run that goes on from here. Repeatable."),
    ] = None
    control: Annotated[
        bool,
        typer.Option(
            help="Beside these as many forks with the action, or the system, there was: the effect is the "
            "difference."
        ),
    ] = True
    memory: Annotated[
        str,
        typer.Option(
            metavar="kept|none",
            help="kept: agents begin with what can be had of their memory, see below; none: with the "
            "instruction alone.",
        ),
    ] = "kept"


@dataclass(frozen=True)
class Chance:
    """Seeds and sampling."""

    seed: Annotated[
        int | None,
        typer.Option(help="Draws steps, and a seed for each fork. [default: the experiment's]"),
    ] = None
    same_seed: Annotated[
        bool, typer.Option("--same-seed", help="Give every fork the seed of its original instead.")
    ] = False
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Fork K steps drawn at random in place of one: of TRIAL (without @STEP), or without a TRIAL "
            "of all trials of the experiment.",
        ),
    ] = None
    attempt: Annotated[
        int | None, typer.Option(help="Attempt of the trial; the one that counts if left out.")
    ] = None


@flat
def fork(
    run: Annotated[Path, typer.Argument(help="Run folder; the forks become trials of it.")],
    place: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL@STEP", help="After which step of which trial; 0 is the beginning."),
    ] = None,
    *,
    n: Annotated[int, typer.Option("-n", help="Forks of each candidate.")],
    what: What,
    chance: Chance,
    non_causal: Annotated[
        bool,
        typer.Option(
            "--non-causal",
            help="Fork also where something cannot be copied, such as a running process; record and report "
            "say so.",
        ),
    ] = False,
    workers: Annotated[int, typer.Option(help="Attempts at once.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Make new trials that begin in the true state after a recorded step, and say what a change there did.

    \b
    seatrial fork RUN TRIAL@7 -n 10                       ten continuations
    seatrial fork RUN TRIAL@7 -n 10 --action right.toml   another action, against the one that came next
    seatrial fork RUN TRIAL@7 -n 10 --system careful      another system, against the one that acted
    seatrial fork RUN --sample 5 -n 4 --action look.toml  at five steps drawn at random from all trials

    Each fork has the files and service rows of that moment, bit for bit, the goal in force, the budget left,
    what was remembered, and a seed of its own; its state is proven before anybody acts. Candidate and control
    of one number share a seed. The memory of a script is had by showing it its past again; other agents get
    their last checkpoint, or with --same-seed and no model their past again, or the instruction alone. With
    --system both sides begin with the instruction alone. Steps and costs count from the fork on; forks are
    pooled with no other trials.

    The same command goes on with forks that were broken off, and adds those that a greater -n asks for. Exit
    code 1: some could not be completed. 130: interrupted.
    """
    if not 1 <= n <= MOST_FORKS:
        raise UsageError(f"-n {n}: is no number of forks. Give one from 1 to {MOST_FORKS}.")
    if what.memory not in ("kept", "none"):
        raise UsageError(f"--memory {what.memory!r}: is not known. Give kept or none.")
    Orders(workers)  # refused before anything is written
    try:
        with lock_run(run) as folder:
            manifest = folder.manifest()
            _refuse(run, manifest)
            close_dead_attempts(folder, manifest)
            orders = _orders(manifest, n, what, chance, non_causal)
            places = _places(folder, manifest, place, chance, orders)
            forks = _plan(folder, manifest, places, orders, what)
            _say_plan(forks, places, json)
            tally = _carry_out(folder, manifest, forks, workers, json)
    except KeyboardInterrupt:
        typer.echo(AGAIN_LINE, err=True)
        raise typer.Exit(INTERRUPTED_STATUS) from None
    _conclude(folder, forks, tally, json)


def _refuse(run: Path, manifest: Manifest) -> None:
    refuse_imported(run, manifest)
    if manifest.unsafe:
        raise UsageError(
            f"{run}: its trials ran without a sandbox, so nothing proves what their states were. Fork a run "
            "made in one."
        )


def _orders(manifest: Manifest, n: int, what: What, chance: Chance, non_causal: bool) -> ForkOrders:
    systems = what.system or []
    for name in systems:
        if name not in manifest.systems:
            raise UsageError(f"--system {name!r}: not in this run. {choose(name, manifest.systems, 'one')}")
        if manifest.systems[name]["agent"] == PERSON:
            raise UsageError(f"--system {name!r}: is a person, who cannot go on here. Name an agent.")
    memory: Literal["kept", "none"] = "none" if what.memory == "none" else "kept"
    seed = int(manifest.experiment.get("seed") or 0) if chance.seed is None else chance.seed
    return ForkOrders(
        count=n, seed=seed, systems=systems, control=what.control, same_seed=chance.same_seed, memory=memory,
        non_causal=non_causal,
    )  # fmt: skip


# -- where --------------------------------------------------------------------------------------------
def _places(
    run: RunFolder, manifest: Manifest, place: str | None, chance: Chance, orders: ForkOrders
) -> list[ForkPlace]:
    if chance.sample is not None:
        return _drawn(run, manifest, place, chance, orders)
    if place is None:
        raise UsageError("fork: name TRIAL@STEP, or draw steps with --sample K.")
    name, at, step = place.rpartition("@")
    if not at or not step.isascii() or not step.isdigit():
        raise UsageError(
            f"{place!r}: is not TRIAL@STEP with a step from 0, such as {name or place or 'trial'}@3."
        )
    planned = _trial(manifest, name)
    return [ForkPlace(planned, _attempt(run, manifest, planned, chance.attempt), int(step))]


def _drawn(
    run: RunFolder, manifest: Manifest, place: str | None, chance: Chance, orders: ForkOrders
) -> list[ForkPlace]:
    assert chance.sample is not None
    if chance.sample < 1:
        raise UsageError(f"--sample {chance.sample}: is no number of steps. Give one from 1.")
    if place is not None:
        if "@" in place:
            raise UsageError(f"{place!r}: names a step already. Leave @STEP or --sample out.")
        planned = _trial(manifest, place)
        frame = [(planned, _attempt(run, manifest, planned, chance.attempt))]
    else:
        if chance.attempt is not None:
            raise UsageError("--attempt: needs a TRIAL.")
        ledger = ledger_of(manifest, run.index())
        lines = [(p, ledger.counted(p.trial)) for p in manifest.plan if p.fork is None]
        frame = [(planned, line.attempt) for planned, line in lines if line is not None]
    return draw_places(run, frame, chance.sample, orders)


def _trial(manifest: Manifest, name: str) -> TrialPlanned:
    for planned in manifest.plan:
        if planned.trial == name:
            return planned
    names = [planned.trial for planned in manifest.plan]
    raise UsageError(f"{name!r}: is no trial of this run. {choose(name, names, 'a trial')}")


def _attempt(run: RunFolder, manifest: Manifest, planned: TrialPlanned, wanted: int | None) -> int:
    ledger = ledger_of(manifest, run.index())
    ended = [line.attempt for line in ledger.attempts(planned.trial)]
    if wanted is not None:
        if wanted not in ended:
            raise UsageError(f"--attempt {wanted}: {planned.trial!r} has ended attempts {ended}.")
        return wanted
    counted = ledger.counted(planned.trial)
    if counted is None:
        remedy = f"Choose one of its attempts {ended} with --attempt" if ended else "Let it end first"
        raise UsageError(f"{planned.trial!r}: has no attempt that counts. {remedy}.")
    return counted.attempt


# -- what ---------------------------------------------------------------------------------------------
def _plan(
    run: RunFolder, manifest: Manifest, places: Sequence[ForkPlace], orders: ForkOrders, what: What
) -> list[TrialPlanned]:
    """Plan every fork and write those down that are not in the plan yet, once their states are proven."""
    forks: list[TrialPlanned] = []
    for at in places:
        is_person = manifest.systems[at.planned.system]["agent"] == PERSON
        if is_person and (what.control or what.action or not orders.systems):
            raise UsageError(
                f"{at.planned.trial!r}: a person acted, who cannot go on here. Let --system NAME go on, with "
                "--no-control."
            )
        if at.planned.system in orders.systems:
            raise UsageError(f"--system {at.planned.system!r}: is the one that acted; it is the control.")
        services = frozen_task(manifest.task(at.planned.task), run.folder).environment.services
        actions = [_action(path, services) for path in what.action or []]
        forks += plan_forks(run, at, replace(orders, actions=actions))
    known = {planned.trial for planned in manifest.plan}
    new = [planned for planned in forks if planned.trial not in known]
    if new:
        prove_places(run, [at for at in places if any(_is_at(fork, at) for fork in new)])
        add_trials(run, manifest, new, {"fork": {"seed": orders.seed, "non_causal": orders.non_causal}})
    return forks


def _is_at(planned: TrialPlanned, at: ForkPlace) -> bool:
    fork = planned.fork
    return fork is not None and (fork.trial, fork.attempt, fork.step) == (
        at.planned.trial, at.attempt, at.step,
    )  # fmt: skip


def _action(path: Path, services: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """A script's name and calls; they are carried out as they stand, one after another."""
    steps = load_script(path, services).step
    if not steps:
        raise SpecError(str(path), "step", "there is none", "Write one [[step]] or more")
    for index, step in enumerate(steps):
        if step.when_shown is not None or step.belief is not None or step.check is not None:
            raise SpecError(
                str(path), f"step[{index}]", "when_shown, belief and check mean nothing here",
                "Write tool and arguments alone",
            )  # fmt: skip
    return path.stem, [{"tool": step.tool, "arguments": step.call()} for step in steps]


# -- carrying out -------------------------------------------------------------------------------------
def _say_plan(forks: Sequence[TrialPlanned], places: Sequence[ForkPlace], json: bool) -> None:
    for at in places:
        here = [planned.fork for planned in forks if _is_at(planned, at) and planned.fork is not None]
        kinds = ", ".join(dict.fromkeys(f"{fork.candidate} (memory: {fork.memory})" for fork in here))
        lost = f"; NOT CAUSAL: {'; '.join(here[0].lost)}" if here[0].lost else ""
        where = f"{at.planned.trial}@{at.step}: state {here[0].fingerprint[:16]}"
        typer.echo(f"{where}, {len(here)} forks: {kinds}{lost}", err=json)


def _carry_out(
    run: RunFolder, manifest: Manifest, forks: Sequence[TrialPlanned], workers: int, json: bool
) -> Tally:
    console = Console(stderr=json, quiet=json)
    orders = Orders(workers, Selection(trials=frozenset(planned.trial for planned in forks)))
    with on_signals() as stop, progress(console) as bar:
        return run_plan(run, manifest, Shown(len(manifest.plan), bar), orders, stop)


def _conclude(run: RunFolder, forks: Sequence[TrialPlanned], tally: Tally, json: bool) -> None:
    if tally.interrupted:
        typer.echo(AGAIN_LINE, err=True)
        raise typer.Exit(INTERRUPTED_STATUS)
    evidence = read_run(run.folder)
    write_records(run.folder / "records.parquet", [attempt.record for attempt in evidence.attempts])
    names = [planned.trial for planned in forks]
    found = forks_report(evidence, names)
    if json:
        outcome = {"run": str(run.folder), "trials": names, "forks": found, "given_up": tally.given_up}
        typer.echo(msgspec.json.encode(outcome).decode())
    else:
        _print(found)
        typer.echo(f"Run folder: {run.folder}")
    if tally.given_up:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.given_up.items())
        typer.echo(f"seatrial: {len(tally.given_up)} forks could not be completed: {listed}.", err=True)
        raise typer.Exit(1)


def _print(forks: Forks) -> None:
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        # Piped into a file or another program, a row stays one line.
        console.width = PIPED_WIDTH
    for group in forks.groups:
        console.print(f"\n{visible(group.group)}", style="bold", highlight=False, markup=False)
        _print_group(console, group)
    if forks.drawn:
        _print_effects(console, "Over the drawn states", [
            (each.candidate, each.measure, each.estimate) for each in forks.drawn
        ])  # fmt: skip
    console.print(f"\n{forks.rule}", highlight=False, markup=False)


def _print_group(console: Console, group: ForkGroup) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("candidate", "system", "memory", "valid", "strict", "safe", "progress", "actions"):
        table.add_column(column, overflow="fold")
    for line in group.lines:
        table.add_row(
            visible(line.candidate), visible(line.system), line.memory, f"{line.valid} of {line.planned}",
            wording.interval(line.strict), wording.interval(line.safe), _mean(line.progress),
            _mean(line.actions),
        )  # fmt: skip
    console.print(table)
    effects = [(each.candidate, each.measure, each.estimate) for each in group.effects]
    if effects:
        _print_effects(console, "Minus control, in pairs of one seed (this state only)", effects)
    for text in [group.rule, *([f"Not causal: {'; '.join(group.lost)}."] if group.lost else [])]:
        console.print(text, highlight=False, markup=False)
    for text in group.notes:
        console.print(text, highlight=False, markup=False)


def _print_effects(console: Console, title: str, effects: Sequence[tuple[str, str, Estimate]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in ("candidate", "measure", "difference", "notes"):
        table.add_column(column, overflow="fold")
    for candidate, measure, estimate in effects:
        # The title says it already.
        notes = [note for note in estimate.notes if note != THIS_STATE]
        said = wording.difference(estimate)
        table.add_row(visible(candidate), measure.replace("_", " "), said, visible(" ".join(notes)))
    console.print(table)


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "unknown" if values else ""
    return f"{sum(known) / len(known):.4g}"
