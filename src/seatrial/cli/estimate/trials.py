"""Which trials an estimate is made from: systems and arms apart, measures and axes by name."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seatrial.cli.estimate.options import ANYTHING, Asked
from seatrial.errors import SpecError, UsageError
from seatrial.importers.load import LoadedRecords, differences, load_records
from seatrial.importers.mapping import least, unit_of
from seatrial.importers.metr import HUMAN
from seatrial.journal.run import Manifest, RunFolder
from seatrial.records.people import left_alone, own_first, own_name, stands_apart, told_apart
from seatrial.records.trial import TrialRecord
from seatrial.report.people import people_limits
from seatrial.report.populations import persons_of
from seatrial.report.tables import QUANTITIES, RATES, WHOLE, Cell, limits_of
from seatrial.spec.faults import choose, ended, shown

SUCCESS = "success"
SCORE = "score"
MONEY = "money"
SHARES = (0.0, 1.0)
# Columns that hold shares and are no rows of the main table.
_SHARES = ("max_progress", "regression_depth")
BY_TIER = "`estimate rate --by human_tier` divides it"
PART = (
    "it holds the trials of a system in which people had a part, and they came to it by how they went. Name "
    "the system itself, or take all trials of runs that offer different tiers of help."
)
UNKNOWN_ALONE = (
    "To decide on the system, trials in which people had a part are unknown outcomes of it: left out, they "
    "would make any system pass whose failures a person takes over."
)
# Columns that say where a row comes from, not what a trial showed.
_NO_STRATUM = ("experiment", "trial", "system", "arm")
_NO_MEASURE = ("seed", "attempt", "repeat", "weight")
# Records by system and arm.
Groups = dict[tuple[str, str], list[TrialRecord]]


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity of a trial.

    Attributes:
        name: as asked for.
        yes_no: whether it is an outcome.
        read: its value of one record; null is unknown.
        counts: what a value counts, for example "seconds"; "share" for outcomes.
        limits: least and greatest value there can be, infinite where there is none.
    """

    name: str
    yes_no: bool
    read: Callable[[TrialRecord], Any]
    counts: str
    limits: tuple[float, float] = SHARES


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of an estimate.

    Attributes:
        source: as the user named it.
        loaded: everything the source holds.
        cells: one for each system and arm, in the order they came; trials in which a person acted are a
            system of their own, see ``records.people``.
        limits: what holds for all numbers made of them, in words.
        mixed: versions or protocols that differ, in words.
        score_limits: least and greatest score, as declared.
    """

    source: str
    loaded: LoadedRecords
    cells: list[Cell]
    limits: list[str]
    mixed: list[str]
    score_limits: tuple[float, float] = ANYTHING

    @property
    def records(self) -> list[TrialRecord]:
        """The chosen records of all cells."""
        return [record for cell in self.cells for record in cell.records]


def choose_trials(source: Path, asked: Asked) -> Chosen:
    """Read records and sort them by whose results they are, by system and arm.

    Raises:
        SpecError, JournalError, UsageError: as ``load_records``.
        UsageError: a system or arm is not there, or one system's own rows are of several versions.
    """
    return choose_of(source, read_trials(source), asked)


def read_trials(source: Path) -> LoadedRecords:
    """All a source holds, with the trials in which a person acted under names of their own.

    Raises:
        SpecError, JournalError, UsageError: as ``load_records``.
    """
    return _with_people_apart(source, load_records(source))


def choose_of(source: Path, loaded: LoadedRecords, asked: Asked) -> Chosen:
    """As ``choose_trials``, of what was read already."""
    limits = list(loaded.limits)
    everything = cells_of(loaded)
    if loaded.unfinished:
        limits.append(
            f"{len(loaded.unfinished)} planned trials have not ended; those that have may be the easier ones."
        )
    records, left_out = _of_systems(loaded.records, asked.system)
    limits += left_out
    records = _of_arms(records, asked.arm)
    groups: Groups = {}
    for record in records:
        groups.setdefault((record.system, record.arm), []).append(record)
    groups = {group: groups[group] for group in own_first(groups)}
    if asked.common_tasks:
        groups, said = _on_common_tasks(groups)
        limits += said
    limits += [f"Money is in {name}." for name in sorted({r.currency for r in records if r.currency})]
    cells = [_knowing(cell_of(*key, found, loaded.every), everything) for key, found in groups.items()]
    named = {(own_name(cell.system), cell.arm) for cell in cells}
    limits += people_limits([c for c in everything if (own_name(c.system), c.arm) in named], BY_TIER)
    _refuse_pooling(source, cells, asked.allow_mixed)
    return Chosen(
        source=str(source), loaded=loaded, cells=cells, limits=limits, mixed=loaded.mixed,
        score_limits=_score_limits(source, records, asked),
    )  # fmt: skip


def _with_people_apart(source: Path, loaded: LoadedRecords) -> LoadedRecords:
    """The records with those of trials in which a person acted under names of their own."""
    manifest = own_manifest(source)
    persons = persons_of(manifest.systems) if manifest is not None else ()
    records, every = told_apart(loaded.records, loaded.every, persons)
    return msgspec.structs.replace(loaded, records=records, every=every)


def own_manifest(source: Path) -> Manifest | None:
    """The manifest of a run of our own; null for imports and tables."""
    if not source.is_dir():
        return None
    manifest = RunFolder.open(source).manifest()
    return manifest if manifest.imported is None else None


def cells_of(loaded: LoadedRecords) -> list[Cell]:
    """A cell for each system and arm there is, in the order they came."""
    found: Groups = {}
    every: Groups = {}
    apart: Groups = {}
    for records, sorted_to in ((loaded.records, found), (loaded.every, every)):
        for record in records:
            sorted_to.setdefault((record.system, record.arm), []).append(record)
    for (system, arm), records in found.items():
        if stands_apart(system):
            apart.setdefault((own_name(system), arm), []).extend(records)
    return [
        Cell(
            system=system, arm=arm, stratum=WHOLE, records=found[system, arm], every=every[system, arm],
            with_people=apart.get((system, arm), []),
        )
        for system, arm in own_first(found)
    ]  # fmt: skip


def _knowing(cell: Cell, everything: Sequence[Cell]) -> Cell:
    """The cell with what stands apart from it, however it was narrowed down."""
    whole = next(one for one in everything if (one.system, one.arm) == (cell.system, cell.arm))
    return msgspec.structs.replace(cell, with_people=whole.with_people)


def _score_limits(source: Path, records: Sequence[TrialRecord], asked: Asked) -> tuple[float, float]:
    """The declared limits of scores, which no score may pass."""
    low, high = asked.score_limits
    for record in records:
        if record.score is not None and not low <= record.score <= high:
            raise UsageError(
                f"{source}: {record.trial} has the score {record.score:g}, outside --score-bounds "
                f"{asked.score_bounds}. Declare the range that all scores are in."
            )
    return low, high


def cell_of(system: str, arm: str, records: list[TrialRecord], every: Sequence[TrialRecord]) -> Cell:
    """Records of one system and arm as a cell of the whole.

    Args:
        every: those of all attempts, of other trials too.
    """
    trials = {(record.experiment, record.trial) for record in records}
    attempts = [record for record in every if (record.experiment, record.trial) in trials]
    return Cell(system=system, arm=arm, stratum=WHOLE, records=records, every=attempts)


def _of_systems(
    records: Sequence[TrialRecord], wanted: Sequence[str] | None
) -> tuple[list[TrialRecord], list[str]]:
    there = dict.fromkeys(record.system for record in records)
    for name in wanted or ():
        if name not in there:
            raise UsageError(f"there is no system {shown(name)}. {ended(choose(name, there, 'a system'))}")
    if wanted:
        return [record for record in records if record.system in wanted], []
    agents = [record for record in records if record.system != HUMAN]
    if not agents or len(agents) == len(records):
        return list(records), []
    people = len(records) - len(agents)
    return agents, [f"{people} runs of people (system {HUMAN!r}) are left out: they are no agent's."]


def _of_arms(records: list[TrialRecord], wanted: Sequence[str] | None) -> list[TrialRecord]:
    there = dict.fromkeys(record.arm for record in records)
    for name in wanted or ():
        if name not in there:
            raise UsageError(f"there is no arm {shown(name)}. {ended(choose(name, there, 'an arm'))}")
    return [record for record in records if not wanted or record.arm in wanted]


def _on_common_tasks(groups: Groups) -> tuple[Groups, list[str]]:
    # What people had a part in is compared with nothing, so that it takes no task from the others.
    own = [found for (system, _), found in groups.items() if not stands_apart(system)]
    sets = [{record.task for record in found} for found in own or groups.values()]
    common, every = set.intersection(*sets), set.union(*sets)
    if not common:
        raise UsageError("no task has trials of every chosen system. Choose other systems with --system.")
    kept = {key: here for key, found in groups.items() if (here := [r for r in found if r.task in common])}
    lost = len(every) - len(common)
    return kept, [f"{lost} tasks that not every system has are left out."] if lost else []


def _refuse_pooling(source: Path, cells: Sequence[Cell], allowed: bool) -> None:
    """One system's own rows of two versions would be pooled into one number."""
    for cell in cells:
        if not allowed and (found := differences(cell.records)):
            why = " ".join(found).rstrip(".")
            raise SpecError(
                str(source), f"system {cell.system}", f"its rows must not be pooled: {why}",
                "Give them to separate estimates, or say --allow-mixed",
            )  # fmt: skip


