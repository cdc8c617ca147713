"""``seatrial calibrate``: show that a task's verifiers accept what is right and reject the rest."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from seatrial.calibrate.calibration import Effort
from seatrial.calibrate.calibration import calibrate as calibrate_task
from seatrial.calibrate.oracle_record import Oracle
from seatrial.calibrate.oracles import check_recoveries
from seatrial.calibrate.products import products_of
from seatrial.calibrate.record import (
    FEWEST_ROUNDS,
    Calibration,
    ProductResult,
    Rejected,
    Undecided,
    require_recordable,
    write_calibration,
)
from seatrial.cli.interrupting import ended_in_order
from seatrial.cli.run.progress import Shown
from seatrial.cli.visible import visible_line
from seatrial.environment.state.overlay import remove_tree
from seatrial.errors import SpecError, UsageError
from seatrial.spec.loading import CALIBRATION_FILE, LoadedTask, load_task


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
    rounds: Annotated[int, typer.Option(min=FEWEST_ROUNDS, help="Trials of each product.")] = FEWEST_ROUNDS,
    workers: Annotated[int, typer.Option(min=1, help="Trials at once.")] = 1,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the runs in this new folder, to look at with `seatrial show`."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the calibrations as JSON.")] = False,
) -> None:
    """Play each of a task's solutions, and doing nothing, and compare the verdicts with what must come out.

    Solutions whose name begins with `reference` or `equivalent` must be accepted: a strict success without
    a hard violation. All others must be rejected. Each perturbation must come about; where there is a
    solutions/recover-PERTURBATION.toml, it is played disturbed, must get over it, and what it takes beyond
    the undisturbed reference must be the oracle that the task declares; a placebo must cost nothing. What
    was found is kept in the task's folder as calibration.json; `seatrial suite freeze` asks for it. Exit
    code 1 when a task does not pass; 2 when an oracle is wrong, or when a trial could not be completed, and
    then nothing is recorded. Ctrl-C ends what runs; nothing is then kept of the task under way, and the exit
    code is 130.
    """
    loaded = [load_task(folder) for folder in tasks]
    _check(loaded, keep)
    found: list[Calibration] = []
    with ended_in_order(lambda: _broken_off(loaded, found)):
        try:
            for task in loaded:
                folder = keep if keep is None or len(loaded) == 1 else keep / _kept_name(task)
                found.append(_calibrate(task, Effort(rounds, mutate, workers, folder), quiet=json))
                if not json:
                    _print(task.folder, found[-1])
        except KeyboardInterrupt:
            if keep is not None:
                remove_tree(str(keep))
            raise
    if json:
        typer.echo(msgspec.json.encode({"calibrations": found}).decode())
    _refuse_oracles(loaded, found)
    if not all(calibration.passed for calibration in found):
        raise typer.Exit(1)


def _check(loaded: Sequence[LoadedTask], keep: Path | None) -> None:
    """Refuse what would fail only once trials were played."""
    for task in loaded:
        products_of(task)
        check_recoveries(task)
        require_recordable(task.folder)
    if keep is None:
        return
    if keep.exists():
        raise UsageError(f"{keep}: exists. Give a new folder with --keep, or remove that one.")
    for name, count in Counter(_kept_name(task) for task in loaded).items():
        if count > 1:
            raise UsageError(f"--keep {keep}: {count} of the tasks would be kept as {name}. Give each once.")


def _kept_name(task: LoadedTask) -> str:
    return task.spec.id.replace("/", "-")


def _calibrate(task: LoadedTask, effort: Effort, quiet: bool) -> Calibration:
    with Progress(console=Console(stderr=True, quiet=quiet), transient=True) as bar:
        calibration = calibrate_task(task, effort, lambda what, trials: Shown(trials, bar))
    write_calibration(task.folder, calibration)
    return calibration


def _broken_off(loaded: Sequence[LoadedTask], found: Sequence[Calibration]) -> str:
    """What is left to do when the user breaks off."""
    left = ", ".join(str(task.folder) for task in loaded[len(found) :])
    return f"Nothing was recorded of {left or 'what was left'}. Give the same command again."


def _print(folder: Path, found: Calibration) -> None:
    typer.echo(f"{folder}: task {found.task} {found.version}, {found.rounds} trials of each product")
    for product in found.products:
        typer.echo(f"  {'right' if product.right else 'WRONG'}  {product.name}: {_line(product)}")
    for oracle in found.oracles or ():
        typer.echo(f"  {_oracle(oracle)}")
    for subgoal in found.flaky:
        typer.echo(f"  FLAKY  {subgoal}: its verifier disagreed with itself on one state")
    if found.mutation is not None:
        killed = found.mutation.tried - len(found.mutation.survivors)
        typer.echo(f"  mutants of the reference: {killed} of {found.mutation.tried} rejected")
        for survivor in found.mutation.survivors:
            why = "".join(f", {_undecided(each)}" for each in survivor.undecided)
            typer.echo(f"  SURVIVED ({survivor.terminal_class}{why})  {survivor.change}")
        for mutant in found.mutation.rejected or ():
            typer.echo(f"    {visible_line(mutant.change)}: rejected by {_rejecting(mutant)}")
        if found.mutation.never_alone:
            typer.echo(
                "  warning: verifiers that rejected no mutant and no solution by themselves: "
                f"{', '.join(found.mutation.never_alone)}. Were one of them to accept everything, nothing "
                "here would have shown it: add a wrong solution that only it can reject."
            )
    typer.echo(f"{folder}: {'calibrated' if found.passed else 'NOT calibrated'} ({CALIBRATION_FILE})")


def _line(product: ProductResult) -> str:
    ends = []
    for outcome in product.outcomes:
        why = f" at {', '.join(outcome.failing)}" if outcome.failing else ""
        why += "".join(f", {_undecided(each)}" for each in outcome.undecided)
        broken = f", {outcome.hard_violations} hard violations" if outcome.hard_violations else ""
        ends.append(f"{outcome.terminal_class}{why}{broken}")
    same = ends[0] if len(set(ends)) == 1 else "; ".join(ends)
    return f"must be {product.expected}; {same}"


def _oracle(oracle: Oracle) -> str:
    """What came of a perturbation, on one line."""
    if oracle.problem is not None:
        return f"WRONG  perturbation {oracle.perturbation}: {oracle.problem}"
    if oracle.unplayed is not None:
        return f"not played  perturbation {oracle.perturbation}: {oracle.unplayed}"
    if oracle.cost is None:
        return (
            f"right  perturbation {oracle.perturbation}: comes about; what getting over it costs is unknown "
            f"without solutions/recover-{oracle.perturbation}.toml"
        )
    cost = ", ".join(f"{'unknown' if taken is None else taken} {unit}" for unit, taken in oracle.cost.items())
    actions = oracle.cost["actions"]
    said = ""
    if not oracle.declared and actions is not None and actions > 0:
        said = f"; the task does not say so: add oracle = {{ actions = {actions} }}"
    return f"right  perturbation {oracle.perturbation}: costs {cost} beyond the reference{said}"


def _refuse_oracles(loaded: Sequence[LoadedTask], found: Sequence[Calibration]) -> None:
    """A wrong oracle is bad input: every measure that divides by it would be wrong."""
    for task, calibration in zip(loaded, found, strict=True):
        for oracle in calibration.oracles or ():
            if oracle.problem is not None:
                index = [each.id for each in task.spec.perturbation].index(oracle.perturbation)
                raise SpecError(
                    task.file, f"perturbation[{index}]", f"{oracle.perturbation!r} {oracle.problem}",
                    "Mend the perturbation, its oracle or its script; --keep keeps the run to look at",
                )  # fmt: skip


def _rejecting(mutant: Rejected) -> str:
    broken = [f"{mutant.hard_violations} hard violations"] if mutant.hard_violations else []
    return ", ".join([*mutant.by, *broken]) or "its end"


def _undecided(found: Undecided) -> str:
    """Such as ``error at names-once (timed out after 10 seconds)``."""
    cause = " because of the product" if found.product_triggered else ""
    reason = "" if found.reason is None else f" ({visible_line(found.reason)})"
    return f"{found.verdict} at {found.subgoal}{cause}{reason}"
