"""Records for whoever estimates from them: of a run, of an imported run, or of a table."""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.errors import SpecError
from seatrial.evidence.read import read_run
from seatrial.importers.imported import rebuild
from seatrial.importers.mapped import read_table, record_of
from seatrial.importers.mapping import KINDS, Column, Mapping, least
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row
from seatrial.journal.run import RunFolder
from seatrial.records.arms import FORKED, read_arm
from seatrial.records.counted import counted_records
from seatrial.records.people import NO_HELP, TAKEOVER, own_name, stands_apart
from seatrial.records.table import read_records, refuse_duplicates
from seatrial.records.trial import TrialRecord
from seatrial.spec.faults import shown
from seatrial.spec.reading import read_bytes

_OURS = "a run folder, or a table of TrialRecords as .parquet or .csv"
_NEEDED = ("trial", "task", "system", "terminal_class")
_SHOWN = 3
# The least value each number may have; null where it may be any.
_NUMBERS = {name: least(name) for name, kind in KINDS.items() if kind in (int, float)}


class LoadedRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records with what is known of where they come from.

    Attributes:
        name: of the run or file.
        records: one a trial: the attempt that stands for it. Forks are in no estimate.
        every: those of all attempts, repeated ones included.
        experiments: ids, sorted.
        unfinished: planned trials without an ended attempt; an estimate over the rest is biased.
        limits: what the records cannot say, in words.
        mixed: versions or protocols that differ within them, in words; to be pooled by nobody unawares.
    """

    name: str
    records: list[TrialRecord]
    every: list[TrialRecord]
    experiments: list[str]
    unfinished: list[str] = []
    limits: list[str] = []
    mixed: list[str] = []

    @property
    def attempts(self) -> int:
        """How many there are in all."""
        return len(self.every)


def load_records(path: Path) -> LoadedRecords:
    """Read the records of a run folder or a table.

    Runs are measured anew and imports are read anew from their objects: a table beside them is not trusted.

    Args:
        path: a run folder, or a ``.parquet`` or ``.csv`` file with the columns of a TrialRecord.

    Raises:
        JournalError: damaged, not judged yet, or an attempt is there twice.
        SpecError: no such file, no such table, or no row.
    """
    if path.is_dir():
        return _of_run(path)
    if path.suffix == ".parquet":
        read_bytes(path)
        return _loaded(path.name, read_records(path), str(path), repeats=True)
    if path.suffix == ".csv":
        records, limits = _of_csv(path)
        refuse_duplicates(str(path), records)
        return _loaded(path.name, records, str(path), limits=limits, repeats=True)
    read_bytes(path)
    raise SpecError(str(path), "", "is no table that is known here", f"Give {_OURS}")


def _of_run(folder: Path) -> LoadedRecords:
    if RunFolder.open(folder).manifest().imported is not None:
        manifest, records = rebuild(folder)
        facts = manifest.imported
        assert facts is not None, "read just now"
        return _loaded(manifest.name, records, str(folder), limits=facts.limits, mixed=facts.mixed)
    evidence = read_run(folder)
    return _loaded(
        evidence.manifest.name,
        [attempt.record for attempt in evidence.attempts],
        str(folder),
        unfinished=[planned.trial for planned in evidence.unfinished if planned.fork is None],
    )


def _loaded(
    name: str,
    records: Sequence[TrialRecord],
    where: str,
    unfinished: Sequence[str] = (),
    limits: Sequence[str] = (),
    mixed: Sequence[str] = (),
    repeats: bool = False,
) -> LoadedRecords:
    """Records of a source, checked; ``repeats``: it may hold one cell of a plan under two names."""
    own = [record for record in records if read_arm(record.arm).kind != FORKED]
    if len(own) < len(records):
        forks = len(records) - len(own)
        limits = [*limits, f"{forks} forks are left out: those of one state are no independent trials."]
    if not own:
        raise SpecError(where, "", "holds no trial that has ended", "Give one that holds some")
    if repeats:
        _refuse_same_repeat(where, own)
    _refuse_impossible(where, own)
    records = [_with_people_known(where, record) for record in own]
    counted = counted_records(records)
    return LoadedRecords(
        name=name,
        records=counted,
        every=list(records),
        experiments=sorted({record.experiment for record in counted}),
        unfinished=list(unfinished),
        limits=list(limits),
        mixed=[*mixed, *differences(records)],
    )


def _refuse_same_repeat(where: str, records: Sequence[TrialRecord]) -> None:
    """One cell of a plan under two names would be counted twice."""
    seen: dict[tuple[object, ...], str] = {}
    for record in records:
        if record.repeat is None:
            continue
        cell = (record.experiment, record.batch, record.task, record.system, record.arm, record.repeat)
        first = seen.setdefault((*cell, record.attempt), record.trial)
        if first != record.trial:
            raise SpecError(
                where, f"trial {record.trial}",
                f"repeat {record.repeat} of {record.system} on {record.task} is {first}",
                "Remove one of the two, or give them other repeats or batches",
            )  # fmt: skip


def _refuse_impossible(where: str, records: Sequence[TrialRecord]) -> None:
    """Importers refuse such values where they read them; a table may come from anywhere."""
    for record in records:
        for name, low in _NUMBERS.items():
            value = getattr(record, name)
            if value is not None and not (math.isfinite(value) and (low is None or value >= low)):
                raise SpecError(
                    where, f"trial {record.trial}, column {name}", f"{value} cannot be",
                    "Correct it, or make it null where unknown",
                )  # fmt: skip


def _with_people_known(where: str, record: TrialRecord) -> TrialRecord:
    """The record with what its tier of help says of ``human_machine``, where the column itself does not.

    Raises:
        SpecError: its columns on people contradict each other, or its system has a name that is kept for what
            people had a part in.
    """
    place, tier, machine = f"trial {record.trial}, column", record.human_tier, record.human_machine
    if stands_apart(record.system):
        raise SpecError(
            where, f"{place} system", f"{shown(record.system)} is a name of trials in which people acted",
            f"Name the system itself, such as {shown(own_name(record.system) or 'a')}, and say in "
            "human_machine whether somebody acted",
        )  # fmt: skip
    said = {TAKEOVER: True, NO_HELP: False}.get(tier or "")
    if said is not None and machine is (not said):
        raise SpecError(
            where, f"{place} human_machine", f"is {shown(machine)} beside the human_tier {shown(tier)}",
            "Correct one of the two, or make it null where unknown",
        )  # fmt: skip
    if tier == NO_HELP and record.human_interventions:
        raise SpecError(
            where, f"{place} human_interventions",
            f"is {record.human_interventions} beside the human_tier {shown(tier)}",
            "Correct one of the two, or make it null where unknown",
        )  # fmt: skip
    known = said if machine is None else machine
    return record if known is machine else msgspec.structs.replace(record, human_machine=known)


def differences(records: Sequence[TrialRecord]) -> list[str]:
    """Versions and protocols that differ within records, one sentence each.

    Imported rows of one import share an experiment whatever their protocols; the import itself says those.
    """
    found = []
    experiments = sorted({record.experiment for record in records})
    if len(experiments) > 1:
        found.append(f"Rows of {len(experiments)} experiments: {_few([name[:12] for name in experiments])}.")
    versions: dict[str, set[str]] = defaultdict(set)
    for record in records:
        versions[record.task].add(record.task_version or "not said")
    several = [f"{task} ({', '.join(sorted(v))})" for task, v in sorted(versions.items()) if len(v) > 1]
    if several:
        found.append(f"{len(several)} tasks in several versions: {_few(several)}.")
    judged = {record.frozen_verifiers for record in records} - {None}
    if len(judged) > 1:
        found.append("Some rows were judged by the frozen verifiers, others by other ones.")
    currencies = sorted({record.currency for record in records if record.currency is not None})
    if len(currencies) > 1:
        found.append(f"Money in several currencies: {', '.join(currencies)}.")
    boxed = {record.sandboxed for record in records} - {None}
    if len(boxed) > 1:
        found.append("Some trials ran in a sandbox, others without one.")
    return found


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")


def _of_csv(path: Path) -> tuple[list[TrialRecord], list[str]]:
    """Rows of a CSV whose columns are named as a TrialRecord's; lists and foreign columns are not read."""
    rows = list(read_table(Piece(str(path), path.name, read_bytes(path), 0), _OURS))
    names = list(rows[0].values)
    Row(str(path), "line 1", dict.fromkeys(names)).require(
        _NEEDED, f"{_OURS}; bring in other tables with `seatrial import csv --mapping`"
    )
    mapping = Mapping(
        columns={name: Column(column=name) for name in names if name in KINDS},
        constants={},
        missing=frozenset([""]),
        ignore=frozenset(),
        limits=[],
    )
    left = [name for name in names if name not in KINDS and name != "experiment"]
    limits = [f"Columns that were not read: {', '.join(left)}."] if left else []
    records = [record_of(mapping, row, row.maybe_text("experiment") or path.name) for row in rows]
    return records, limits
