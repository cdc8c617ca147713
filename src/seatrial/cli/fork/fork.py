"""``seatrial fork``: new trials that begin in a recorded state, with something changed there or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console

from seatrial.cli.fork.places import Chance, places_of
from seatrial.cli.fork.told import print_forks, say_plan
from seatrial.cli.interrupting import INTERRUPTED_STATUS
from seatrial.cli.options import flat
from seatrial.cli.run.progress import Shown, last_line, progress
from seatrial.cli.run.run import AGAIN_LINE
from seatrial.errors import SpecError, UsageError
from seatrial.evidence.read import read_run, refuse_imported
from seatrial.journal.run import Manifest, RunFolder, TrialPlanned
from seatrial.records.table import write_records
from seatrial.report.forks import forks_report
from seatrial.schedule.amendments import add_trials
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.forks import ForkPlace, is_at, plan_forks, prove_places
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.locking import lock_run
from seatrial.schedule.queue import Selection
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
    perturbation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A perturbation of the task that waits for its trigger from here on, beside what waits "
            "already. Repeatable.",
        ),
    ] = None
    without_perturbation: Annotated[
        bool,
        typer.Option("--without-perturbation", help="Leave out the perturbation that waits there."),
    ] = False
    control: Annotated[
        bool,
        typer.Option(
            help="Beside these as many forks with the action, the system or the perturbation there was: the "
            "effect is the difference."
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
    seatrial fork RUN TRIAL@7 -n 10 --perturbation late   with this disturbance, against without
    seatrial fork RUN --sample 5 -n 4 --action look.toml  at five steps drawn at random from all trials

    Each fork has the files and service rows of that moment, bit for bit, the goal in force, the budget left,
    what was remembered and allowed, the perturbation that still waits, and a seed of its own; its state is
    proven before anybody acts. Candidate and control
    of one number share a seed. The memory of a script is had by showing it its past again; other agents get
    their last checkpoint, or with --same-seed and no model their past again, or the instruction alone. With
    --system both sides begin with the instruction alone. Forks that share a seed and ask no model are copies
    of one trial: they count once, so -n 1 does. Steps and costs count from the fork on; forks are pooled with
    no other trials.

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
            places = places_of(folder, manifest, place, chance, orders)
            forks = _plan(folder, manifest, places, orders, what)
            say_plan(forks, places, json)
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
    _refuse_twice("--system", systems)
    _refuse_twice("--perturbation", what.perturbation or [])
    _refuse_twice("--action", [path.stem for path in what.action or []])
    for name in systems:
        if name not in manifest.systems:
            raise UsageError(f"--system {name!r}: not in this run. {choose(name, manifest.systems, 'one')}")
        if manifest.systems[name]["agent"] == PERSON:
            raise UsageError(f"--system {name!r}: is a person, who cannot go on here. Name an agent.")
    known = {p["id"] for task in manifest.tasks for p in task.spec.get("perturbation", ())}
    for name in what.perturbation or ():
        if name not in known:
            raise UsageError(
                f"--perturbation {name!r}: no task of this run has it. {choose(name, known, 'one')}"
            )
    memory: Literal["kept", "none"] = "none" if what.memory == "none" else "kept"
    seed = int(manifest.experiment.get("seed") or 0) if chance.seed is None else chance.seed
    return ForkOrders(
        count=n, seed=seed, systems=systems, perturbations=what.perturbation or (),
        undisturbed=what.without_perturbation, control=what.control, same_seed=chance.same_seed,
        memory=memory, non_causal=non_causal,
    )  # fmt: skip


def _refuse_twice(option: str, names: Sequence[str]) -> None:
    """Refuse what is named twice: its forks would bear the same names, and be taken for one candidate."""
    for number, name in enumerate(names):
        if name in names[:number]:
            remedy = "Rename one of the files." if option == "--action" else "Name it once."
            raise UsageError(f"{option} {name!r}: is there twice. {remedy}")


def _refuse_other_action(manifest: Manifest, forks: Sequence[TrialPlanned]) -> None:
    """Refuse an action by the name that another one has in the same comparison: both would be pooled."""
    there = {
        (planned.fork.group, planned.fork.candidate): planned.fork.forced
        for planned in manifest.plan
        if planned.fork is not None
    }
    for planned in forks:
        fork = planned.fork
        if fork is None or there.get((fork.group, fork.candidate), fork.forced) == fork.forced:
            continue
        name = fork.candidate.partition("=")[2]
        raise UsageError(
            f"--action {name!r}: at {fork.trial}@{fork.step} another action was compared under that name. "
            "Rename the file."
        )


def _plan(
    run: RunFolder, manifest: Manifest, places: Sequence[ForkPlace], orders: ForkOrders, what: What
) -> list[TrialPlanned]:
    """Plan every fork and write those down that are not in the plan yet, once their states are proven."""
    forks: list[TrialPlanned] = []
    for at in places:
        is_person = manifest.systems[at.planned.system]["agent"] == PERSON
        goes_on = what.control or what.action or what.perturbation or what.without_perturbation
        if is_person and (goes_on or not orders.systems):
            raise UsageError(
                f"{at.planned.trial!r}: a person acted, who cannot go on here. Let --system NAME go on, with "
                "--no-control."
            )
        if at.planned.system in orders.systems:
            raise UsageError(f"--system {at.planned.system!r}: is the one that acted; it is the control.")
        services = frozen_task(manifest.task(at.planned.task), run.folder).environment.services
        actions = [_action(path, services) for path in what.action or []]
        forks += plan_forks(run, at, replace(orders, actions=actions))
    _refuse_other_action(manifest, forks)
    known = {planned.trial for planned in manifest.plan}
    new = [planned for planned in forks if planned.trial not in known]
    if new:
        prove_places(run, [at for at in places if any(is_at(fork, at) for fork in new)])
        add_trials(run, manifest, new, {"fork": {"seed": orders.seed, "non_causal": orders.non_causal}})
    return forks


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
        print_forks(found)
        typer.echo(f"Run folder: {run.folder}")
    if tally.given_up:
        listed = "; ".join(f"{trial}: {last_line(reason)}" for trial, reason in tally.given_up.items())
        typer.echo(f"seatrial: {len(tally.given_up)} forks could not be completed: {listed}.", err=True)
        raise typer.Exit(1)
