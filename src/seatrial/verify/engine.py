"""Judges states: one verifier run per distinct part of a state that it reads, the final state afresh.

A verdict is a function of the verifier's digest and the digest of what it reads; both together are the key.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.environment.state.overlay import remove_tree
from seatrial.journal.digest import digest_value
from seatrial.journal.entries import State
from seatrial.journal.events import ActionRequested
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.records.verdicts import TrialVerdicts, Verdict, VerdictRow
from seatrial.spec.frozen import frozen_task
from seatrial.spec.task import Subgoal
from seatrial.verify.cache import VerdictCache
from seatrial.verify.confined import Bounds, group_for
from seatrial.verify.copies import open_mounts
from seatrial.verify.follow import Follower, Step, steps
from seatrial.verify.frozen import VerifierFiles
from seatrial.verify.probes import Ground
from seatrial.verify.reads import Reads
from seatrial.verify.run import Bench, Judged, Subject

Progress = Callable[[int, int], None]
FINAL_VERDICTS = 3


@dataclass
class Tally:
    """How much one subgoal's verdicts cost in one trial.

    Attributes:
        states: digests of the distinct parts of the state it was asked about.
        runs: verifier processes, an error's second try included; fresh final runs are not.
        cached: questions answered without one.
    """

    states: set[str] = field(default_factory=set)
    runs: int = 0
    cached: int = 0


class Judge:
    """Judges states of one task's trials.

    Not for use by several threads at once. Close it, or use it in a ``with`` block.

    Args:
        host: the prepared host.
        scratch: an existing folder for views; a folder of our own is made in it.
        run: where objects are read and verdicts cached.
        task: as frozen in the run.
        final_verdicts: fresh runs on a final state.
        verifiers: other verifier files than the frozen ones.
    """

    _count = 0

    def __init__(
        self,
        host: Host,
        scratch: str,
        run: RunFolder,
        task: TaskFrozen,
        final_verdicts: int = FINAL_VERDICTS,
        verifiers: VerifierFiles | None = None,
    ) -> None:
        Judge._count += 1
        name = f"{os.getpid()}-{Judge._count}"
        self._host, self._run, self._final = host, run, final_verdicts
        self._scratch = os.path.realpath(f"{scratch}/judge-{name}")
        os.makedirs(self._scratch)
        self.task = frozen_task(task, run.folder)
        self.files = verifiers or VerifierFiles.of_task(task)
        self.files.lay_out(Path(self._scratch) / "files", run.objects)
        limits = self.task.environment.limits
        self._bounds = Bounds(limits.memory_mb, limits.processes)
        # A sweep after a kill finds the groups by the name of the stage.
        stage = os.path.basename(host.stage)
        groups = tuple(group_for(host, f"{stage}-{kind}{name}", self._bounds) for kind in ("v", "p"))
        self._groups = (groups[0], groups[1])
        self._mounter = open_mounts(host, self._scratch)
        self._bench = Bench(host, self._mounter, "files", self._bounds, self._groups)
        self._cache = VerdictCache(run.folder / "verdicts" / "cache")
        self._followers: dict[tuple[str, ...], Follower] = {}
        self._subgoals = {subgoal.id: subgoal for subgoal in self.task.subgoal}
        self._labels = {subgoal.id: self.files.digest(subgoal) for subgoal in self.task.subgoal}
        self._judges_well: set[str] = set()
        self._base: State | None = None
        self.tallies: dict[str, Tally] = {}

    def __enter__(self) -> "Judge":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unmount everything and delete the views."""
        self._bench.close()
        self._mounter.close()
        for group in self._groups:
            group.close()
        remove_tree(self._scratch)

    # -- one state ------------------------------------------------------------------------------------
    @property
    def objects(self) -> ObjectStore:
        """The run's object store."""
        return self._run.objects

    def subgoal(self, name: str) -> Subgoal:
        """A subgoal by its id."""
        return self._subgoals[name]

    def calibrate_on(self, base: State) -> None:
        """Give a state that verifiers should judge well, for errors seen before any other verdict."""
        self._base = dict(base)

    def judge(self, state: State, subgoal: str, step: int = 0) -> VerdictRow:
        """Judge one state, from the cache when it is known.

        Args:
            state: the whole state, by path.
            subgoal: its id.
            step: goes into the row.
        """
        self.follower(self._subgoals[subgoal]).become(state)
        return self.judge_followed(subgoal, step)

    def judge_followed(self, subgoal: str, step: int = 0) -> VerdictRow:
        """Judge the state that the subgoal's follower was brought to, like ``judge``."""
        asked = self._subgoals[subgoal]
        row = self._row(asked, self.follower(asked), step)
        if row.verdict == "error" and self._calibrated(asked):
            row = msgspec.structs.replace(row, product_triggered=True)
        return row

    def follower(self, subgoal: Subgoal) -> Follower:
        """Who follows the part of the state that a subgoal reads."""
        key = tuple(subgoal.reads)
        if key not in self._followers:
            self._followers[key] = self.new_follower(Reads(key))
        return self._followers[key]

    def new_follower(self, reads: Reads) -> Follower:
        """A follower of its own, at the empty state."""
        return Follower(self._host, self._scratch, self._run.objects, reads)

    def key(self, subgoal: Subgoal, follower: Follower) -> str:
        """The cache key of a subgoal's verdict on the state followed."""
        return digest_value([self._labels[subgoal.id], follower.seen.digest()])

    def _row(self, subgoal: Subgoal, follower: Follower, step: int) -> VerdictRow:
        judged = self._judged(subgoal, follower)
        return VerdictRow(
            subgoal=subgoal.id,
            step=step,
            verdict=judged.verdict,
            key=self.key(subgoal, follower),
            reads=follower.seen.digest(),
            evidence=judged.evidence or None,
        )

    def _judged(self, subgoal: Subgoal, follower: Follower) -> Judged:
        tally = self.tallies.setdefault(subgoal.id, Tally())
        tally.states.add(follower.seen.digest())
        key = self.key(subgoal, follower)
        judged = self._cache.get(key)
        if judged is not None:
            tally.cached += 1
        else:
            judged, runs = self.fresh(subgoal, follower)
            tally.runs += runs
            self._cache.put(key, judged)
        if judged.verdict in ("pass", "fail"):
            self._judges_well.add(subgoal.id)
        return judged

    def fresh(self, subgoal: Subgoal, follower: Follower) -> tuple[Judged, int]:
        """Run a verifier without the cache; an error is tried once more.

        Returns:
            The verdict, and how many processes it took.
        """
        judged = self._once(subgoal, follower)
        if judged.verdict != "error":
            return judged, 1
        again = self._once(subgoal, follower)
        if again.verdict == "error":
            return Judged("error", {**again.evidence, "tries": 2}), 2
        return again, 2

    def _once(self, subgoal: Subgoal, follower: Follower) -> Judged:
        layer = follower.layer("verifier")
        bounds = Bounds(self._bounds.memory_mb, self._bounds.processes, subgoal.timeout)
        ground = Ground(self._host, self._mounter, bounds, self._groups[1], lambda: follower.layer("probe"))
        subject = Subject(layer, follower.reads.roots, self.files.program(subgoal), subgoal.timeout)
        judged = self._bench.run(subject, ground)
        left_out = follower.left_out()
        return Judged(judged.verdict, {**judged.evidence, "left_out": left_out}) if left_out else judged

    def _calibrated(self, subgoal: Subgoal) -> bool:
        """Whether the verifier gave a clear verdict on some other state of this trial, or on the base."""
        if subgoal.id not in self._judges_well and self._base is not None:
            follower = self.new_follower(Reads(subgoal.reads))
            follower.become(self._base)
            self._judged(subgoal, follower)
        return subgoal.id in self._judges_well

    # -- one trial ------------------------------------------------------------------------------------
    def judge_trial(
        self, journal: Journal, every_step: bool = True, progress: Progress | None = None
    ) -> TrialVerdicts:
        """Judge a whole trial from its journal and the run's objects alone.

        Args:
            journal: as read.
            every_step: every state, through the cache; otherwise only the final one.
            progress: called with (steps done, steps in all).

        Raises:
            JournalError: journal or objects are damaged.
            VerifierFault, EnvironmentFault: this host could not run a verifier.
        """
        self.tallies, self._judges_well, self._base = {}, set(), None
        self._begin()
        rows: list[VerdictRow] = []
        version, last, active = 1, 0, dict[str, str]()
        total = sum(isinstance(event, ActionRequested) for event in journal.events)
        state: State = {}
        for step in steps(journal, self._run.objects):
            version, last = step.goal_version, step.number
            moved = self._advance(step)
            if step.number == 0:
                state = {entry.path: entry for entry in step.changes}
            if every_step:
                rows += self._rows_at(step, moved, active)
            if progress is not None:
                progress(step.number, total)
        self.calibrate_on(state)
        final = self._judge_final(version)
        if not every_step:
            rows = [self._final_row(self._subgoals[name], judged[-1], last) for name, judged in final.items()]
        rows = [self._settle(row) for row in rows]
        return self._table(journal, every_step, version, rows, final)

    def _begin(self) -> None:
        for subgoal in self.task.subgoal:
            self.follower(subgoal).become({})

    def _advance(self, step: Step) -> set[tuple[str, ...]]:
        return {reads for reads, follower in self._followers.items() if follower.apply(step.changes)}

    def _rows_at(
        self, step: Step, moved: set[tuple[str, ...]], active: dict[str, str]
    ) -> Iterable[VerdictRow]:
        """Rows of the subgoals whose key is another than at the step before; ``active`` holds the keys."""
        for subgoal in self._wanted(step.goal_version, active):
            if subgoal.id in active and tuple(subgoal.reads) not in moved:
                continue
            follower = self.follower(subgoal)
            if self.key(subgoal, follower) != active.get(subgoal.id):
                row = self._row(subgoal, follower, step.number)
                active[subgoal.id] = row.key
                yield row

    def _wanted(self, version: int, active: Iterable[str]) -> list[Subgoal]:
        """Subgoals of the goals so far, and what they stand on."""
        pending = [*active, *(s.id for s in self.task.subgoals_for(version))]
        names = set[str]()
        while pending:
            name = pending.pop()
            if name not in names:
                names.add(name)
                pending += self._subgoals[name].after
        return [subgoal for subgoal in self.task.subgoal if subgoal.id in names]

    def _judge_final(self, version: int) -> dict[str, list[Judged]]:
        subgoals = self.task.subgoals_for(version)
        return {
            subgoal.id: [self.fresh(subgoal, self.follower(subgoal))[0] for _ in range(self._final)]
            for subgoal in subgoals
        }

    def _final_row(self, subgoal: Subgoal, judged: Judged, step: int) -> VerdictRow:
        follower = self.follower(subgoal)
        if judged.verdict in ("pass", "fail"):
            self._judges_well.add(subgoal.id)
        return VerdictRow(
            subgoal=subgoal.id, step=step, verdict=judged.verdict, key=self.key(subgoal, follower),
            reads=follower.seen.digest(), evidence=judged.evidence or None,
        )  # fmt: skip

    def _settle(self, row: VerdictRow) -> VerdictRow:
        """An error counts against the product when the verifier judges other states well."""
        if row.verdict == "error" and self._calibrated(self._subgoals[row.subgoal]):
            return msgspec.structs.replace(row, product_triggered=True)
        return row

    def _table(
        self,
        journal: Journal,
        every_step: bool,
        version: int,
        rows: list[VerdictRow],
        final: dict[str, list[Judged]],
    ) -> TrialVerdicts:
        verdicts: dict[str, list[Verdict]] = {name: [j.verdict for j in runs] for name, runs in final.items()}
        return TrialVerdicts(
            trial=journal.started.trial,
            attempt=journal.started.attempt,
            journal=journal.digest,
            every_step=every_step,
            goal_version=version,
            rows=rows,
            final=verdicts,
            distinct={name: len(tally.states) for name, tally in self.tallies.items()},
            runs=sum(tally.runs for tally in self.tallies.values()),
            cached=sum(tally.cached for tally in self.tallies.values()),
            verifiers=dict(self._labels),
        )