def by_themselves(chosen: Chosen) -> Chosen:
    """What systems did without people, where there is such; its limits tell what stands apart."""
    own = [cell for cell in chosen.cells if not stands_apart(cell.system)]
    return msgspec.structs.replace(chosen, cells=own) if own else chosen


def as_planned(cell: Cell) -> Cell:
    """The cell with the trials that stand apart, each as one of which nobody knows how it would have ended.

    For whoever decides on a system: with those trials left out, a person who steps in wherever it fails would
    make any system pass.
    """
    unknown = [left_alone(record) for record in cell.with_people]
    return msgspec.structs.replace(
        cell, records=[*cell.records, *unknown], every=[*cell.every, *unknown], with_people=[]
    )


def comparable(chosen: Chosen, allowed: bool) -> Chosen:
    """For whatever sets one system beside another: the trials without people, if they may be compared.

    Raises:
        SpecError: versions or protocols differ, and that was not allowed.
    """
    chosen = by_themselves(chosen)
    if chosen.mixed and not allowed and len(chosen.cells) > 1:
        raise SpecError(
            chosen.source, "", f"systems are not comparable: {' '.join(chosen.mixed).rstrip('.')}",
            "Choose one system with --system, or say --allow-mixed to have it labelled",
        )  # fmt: skip
    return chosen


