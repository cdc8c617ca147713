"""Reads a run back: every ended attempt measured anew from its journal and verdicts.

Records are recomputed rather than read from ``records.parquet``: only manifest, journals and objects are
truth, and a report that trusted a derived file could disagree with them.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.errors import JournalError, UsageError
from seatrial.evidence.deltas import DeltaReader
from seatrial.journal.events import INFRASTRUCTURE, ActionFinished, ConstraintViolated, TrialStarted
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import IndexLine, Manifest, RunFolder, TrialPlanned
from seatrial.measure.goals import GoalChange
from seatrial.measure.trial import Measured, measure_trial, unstarted
from seatrial.measure.waste import WastedSteps
from seatrial.records.counted import counted_index
from seatrial.records.trial import TrialRecord
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.frozen import frozen_task
from seatrial.spec.task import Task
from seatrial.verify.frozen import VerifierFiles


class AttemptEvidence(msgspec.Struct, kw_only=True):
    """One ended attempt, without its events.

    Attributes:
        counted: whether this attempt stands for its trial in every denominator.
        progress: pairs (step, value) at which verified progress changes.
        waste: which actions were idle or wasted.
        goal_changes: how each change of goal was taken up.
        reset_proved: the first line says that the reset was compared with the base.
        blind_actions: actions whose reads the host could not see.
        torn: bytes of an unfinished last line, dropped.
        unknown_lines: journal lines of a kind this release does not know.
    """

    planned: TrialPlanned
    record: TrialRecord
    verdicts: TrialVerdicts
    progress: list[tuple[int, float]]
    waste: WastedSteps
    violations: list[ConstraintViolated]
    goal_changes: list[GoalChange] = []
    note: str = ""
    counted: bool = True
    reset_proved: bool = False
    blind_actions: int = 0
    torn: int = 0
    unknown_lines: int = 0


class RunEvidence(msgspec.Struct, kw_only=True):
    """One run as read.

    Attributes:
        attempts: every ended attempt, in the plan's order.
        unfinished: planned trials without an ended attempt.
    """

    folder: Path
    manifest: Manifest
    tasks: dict[str, Task]
    attempts: list[AttemptEvidence]
    unfinished: list[TrialPlanned]

    @property
    def counted(self) -> list[AttemptEvidence]:
        """The attempt that stands for each trial."""
        return [attempt for attempt in self.attempts if attempt.counted]

    def without_forks(self) -> "RunEvidence":
        """The trials of the experiment alone: forks of one state are no independent trials of it."""
        plan = [planned for planned in self.manifest.plan if planned.fork is None]
        return msgspec.structs.replace(
            self,
            manifest=msgspec.structs.replace(self.manifest, plan=plan),
            attempts=[attempt for attempt in self.attempts if attempt.planned.fork is None],
            unfinished=[planned for planned in self.unfinished if planned.fork is None],
        )


def read_run(folder: Path, only: str | None = None) -> RunEvidence:
    """Read and measure a run.

    Args:
        folder: the run folder.
        only: read just this trial's attempts; null reads all.

    Raises:
        JournalError: damaged, or an attempt has no verdict table yet.
        UsageError: it was imported, and has no journals.
    """
    run = RunFolder.open(folder)
    manifest = run.manifest()
    refuse_imported(folder, manifest)
    tasks = {frozen.id: frozen_task(frozen, folder) for frozen in manifest.tasks}
    for planned in manifest.plan:
        manifest.task(planned.task)
    ended = ended_by_trial(run.folder, run.index(), manifest)
    deltas = DeltaReader(run.objects)
    attempts: list[AttemptEvidence] = []
    for planned in manifest.plan:
        lines = ended.get(planned.trial, []) if only in (None, planned.trial) else []
        of_trial = [read_attempt(run, manifest, planned, line, tasks[planned.task], deltas) for line in lines]
        choose_counted(of_trial)
        attempts += of_trial
    unfinished = [planned for planned in manifest.plan if planned.trial not in ended]
    return RunEvidence(
        folder=folder, manifest=manifest, tasks=tasks, attempts=attempts, unfinished=unfinished
    )


def ended_by_trial(
    folder: Path, lines: Sequence[IndexLine], manifest: Manifest
) -> dict[str, list[IndexLine]]:
    """Index lines by trial, by attempt.

    Raises:
        JournalError: an attempt ended twice, or belongs to no planned trial, or the plan names a trial twice.
    """
    planned = Counter(cell.trial for cell in manifest.plan)
    counts = Counter((line.trial, line.attempt) for line in lines)
    twice = [f"{trial} attempt {attempt}" for (trial, attempt), count in counts.items() if count > 1]
    twice += [trial for trial, count in planned.items() if count > 1]
    strange = sorted({line.trial for line in lines} - set(planned))
    if twice or strange:
        problem = f"hold {twice} twice" if twice else f"hold {strange}, which the plan has not"
        raise JournalError(f"{folder}: plan and index {problem}. Restore the run from a copy.")
    found: dict[str, list[IndexLine]] = {}
    for line in sorted(lines, key=lambda line: line.attempt):
        found.setdefault(line.trial, []).append(line)
    return found


def read_attempt(
    run: RunFolder,
    manifest: Manifest,
    planned: TrialPlanned,
    line: IndexLine,
    task: Task,
    deltas: DeltaReader,
) -> AttemptEvidence:
    """Read one ended attempt and measure it.

    Raises:
        JournalError: damaged, or it has no verdict table yet.
    """
    journal = read_ended_journal(run, line)
    verdicts = read_verdicts(run, line)
    begun = bool(journal.events)
    found = (
        measure_trial(
            task, planned, journal.events, verdicts, line.infrastructure, manifest.experiment_id,
            deltas.read(journal, task),
        )
        if begun
        else Measured(
            record=unstarted(task, planned, line.attempt, manifest.experiment_id), progress=[],
            waste=WastedSteps(),
        )
    )  # fmt: skip
    found.record.frozen_verifiers = judged_by_frozen(manifest, task, verdicts)
    started = journal.events[0] if begun else None
    return AttemptEvidence(
        planned=planned,
        record=found.record,
        verdicts=verdicts,
        progress=found.progress,
        waste=found.waste,
        goal_changes=found.goal_changes,
        violations=[event for event in journal.events if isinstance(event, ConstraintViolated)],
        note=line.note,
        reset_proved=isinstance(started, TrialStarted) and started.reset_proved,
        blind_actions=sum(isinstance(e, ActionFinished) and e.reads is None for e in journal.events),
        torn=journal.torn,
        unknown_lines=journal.unknown,
    )


def judged_by_frozen(manifest: Manifest, task: Task, verdicts: TrialVerdicts) -> bool | None:
    """Whether the run's own verifiers gave these verdicts; null when nothing was judged."""
    if not verdicts.verifiers:
        return None
    frozen = VerifierFiles.of_task(manifest.task(task.id))
    own = {subgoal.id: frozen.digest(subgoal) for subgoal in task.subgoal}
    return all(own.get(name) == label for name, label in verdicts.verifiers.items())


