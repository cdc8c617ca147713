"""Plays the reference recovery of each perturbation, and sees what it takes beyond the reference."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seatrial.calibrate.oracle_record import PLACEBO, UNITS, DisturbedEnd, Oracle, weighed
from seatrial.calibrate.play import Round, play
from seatrial.calibrate.products import REFERENCE, Product, products_of, read_script
from seatrial.calibrate.record import Outcome
from seatrial.errors import SpecError
from seatrial.evidence.read import read_run
from seatrial.records.arms import PERTURBED, Arm
from seatrial.schedule.watching import Watcher
from seatrial.spec.changes import Pollute, change_of
from seatrial.spec.faults import choose, shown
from seatrial.spec.loading import LoadedTask
from seatrial.spec.scripts import load_script
from seatrial.spec.task import Perturbation
from seatrial.spec.triggers import trigger_of

FINAL_VERDICTS = 1
RECOVERY = "solutions/recover-"


def check_recoveries(task: LoadedTask) -> None:
    """Refuse what no trial is needed for to see.

    Raises:
        SpecError: a recovery from no perturbation of the task or from a placebo, one that is no script, or
            an oracle that nothing could measure.
    """
    known = {each.id: each for each in task.spec.perturbation}
    for relative in _files(task):
        name = _named(relative)
        if name not in known:
            raise SpecError(
                str(task.folder / relative), "", f"the task has no perturbation {shown(name)}",
                choose(name, known, "a perturbation"),
            )  # fmt: skip
        if known[name].kind == PLACEBO:
            raise SpecError(
                str(task.folder / relative), "", f"{name!r} is a placebo: there is nothing to recover from",
                "Remove the file; the reference is played with it",
            )  # fmt: skip
        load_script(task.folder / relative, task.spec.environment.services)
    for index, each in enumerate(task.spec.perturbation):
        _check_oracle(task, f"perturbation[{index}].oracle", each)


def _check_oracle(task: LoadedTask, place: str, spec: Perturbation) -> None:
    measured = spec.kind == PLACEBO or (f"{RECOVERY}{spec.id}.toml" in task.files and unplayed(spec) is None)
    if spec.oracle and not measured:
        why = unplayed(spec) or f"there is no {RECOVERY}{spec.id}.toml"
        raise SpecError(
            task.file, place, f"{shown(spec.oracle)} of {spec.id!r} is shown by nothing: {why}",
            "Write that script, which meets the disturbance and gets over it, or remove the oracle",
        )  # fmt: skip


def unplayed(spec: Perturbation) -> str | None:
    """Why no script that runs through can be disturbed so; null when one can."""
    kind = trigger_of(spec.when).kind
    if kind in ("checkpoint", "compaction"):
        return f"it waits for a {kind}, and a script has none"
    change = change_of(spec)
    if isinstance(change, Pollute) and change.channel == "summary":
        return "it is told only to an agent that was interrupted or compacted"
    return None


def _files(task: LoadedTask) -> Iterator[str]:
    return (path for path in sorted(task.files) if path.startswith(RECOVERY) and path.endswith(".toml"))


def _named(relative: str) -> str:
    return relative.removeprefix(RECOVERY).removesuffix(".toml")


def measure_oracles(
    task: LoadedTask, folder: Path, effort: tuple[int, int], base: list[Outcome],
    watcher: Callable[[int], Watcher],
) -> list[Oracle]:  # fmt: skip
    """Play each perturbation's recovery with it armed, or the reference where it has none.

    Args:
        folder: where the run goes; it must not exist.
        effort: trials of each, and trials at once.
        base: how the undisturbed reference ended, trial by trial.
        watcher: given the number of trials, who is told of them.

    Raises:
        EnvironmentFault: a trial could not be completed.
    """
    costs = [{unit: getattr(outcome, column) for unit, column in UNITS.items()} for outcome in base]
    blank = [_blank(task, each, costs) for each in task.spec.perturbation]
    played = {each.perturbation: each for each in blank if each.unplayed is None}
    if not played:
        return blank
    reference = next(product for product in products_of(task) if product.name == REFERENCE)
    asked = Round(
        scripts={name: _text(task, each, reference) for name, each in played.items()}, repeats=effort[0],
        final_verdicts=FINAL_VERDICTS, workers=effort[1],
        arms={name: str(Arm(PERTURBED, name)) for name in played},
        memory=any(_remembers(spec) for spec in task.spec.perturbation),
    )  # fmt: skip
    ends = _ends(play(task, folder, asked, watcher).folder)
    return [_with_ends(each, ends) for each in blank]


def _remembers(spec: Perturbation) -> bool:
    change = change_of(spec)
    return isinstance(change, Pollute) and change.channel == "memory"


def _blank(task: LoadedTask, spec: Perturbation, base: list[dict[str, Any]]) -> Oracle:
    has_own = f"{RECOVERY}{spec.id}.toml" in task.files
    return Oracle(
        perturbation=spec.id, kind=spec.kind, script=f"recover-{spec.id}" if has_own else REFERENCE,
        declared=dict(spec.oracle), unplayed=unplayed(spec), base=base,
        overcome=bool(spec.affects or spec.recovered_when or spec.kind == "goal"),
    )  # fmt: skip


def _text(task: LoadedTask, oracle: Oracle, reference: Product) -> str:
    if oracle.script == REFERENCE:
        return reference.text
    return read_script(task.folder / f"{RECOVERY}{oracle.perturbation}.toml")


def _ends(run: Path) -> Mapping[str, list[DisturbedEnd]]:
    """Ends of the trials by system, which is called as the perturbation is."""
    found: dict[str, list[DisturbedEnd]] = {}
    for attempt in read_run(run).counted:
        record = attempt.record
        final = attempt.verdicts.final.items()
        found.setdefault(record.system, []).append(
            DisturbedEnd(
                terminal_class=record.terminal_class, delivered=record.delivered, recovered=record.recovered,
                costs={unit: getattr(record, column) for unit, column in UNITS.items()},
                failing=sorted(name for name, runs in final if set(runs) == {"fail"}),
            )
        )  # fmt: skip
    return found


def _with_ends(oracle: Oracle, ends: Mapping[str, list[DisturbedEnd]]) -> Oracle:
    return weighed(msgspec.structs.replace(oracle, ends=ends.get(oracle.perturbation, [])))


def stale_oracles(task: LoadedTask, found: list[Oracle]) -> str | None:
    """How the entries of a calibration differ from what the task declares; null when they do not."""
    wanted = {spec.id: _blank(task, spec, []) for spec in task.spec.perturbation}
    tried = {each.perturbation: each for each in found}
    for name in [*wanted, *(name for name in tried if name not in wanted)]:
        want, have = wanted.get(name), tried.get(name)
        if want is None or have is None:
            return f"says {'nothing of' if have is None else 'something of'} the perturbation {name!r}"
        for field in ("kind", "script", "declared", "overcome", "unplayed"):
            if getattr(want, field) != getattr(have, field):
                said, by_task = getattr(have, field), getattr(want, field)
                return f"says of {name!r}: {field} {said!r}; by the task it is {by_task!r}"
    return None