def outcome_measure(chosen: Chosen, name: str, at_least: float | None) -> tuple[Measure, list[str]]:
    """A yes-or-no measure by name, and what must be said of it.

    Raises:
        UsageError: unknown, numeric without ``at_least``, or yes-or-no with it.
    """
    measure, said = find_measure(chosen, name)
    if at_least is None:
        if not measure.yes_no:
            raise UsageError(
                f"{name} is a number, no outcome. Say with --at-least from where on it is a success."
            )
        return measure, said
    if measure.yes_no:
        raise UsageError(f"{name} is yes or no. Leave out --at-least, or choose a number such as score.")
    return threshold(measure, at_least), said


def threshold(measure: Measure, at_least: float) -> Measure:
    """Whether a numeric measure reaches a declared value (E14)."""
    return Measure(
        name=f"{measure.name} >= {at_least:g}",
        yes_no=True,
        read=lambda record: _reaches(measure.read(record), at_least),
        counts="share",
    )


def _reaches(value: float | None, at_least: float) -> bool | None:
    return None if value is None else value >= at_least


def find_measure(chosen: Chosen, name: str) -> tuple[Measure, list[str]]:
    """A measure by name, and what must be said of it.

    Raises:
        UsageError: there is no such measure; lists those the records have values of.
    """
    if name == SUCCESS:
        return _success(chosen)
    if name in RATES:
        return Measure(name=name, yes_no=True, read=RATES[name], counts="share"), []
    if name in QUANTITIES:
        read, counts = QUANTITIES[name]
        if name == MONEY:
            counts = _currency(chosen.records) or counts
        return Measure(name=name, yes_no=False, read=read, counts=counts, limits=limits_of_measure(name)), []
    kinds = _columns()
    if name not in kinds:
        known = measures_with_values(chosen.records)
        raise UsageError(
            f"there is no measure {shown(name)}. {ended(choose(name, known, 'one that has values'))}"
        )
    yes_no = kinds[name] is bool
    counts = "share" if yes_no else unit_of(name) or name
    limits = chosen.score_limits if name == SCORE else limits_of_measure(name)
    return Measure(
        name=name, yes_no=yes_no, read=lambda r: getattr(r, name), counts=counts, limits=limits
    ), []