def read_ended_journal(run: RunFolder, line: IndexLine) -> Journal:
    """The journal of an ended attempt, checked against the index; empty when it could not even begin one."""
    path = run.journal_path(line.trial, line.attempt)
    if not line.digest and not path.exists():
        return Journal(path=path, events=[])
    return read_journal(path, line.digest)


def read_verdicts(run: RunFolder, line: IndexLine) -> TrialVerdicts:
    """The verdict table of an ended attempt; an infrastructure end may have none, and is then all unknown.

    Raises:
        JournalError: missing or damaged.
    """
    path = run.verdicts_path(line.trial, line.attempt)
    remedy = f"Run `seatrial verify {run.folder}`."
    try:
        table = msgspec.json.decode(path.read_bytes(), type=TrialVerdicts)
    except FileNotFoundError:
        if says_nothing(line):
            return TrialVerdicts(trial=line.trial, attempt=line.attempt, every_step=False, rows=[], final={})
        raise JournalError(
            f"{run.folder}: trial {line.trial}, attempt {line.attempt} has no verdicts yet. {remedy}"
        ) from None
    except OSError as fault:
        raise JournalError(f"{path}: cannot be read: {fault.strerror}. {remedy}") from fault
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise JournalError(f"{path}: damaged: {fault}. {remedy}") from fault
    judged = (table.trial, table.attempt, table.journal or line.digest)
    if judged != (line.trial, line.attempt, line.digest):
        raise JournalError(f"{path}: holds verdicts of another journal. {remedy}")
    return table


def says_nothing(line: IndexLine) -> bool:
    """Whether an attempt ended for reasons of infrastructure."""
    return line.infrastructure or line.stop_reason in INFRASTRUCTURE


def choose_counted(attempts: list[AttemptEvidence]) -> None:
    """Mark the attempt of a trial that counts."""
    chosen = counted_index([attempt.record.terminal_class for attempt in attempts])
    for index, attempt in enumerate(attempts):
        attempt.counted = index == chosen


def refuse_imported(folder: Path, manifest: Manifest) -> None:
    """For whatever needs journals.

    Raises:
        UsageError: the run holds imported rows, and no journal.
    """
    if manifest.imported is not None:
        raise UsageError(
            f"{folder}: holds {manifest.imported.rows} rows imported from {manifest.imported.format} and no "
            "journals. Look at it with `seatrial show`, and estimate from its records."
        )
