"""Which trials stand against which: two systems of one run, or of several, on the same tasks and seeds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seatrial.cli.estimate.named import arm_words, by_name, full_name, listed
from seatrial.cli.estimate.options import Asked
from seatrial.cli.estimate.trials import (
    PART,
    UNKNOWN_ALONE,
    Chosen,
    as_planned,
    choose_trials,
    own_manifest,
    restricted,
)
from seatrial.errors import SpecError, UsageError
from seatrial.importers.load import LoadedRecords, differences
from seatrial.journal.run import Manifest
from seatrial.records.people import stands_apart
from seatrial.records.table import refuse_duplicates
from seatrial.records.trial import TrialRecord
from seatrial.report.comparisons import Plan, read_plan
from seatrial.report.tables import Cell
from seatrial.spec.faults import shown

SHOWN = 3
# What may differ between two runs of one protocol: names, who was run, how much, and what was to be compared.
# Tasks, arms and seeds are looked at by themselves.
_NO_PROTOCOL = ("schema", "name", "tasks", "system", "trials_per_task", "seed", "arms", "primary")


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """Two systems to be compared.

    Attributes:
        chosen: both, a first.
        plans: what the experiments behind them declared to compare before any result existed.
    """

    chosen: Chosen
    plans: list[Plan]

    @property
    def a(self) -> Cell:
        """The first system."""
        return self.chosen.cells[0]

    @property
    def b(self) -> Cell:
        """The second system."""
        return self.chosen.cells[1]


def choose_sides(
    sources: Sequence[Path], names: tuple[str | None, str | None], asked: Asked, to_decide: bool = False
) -> Sides:
    """Read runs and pick two systems.

    A system that is in several runs is named with its run: ``careful (run-1)``. Its name means its baseline
    arm where it has several, see ``named``.

    Args:
        sources: one for both, or several.
        names: of the two; null for whichever is there.
        asked: level, draws and so on.
        to_decide: trials in which people had a part count as unknown ones of their systems, see
            ``as_planned``; otherwise they are left out.

    Raises:
        SpecError: versions, protocols, environments, goals or seeds differ and that was not allowed, or the
            two ran on different tasks.
        UsageError: a system is not there, or there are not just two and none was named.
        JournalError: one trial is in two of the sources.
    """
    where = " and ".join(map(str, sources))
    every = [choose_trials(source, asked) for source in sources]
    refuse_duplicates(where, [record for one in every for record in one.loaded.records])
    a, b, arms = _pick(_named(sources, every), names, where)
    decided = [UNKNOWN_ALONE] if to_decide and (a.with_people or b.with_people) else []
    if to_decide:
        a, b = as_planned(a), as_planned(b)
    a, b, said = _on_same_tasks(where, a, b, asked.common_tasks)
    manifests = [found for source in sources if (found := own_manifest(source)) is not None]
    mixed = [line for one in every for line in _of_source(one.loaded)] + _unlike(
        a, b, manifests, len(sources)
    )
    if mixed and not asked.allow_mixed:
        raise SpecError(
            where, "", f"the two are not comparable: {' '.join(mixed).rstrip('.')}",
            "Compare systems that were run alike, or say --allow-mixed to have the comparison labelled",
        )  # fmt: skip
    limits = [line for one in every for line in one.limits]
    chosen = Chosen(
        source=where,
        loaded=_together(every),
        cells=[a, b],
        limits=list(dict.fromkeys([*arms, *limits, *decided, *said])),
        mixed=list(dict.fromkeys(mixed)),
        score_limits=asked.score_limits,
    )
    return Sides(chosen=chosen, plans=[read_plan(manifest.experiment) for manifest in manifests])


def _named(sources: Sequence[Path], every: Sequence[Chosen]) -> dict[str, Cell]:
    """Every system of every source by a name that only it has."""
    cells = [(source, cell) for source, one in zip(sources, every, strict=True) for cell in one.cells]
    whole = [cell for _, cell in cells]
    short = len({source.resolve().name for source in sources}) == len(sources)
    runs = [source.resolve().name if short else str(source) for source, _ in cells]
    return by_name(whole, runs)


def _pick(
    cells: dict[str, Cell], written: tuple[str | None, str | None], where: str
) -> tuple[Cell, Cell, list[str]]:
    names = [None if name is None else full_name(name, cells, where) for name in written]
    if names[0] is not None and names[0] == names[1]:
        raise UsageError(f"{where}: {shown(names[0])} cannot be compared with itself. Name two systems.")
    free = [name for name in cells if name not in names and not stands_apart(cells[name].system)]
    if names.count(None) != len(free) and None in names:
        what = "systems" if len({cell.arm for cell in cells.values()}) == 1 else "systems and arms"
        raise UsageError(f"{where}: holds {len(cells)} {what} ({listed(cells)}). Name two with --a and --b.")
    first, second = (name if name is not None else free.pop(0) for name in names)
    for name in (first, second):
        if stands_apart(cells[name].system):
            raise UsageError(f"{where}: {shown(name)} is compared with nobody: {PART}")
    a, b = (msgspec.structs.replace(cells[name], system=name) for name in (first, second))
    return a, b, [*arm_words(first, cells), *arm_words(second, cells)]


def _on_same_tasks(where: str, a: Cell, b: Cell, common: bool) -> tuple[Cell, Cell, list[str]]:
    sets = [{record.task for record in cell.records} for cell in (a, b)]
    shared, other = sets[0] & sets[1], sorted(sets[0] ^ sets[1])
    if not shared:
        raise SpecError(where, "", "no task has trials of both systems", "Compare systems on the same tasks")
    if not other:
        return a, b, []
    # Only people's part in them takes these tasks from one side, which makes the two no less alike.
    people = {record.task for cell in (a, b) for record in cell.with_people}.intersection(other)
    other = [task for task in other if task not in people]
    said = [f"{len(people)} tasks are left out: of one of the two, people had a part in all trials on them."]
    if other and not common:
        raise SpecError(
            where, "", f"{len(other)} tasks have trials of one system only, first {other[0]}",
            "Compare systems on the same tasks, or say --common-tasks to leave the others out",
        )  # fmt: skip
    kept = [
        restricted(cell, found)
        for cell in (a, b)
        for found in [[record for record in cell.records if record.task in shared]]
    ]
    lacking = [f"{len(other)} tasks that only one of the two has are left out."]
    return kept[0], kept[1], [*(said if people else []), *(lacking if other else [])]


def _of_source(loaded: LoadedRecords) -> list[str]:
    """What an import says of versions and protocols; what its rows show is looked at for the two alone."""
    shown_by_rows = differences(loaded.every)
    return [line for line in loaded.mixed if line not in shown_by_rows]


def _unlike(a: Cell, b: Cell, manifests: Sequence[Manifest], sources: int) -> list[str]:
    """How the two sides were not run alike, one sentence each."""
    found = differences([*a.records, *b.records])
    if len(manifests) == sources > 1:
        # Two runs are two experiments as soon as their systems differ; what matters is what else does.
        found = [line for line in found if not line.startswith("Rows of ")] + _protocols(manifests)
    if a.arm != b.arm:
        found.append(f"Different arms: {a.arm} and {b.arm}.")
    if tasks := _other_seeds(a.records, b.records):
        found.append(f"{len(tasks)} tasks were run with other seeds: {_few(tasks)}.")
    return found


def _protocols(manifests: Sequence[Manifest]) -> list[str]:
    first, *others = manifests
    found = []
    for other in others:
        keys = sorted({*first.experiment, *other.experiment} - set(_NO_PROTOCOL))
        found += [
            f"Protocols differ in {key}: {shown(one)} and {shown(another)}."
            for key in keys
            for one, another in [(first.experiment.get(key), other.experiment.get(key))]
            if one != another
        ]
        digests = {task.id: task.digest for task in first.tasks}
        changed = [t.id for t in other.tasks if t.id in digests and digests[t.id] != t.digest]
        if changed:
            found.append(
                f"{len(changed)} tasks differ in environment, goal, verifiers or budget: {_few(changed)}."
            )
    return found


def _other_seeds(a: Sequence[TrialRecord], b: Sequence[TrialRecord]) -> list[str]:
    """Tasks whose known seeds on one side are not among those of the other, either way."""
    seeds: list[dict[str, set[int]]] = [{}, {}]
    for found, records in zip(seeds, (a, b), strict=True):
        for record in records:
            if record.seed is not None:
                found.setdefault(record.task, set()).add(record.seed)
    left, right = seeds
    return [t for t in sorted(left) if t in right and not (left[t] <= right[t] or right[t] <= left[t])]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _together(every: Sequence[Chosen]) -> LoadedRecords:
    def joined(of: Callable[[LoadedRecords], list[Any]]) -> list[Any]:
        return list(dict.fromkeys(line for one in every for line in of(one.loaded)))

    return LoadedRecords(
        name=", ".join(one.loaded.name for one in every),
        records=[record for one in every for record in one.loaded.records],
        every=[record for one in every for record in one.loaded.every],
        experiments=joined(lambda one: one.experiments),
        unfinished=[trial for one in every for trial in one.loaded.unfinished],
        limits=joined(lambda one: one.limits),
        mixed=joined(lambda one: one.mixed),
    )