def _currency(records: Sequence[TrialRecord]) -> str | None:
    """What money is in; null where nothing was priced, or in several currencies."""
    found = {record.currency for record in records if record.currency is not None}
    return found.pop() if len(found) == 1 else None


def was_priced(records: Sequence[TrialRecord]) -> bool:
    """Whether money says anything of these trials: 0 in no currency is what those without a model spent."""
    return any(record.money or record.currency is not None for record in records)


def words_on_money(chosen: Chosen, measure: Measure) -> list[str]:
    """That nothing was priced, where money is asked for all the same."""
    if measure.name != MONEY or was_priced(chosen.records):
        return []
    return ["Money is 0 in no currency: nothing was priced, so it tells no systems apart."]


def limits_of_measure(name: str) -> tuple[float, float]:
    """Least and greatest value a measure can have.

    Shares lie in [0, 1] and amounts at 0 or above. A score has the range of its source, which only
    ``--score-bounds`` says, so it is without limits here, and so is a name that is no measure.
    """
    if name in QUANTITIES:
        return limits_of(QUANTITIES[name][1])
    kinds = _columns()
    if name in (SUCCESS, *RATES) or name in _SHARES or kinds.get(name) is bool:
        return SHARES
    low = least(name) if name in kinds else None
    return (-math.inf if low is None else low, math.inf)


def _success(chosen: Chosen) -> tuple[Measure, list[str]]:
    """Safe success, or strict where no record says whether constraints were kept."""
    safe = any(record.safe_success is not None for record in chosen.records)
    name = "safe_success" if safe else "strict_success"
    said = [] if safe else ["No row says whether constraints were kept: success is strict_success."]
    return Measure(name=name, yes_no=True, read=RATES[name], counts="share"), said


def _columns() -> dict[str, type]:
    """Columns of the record that hold yes or no, or a number."""
    found: dict[str, type] = {}
    for field in msgspec.structs.fields(TrialRecord):
        kinds = getattr(field.type, "__args__", (field.type,))
        kind = next((k for k in (bool, int, float) if k in kinds), None)
        if kind is not None and field.name not in _NO_MEASURE:
            found[field.name] = kind
    return found


def measures_with_values(records: Sequence[TrialRecord]) -> list[str]:
    """Names of measures that some record has a value of."""
    readers: dict[str, Callable[[TrialRecord], Any]] = {name: _reader(name) for name in _columns()}
    readers |= RATES
    readers |= {name: read for name, (read, _) in QUANTITIES.items()}
    return sorted(name for name, read in readers.items() if any(read(r) is not None for r in records))


