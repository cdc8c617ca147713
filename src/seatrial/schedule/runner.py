"""Runs what the plan still lacks: one loop in one thread over as many processes as wanted."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from seatrial.errors import JournalError, TaskFault, UsageError
from seatrial.journal.events import TASK_FAULT
from seatrial.journal.run import Manifest, RunFolder
from seatrial.schedule.amendments import grant_attempts, granted
from seatrial.schedule.people import Answering
from seatrial.schedule.queue import Queue, Selection, execution_order, ledger_of
from seatrial.schedule.spending import Cap, Spent, spent_before
from seatrial.schedule.stopping import Stop
from seatrial.schedule.watching import RunProgress, Watcher, seconds_left
from seatrial.schedule.workers import Ended, Pool, Worker
from seatrial.trial.job import TrialDone

LOOK_SECONDS = 0.25
# Less room than this holds no journal worth the name.
ROOM_BYTES = 256 << 10
WORKERS_PER_CORE = 4


@dataclass(frozen=True)
class Orders:
    """How a run is to be carried out this time; nothing of it is kept in the run.

    Attributes:
        workers: attempts at once.
        selection: which trials.
        cap: what the whole run may spend.
        rerun_infrastructure: give trials that used up their attempts new ones.
        person: answers what attempts ask a person at the terminal, one attempt at a time; null for nobody.
    """

    workers: int = 1
    selection: Selection = field(default_factory=Selection)
    cap: Cap = field(default_factory=Cap)
    rerun_infrastructure: bool = False
    person: Answering | None = None

    def __post_init__(self) -> None:
        most = WORKERS_PER_CORE * (os.cpu_count() or 1)
        if not 1 <= self.workers <= most:
            raise UsageError(f"--workers {self.workers}: this host takes 1 to {most} (four for each core).")
        if self.selection.limit is not None and self.selection.limit < 0:
            raise UsageError(f"--limit {self.selection.limit}: is no number of trials. Give one from 0.")


@dataclass
class Tally:
    """What a call of ``run_plan`` did.

    Attributes:
        done: trials that ended now, by trial.
        skipped: how many of those wanted had ended before.
        given_up: trials whose attempts all ended for infrastructure reasons, with the last reason.
        unjudged: trials that ended but could not be judged, with the reason. They are never run again.
        waiting: trials that were wanted and not begun, in execution order.
        left: how many trials of the whole plan have no counted attempt and are not given up.
        capped: which bound on the cost kept ``waiting`` from beginning; null when none did.
        interrupted: somebody asked to stop.
        killed: trials whose attempt was ended for that; they are run again next time.
        spent: by the whole run, earlier calls and lost attempts included.
        infrastructure_ends: attempts of the whole run that ended so.
        beyond_cap: what the bounds on the cost could not count; null when nothing, or without a bound.
    """

    done: dict[str, TrialDone] = field(default_factory=dict)
    skipped: int = 0
    given_up: dict[str, str] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    left: int = 0
    capped: str | None = None
    interrupted: bool = False
    killed: list[str] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    infrastructure_ends: int = 0
    beyond_cap: str | None = None


def run_plan(
    run: RunFolder,
    manifest: Manifest,
    watcher: Watcher,
    orders: Orders | None = None,
    stop: Stop | None = None,
) -> Tally:
    """Run every trial that has no counted attempt yet.

    A trial is tried again only after an infrastructure-class end, as often as the experiment's retry policy
    allows. Attempts are kept, whatever became of them. One that ended without having been judged is judged.

    Args:
        manifest: of the run; it is amended when attempts are granted.
        watcher: told of every attempt.
        orders: how; by default one attempt at a time and all of the plan.
        stop: looked at several times a second.

    Raises:
        UsageError: a filter fits nothing.
        JournalError: there is no room left for a run; no attempt is spent on that.
        TaskFault: a script of a task's own failed. Its trial is not tried again, and no other one was begun.
    """
    return _Schedule(run, manifest, watcher, orders or Orders(), stop or Stop()).carry_out()


class _Schedule:
    """One call of ``run_plan``: what is known, what runs, what is still to be started."""

    def __init__(
        self, run: RunFolder, manifest: Manifest, watcher: Watcher, orders: Orders, stop: Stop
    ) -> None:
        self._run, self._watcher, self._orders, self._stop = run, watcher, orders, stop
        self._index, self._manifest = run.follow_index(), manifest
        order = execution_order(manifest.plan, int(manifest.experiment.get("seed", 0)))
        self._wanted = orders.selection.of(order)
        self._ledger = ledger_of(manifest, self._index.look())
        if orders.rerun_infrastructure:
            trials = [p.trial for p in self._wanted if self._ledger.given_up(p.trial)]
            if trials:
                grant_attempts(run, manifest, trials, self._ledger.retries + 1)
                self._ledger.grant(granted(manifest))
        counted = [line for p in order if (line := self._ledger.counted(p.trial))]
        unjudged = [line for line in counted if not self._is_judged(line.trial, line.attempt)]
        self._queue = Queue(self._wanted, self._ledger, unjudged, orders.selection.limit)
        self._tally = Tally(skipped=sum(self._ledger.counted(p.trial) is not None for p in self._wanted))
        self._spent = spent_before(run, [planned.trial for planned in manifest.plan])
        self._durations: list[float] = []
        self._hold: str | None = None
        self._no_room: str | None = None
        self._at_fault: TrialDone | None = None

    def carry_out(self) -> Tally:
        """The loop."""
        orders = self._orders
        with Pool(self._run, orders.workers, self._manifest.unsafe, orders.person) as pool:
            self._watcher.moved(self._progress(pool))
            while True:
                self._fill(pool)
                if not pool.workers or self._stop.now:
                    break
                for worker in pool.wait(LOOK_SECONDS):
                    self._take(worker, worker.wait())
                self._watcher.moved(self._progress(pool))
            self._end(pool)
        if self._no_room is not None:
            raise JournalError(self._no_room)
        if self._at_fault is not None:
            raise self._task_fault(self._at_fault)
        return self._tally

    # -- starting -------------------------------------------------------------------------------------
    def _fill(self, pool: Pool) -> None:
        """Start what may be started."""
        if self._stop.soon and self._hold is None:
            self._hold_on("it was asked to stop", pool)
        while not pool.is_full and not self._stop.soon and self._no_room is None:
            begin = not self._queue.is_begun and self._may_begin(pool)
            todo = self._queue.take(begin)
            if todo is None:
                return
            pool.start(*todo)
            self._watcher.began(todo.trial, todo.attempt)

    def _may_begin(self, pool: Pool) -> bool:
        if self._hold is None:
            self._tally.capped = self._orders.cap.reached(self._all_spent(pool))
            if self._tally.capped is not None:
                self._hold_on(self._tally.capped, pool)
            elif not _has_room(self._run.folder):
                self._no_room = f"{self._run.folder}: the disk is full. {_AGAIN}"
                self._hold_on("the disk is full", pool)
        return self._hold is None

    def _hold_on(self, reason: str, pool: Pool) -> None:
        self._hold = reason
        self._watcher.holding(reason, len(list(pool.workers)))

    # -- ending ---------------------------------------------------------------------------------------
    def _take(self, worker: Worker, ended: Ended) -> None:
        """Note how an attempt ended, and queue the next one where the policy allows it."""
        self._ledger.add(self._index.look())
        worker.progress()
        self._spent += worker.spent
        job, done = ended.job, ended.done
        if not job.judge_only:
            self._durations.append(worker.seconds)
            self._watcher.ended(done)
        if ended.no_room:
            self._no_room = f"{self._run.folder}: the disk is full. {done.note.rstrip('.')}. {_AGAIN}"
            self._hold = self._hold or "the disk is full"
        if done.stop_reason == TASK_FAULT and self._at_fault is None:
            self._at_fault = done
            self._hold = self._hold or "a script of a task failed"
        if self._ledger.counted(job.trial) is None:
            self._queue.again(job.trial)
            return
        self._tally.done[job.trial] = done
        if self._is_judged(job.trial, job.attempt):
            return
        if job.judge_only:
            self._tally.unjudged[job.trial] = done.note or "no reason was given"
        else:
            self._queue.judge(job.trial, job.attempt)

    def _task_fault(self, done: TrialDone) -> TaskFault:
        task = next(planned.task for planned in self._manifest.plan if planned.trial == done.trial)
        return TaskFault(
            f"{self._run.folder}: trial {done.trial}", f"task {task}", done.note.rstrip("."),
            "Then begin a new run: this one keeps the task as it was. The same command again goes on with "
            "its other trials",
        )  # fmt: skip

    def _is_judged(self, trial: str, attempt: int) -> bool:
        return self._run.verdicts_path(trial, attempt).exists()

    def _end(self, pool: Pool) -> None:
        """End what still runs, if anything does, and sum up."""
        tally, ledger = self._tally, self._ledger
        tally.interrupted = self._stop.soon
        workers = list(pool.workers)
        running = [worker.job.trial for worker in workers]
        pool.stop()
        self._spent = sum((worker.spent for worker in workers), self._spent)
        ledger.add(self._index.look())
        tally.killed = [trial for trial in running if ledger.counted(trial) is None]
        tally.waiting = self._queue.waiting
        for trial in (*self._queue.unjudged, *running):
            line = ledger.counted(trial)
            if line is not None and not self._is_judged(trial, line.attempt):
                tally.unjudged[trial] = "the run was ended before"
        lines = {p.trial: ledger.attempts(p.trial) for p in self._wanted if ledger.given_up(p.trial)}
        tally.given_up = {trial: attempts[-1].note for trial, attempts in lines.items()}
        names = [planned.trial for planned in self._manifest.plan]
        tally.left = sum(not ledger.counted(name) and not ledger.given_up(name) for name in names)
        tally.spent, tally.infrastructure_ends = self._spent, ledger.infrastructure_ends
        tally.beyond_cap = self._orders.cap.leaves_out(self._spent)

    # -- telling --------------------------------------------------------------------------------------
    def _all_spent(self, pool: Pool) -> Spent:
        return sum((worker.spent for worker in pool.workers), self._spent)

    def _progress(self, pool: Pool) -> RunProgress:
        running = [worker.progress() for worker in pool.workers]
        return RunProgress(
            total=len(self._manifest.plan),
            done=self._ledger.done,
            running=running,
            spent=self._all_spent(pool),
            infrastructure_ends=self._ledger.infrastructure_ends,
            seconds_left=seconds_left(self._durations, len(self._queue), running, self._orders.workers),
        )


_AGAIN = "Free space, then give the same command again."


def _has_room(folder: Path) -> bool:
    """Whether an attempt would find room to be written down."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >= ROOM_BYTES and not (disk.f_files and not disk.f_favail)
