"""Where each planned trial of a run stands, for a run that is going on or that was left half done."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.evidence.deltas import DeltaReader
from seatrial.evidence.read import (
    AttemptEvidence,
    RunEvidence,
    choose_counted,
    ended_by_trial,
    read_attempt,
    refuse_imported,
    says_nothing,
)
from seatrial.journal.events import SubgoalJudged
from seatrial.journal.follow import JournalFollower
from seatrial.journal.run import IndexLine, RunFolder, TrialPlanned
from seatrial.spec.frozen import frozen_task

State = Literal["ended", "unjudged", "running", "broken off", "waiting"]
LOCKS = Path("/proc/locks")


class TrialStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One planned trial at one moment.

    Attributes:
        state: ``ended`` and judged; ``unjudged``: ended without verdicts so far; ``running``; ``broken off``:
            its runner died on it; ``waiting``: not begun, or to be tried again.
        attempt: the latest one; null before the first.
        steps: requested so far by the attempt under way; null where none is.
        passing: subgoals whose latest verdict is pass, where the trial is judged while it runs; else null.
        evidence: what counts so far; null until an attempt is judged.
    """

    planned: TrialPlanned
    state: State
    attempt: int | None = None
    steps: int | None = None
    passing: int | None = None
    evidence: AttemptEvidence | None = None


class RunWatch:
    """Looks at a run again and again. Index and journals are read once, and so is every judged attempt.

    Args:
        folder: the run folder.

    Raises:
        JournalError: it is no run folder, or its manifest is damaged.
        UsageError: it was imported, and has no journals.
    """

    def __init__(self, folder: Path) -> None:
        self._run = RunFolder.open(folder)
        self._manifest = self._run.manifest()
        refuse_imported(folder, self._manifest)
        self._tasks = {frozen.id: frozen_task(frozen, folder) for frozen in self._manifest.tasks}
        self._index, self._lines = self._run.follow_index(), list[IndexLine]()
        self._deltas = DeltaReader(self._run.objects)
        self._read: dict[tuple[str, int], AttemptEvidence] = {}
        self._growing: dict[tuple[str, int], _GrowingJournal] = {}

    def look(self) -> tuple[list[TrialStanding], bool | None]:
        """Every planned trial in the plan's order, and whether a runner works on the run (null: unknown).

        Raises:
            JournalError: an index line, a journal or a verdict table is damaged.
        """
        # Asked first: what a runner wrote before it went is then seen.
        alive = runner_alive(self._run.folder)
        self._lines += self._index.look()
        ended = ended_by_trial(self._run.folder, self._lines, self._manifest)
        return [self._stand(cell, ended.get(cell.trial, []), alive) for cell in self._manifest.plan], alive

    def evidence(self) -> RunEvidence | None:
        """The whole run but for its forks, from what the last look read.

        Null unless every trial of the experiment ended and is judged.
        """
        ended = ended_by_trial(self._run.folder, self._lines, self._manifest)
        plan = [cell for cell in self._manifest.plan if cell.fork is None]
        lines = [line for cell in plan for line in ended.get(cell.trial, [])]
        attempts = [self._read.get((line.trial, line.attempt)) for line in lines]
        if any(cell.trial not in ended for cell in plan) or None in attempts:
            return None
        return RunEvidence(
            folder=self._run.folder,
            manifest=msgspec.structs.replace(self._manifest, plan=plan),
            tasks=self._tasks,
            attempts=[attempt for attempt in attempts if attempt is not None],
            unfinished=[],
        )

    def _stand(self, cell: TrialPlanned, lines: list[IndexLine], alive: bool | None) -> TrialStanding:
        judged = [found for line in lines if (found := self._attempt(cell, line)) is not None]
        choose_counted(judged)
        counted = next((found for found in judged if found.counted), None)
        completed = [line for line in lines if not says_nothing(line)]
        if completed:
            attempt = completed[0].attempt
            done = counted is not None and counted.record.attempt == attempt
            return TrialStanding(
                planned=cell, state="ended" if done else "unjudged", attempt=attempt,
                evidence=counted if done else None,
            )  # fmt: skip
        latest = max((line.attempt for line in lines), default=None)
        begun = [n for n in self._run.attempts(cell.trial) if n > (latest or 0)]
        if begun:
            journal = self._growing.setdefault(
                (cell.trial, begun[-1]), _GrowingJournal(self._run.journal_path(cell.trial, begun[-1]))
            )
            journal.look()
            return TrialStanding(
                planned=cell, state="broken off" if alive is False else "running", attempt=begun[-1],
                steps=journal.steps, passing=journal.passing, evidence=counted,
            )  # fmt: skip
        state: State = "waiting" if counted is None or alive else "ended"
        return TrialStanding(planned=cell, state=state, attempt=latest, evidence=counted)

    def _attempt(self, cell: TrialPlanned, line: IndexLine) -> AttemptEvidence | None:
        """An ended attempt, measured once; null while it has no verdicts."""
        key = (line.trial, line.attempt)
        judged = self._run.verdicts_path(*key).exists() or says_nothing(line)
        if key not in self._read and judged:
            task = self._tasks[cell.task]
            self._read[key] = read_attempt(self._run, self._manifest, cell, line, task, self._deltas)
        return self._read.get(key)


class _GrowingJournal:
    """Steps and passing subgoals of a journal that is being written."""

    def __init__(self, path: Path) -> None:
        self._journal = JournalFollower(path, SubgoalJudged)
        self._verdicts: dict[str, bool] = {}

    @property
    def steps(self) -> int:
        """Requested so far."""
        return self._journal.steps

    @property
    def passing(self) -> int | None:
        """Subgoals that pass by the latest verdict taken while the trial runs; null without any."""
        return sum(self._verdicts.values()) if self._verdicts else None

    def look(self) -> None:
        """Take in what was added."""
        for line in self._journal.look():
            said = msgspec.json.decode(line)
            self._verdicts[said["subgoal"]] = said["verdict"] == "pass"


def runner_alive(folder: Path) -> bool | None:
    """Whether a process holds the run's lock; null where the system does not say.

    The lock is looked up, never tried: trying it would turn a runner away that starts in this moment. One on
    another host, or hidden by its container, is not seen.
    """
    try:
        file = os.stat(folder / "lock")
    except FileNotFoundError:
        return False
    try:
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    # "1: FLOCK ADVISORY WRITE 4711 fe:00:2204791 0 EOF"
    held = [line for line in lines if " FLOCK " in line and f":{file.st_ino} " in line]
    device = f" {os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:"
    # Some file systems give stat another device than the one the lock is listed under.
    return any(device in line for line in held) or (None if held else False)