def _reader(name: str) -> Callable[[TrialRecord], Any]:
    return lambda record: getattr(record, name)


def number_measure(chosen: Chosen, name: str, what: str) -> Measure:
    """A numeric measure that some record has a value of, for an axis or a cost.

    Args:
        what: what it is wanted for, for messages: "axis".

    Raises:
        UsageError: unknown, yes-or-no, or unknown in every record.
    """
    measure, _ = find_measure(chosen, name)
    there = [n for n in measures_with_values(chosen.records) if not find_measure(chosen, n)[0].yes_no]
    if measure.yes_no:
        raise UsageError(f"{name} is yes or no, no {what}. {choose('', there, f'one as {what}')}.")
    if name not in there:
        raise UsageError(f"{name} is unknown in every row. {choose('', there, f'another {what}')}.")
    return measure


def by_task(records: Sequence[TrialRecord], read: Callable[[TrialRecord], Any]) -> dict[str, list[Any]]:
    """A value of each record, sorted to its task."""
    found: dict[str, list[Any]] = {}
    for record in records:
        found.setdefault(record.task, []).append(read(record))
    return found


def valid_by_task(cell: Cell, read: Callable[[TrialRecord], Any]) -> dict[str, list[Any]]:
    """A value of each valid record; tasks that have only others stay, empty."""
    found: dict[str, list[Any]] = {record.task: [] for record in cell.records}
    for record in cell.valid:
        found[record.task].append(read(record))
    return found


def task_values(cell: Cell, name: str, read: Callable[[TrialRecord], Any]) -> dict[str, Any]:
    """A property of tasks, which all trials of one task must agree on; tasks without it are left out.

    Raises:
        UsageError: two trials of one task disagree.
    """
    found: dict[str, Any] = {}
    for record in cell.records:
        value = read(record)
        if value is None:
            continue
        if found.setdefault(record.task, value) != value:
            raise UsageError(
                f"{record.task} has {name} {found[record.task]} and {value}; one task has one. "
                "Correct the rows."
            )
    return found


def parts_by(cell: Cell, column: str) -> list[tuple[str, Cell]]:
    """The cell once for each value of a column, by value; rows without one are a part of their own.

    Raises:
        UsageError: no such column, or it is unknown in every row.
    """
    names = [field.name for field in msgspec.structs.fields(TrialRecord) if field.name not in _NO_STRATUM]
    there = [name for name in names if any(getattr(record, name) is not None for record in cell.records)]
    if column not in there:
        raise UsageError(
            f"{cell.system} has no {shown(column)} to divide by. {ended(choose(column, there, 'a column'))}"
        )
    found: dict[Any, list[TrialRecord]] = {}
    for record in cell.records:
        value = getattr(record, column)
        found.setdefault(", ".join(value) if isinstance(value, list) else value, []).append(record)
    known = sorted(value for value in found if value is not None)
    return [
        (f"{column} {'unknown' if value is None else value}", restricted(cell, found[value]))
        for value in [*known, *([None] if None in found else [])]
    ]


def only_tasks(cell: Cell, name: str, tasks: Mapping[str, object]) -> tuple[Cell, list[str]]:
    """The cell on tasks that have a property, and what was left out, in words."""
    kept = [record for record in cell.records if record.task in tasks]
    lost = {record.task for record in cell.records} - set(tasks)
    trials = len(cell.records) - len(kept)
    said = [f"{len(lost)} tasks ({trials} trials) of {cell.system} lack {name} and are left out."]
    return restricted(cell, kept), said if lost else []


def restricted(cell: Cell, records: list[TrialRecord]) -> Cell:
    """The cell on some of its records, with all attempts at those trials."""
    found = cell_of(cell.system, cell.arm, records, cell.every)
    return msgspec.structs.replace(found, with_people=cell.with_people)
