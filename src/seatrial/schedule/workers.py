"""The processes of attempts: starting them, several at once, following and ending them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from seatrial.journal.reader import read_journal
from seatrial.journal.run import IndexLine, RunFolder
from seatrial.schedule.leftovers import clear_after_worker
from seatrial.schedule.spending import JournalFollower, Spent
from seatrial.schedule.watching import Running
from seatrial.trial.job import TrialDone, TrialJob
from seatrial.trial.worker import NO_ROOM_STATUS

CLEAR_UP_SECONDS = 20.0


class Ended(NamedTuple):
    """What became of a process.

    Attributes:
        job: what it was told.
        done: how its attempt ended.
        no_room: the disk is full; the attempt is kept and uses up none that the retry policy allows.
    """

    job: TrialJob
    done: TrialDone
    no_room: bool = False


class Worker:
    """One attempt in a process of its own, which ends with ours, however ours ends.

    Its answer goes to memory, so that nobody has to read along and a full disk loses nothing of it.
    """

    def __init__(self, run: RunFolder, job: TrialJob) -> None:
        self.job, self._run = job, run
        self.journal = JournalFollower(run.journal_path(job.trial, job.attempt))
        self._began = time.monotonic()
        self._answer, self._problems = os.memfd_create("answer"), os.memfd_create("problems")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "seatrial.trial.worker", str(os.getpid())],
            stdin=subprocess.PIPE, stdout=self._answer, stderr=self._problems, process_group=0,
        )  # fmt: skip
        self.handle = os.pidfd_open(self._process.pid)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(msgspec.json.encode(job))

    @property
    def spent(self) -> Spent:
        """What its attempt spent since this process was started, as far as looked."""
        return Spent() if self.job.judge_only else self.journal.spent

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self._began

    def standing(self) -> Running:
        """How far it is."""
        self.journal.look()
        job = self.job
        return Running(job.trial, job.attempt, self.journal.steps, self.seconds, job.judge_only)

    def wait(self) -> Ended:
        """Wait for its end and say what became of its attempt; a dead process is an infrastructure end."""
        status = self._process.wait()
        answer, problems = _whole(self._answer), _whole(self._problems)
        self._close()
        if status == 0:
            return Ended(self.job, msgspec.json.decode(answer, type=TrialDone))
        clear_after_worker(self._run, self._process.pid)
        return _broken(status, problems, self._run, self.job)

    def interrupt(self) -> None:
        """Ask it to clear up and end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end(self, deadline: float) -> None:
        """Make it end, if need be after a deadline on the monotonic clock; its attempt counts as killed.

        An attempt that had ended by itself stays as it is.
        """
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()
        job, run = self.job, self._run
        clear_after_worker(run, self._process.pid)
        if run.journal_path(job.trial, job.attempt).exists() and not run.ended(job.trial, job.attempt):
            _write_down(run, job, "killed", "interrupted", runner_ended=True)

    def _close(self) -> None:
        for descriptor in (self.handle, self._answer, self._problems):
            os.close(descriptor)


class Pool:
    """At most ``size`` workers at once, each with a slot of its own. Use it in a ``with`` block.

    However the block is left, no worker outlives it.
    """

    def __init__(self, run: RunFolder, size: int) -> None:
        self._run, self.size = run, size
        self._workers: dict[int, Worker] = {}

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def workers(self) -> Iterable[Worker]:
        """Those under way, by slot."""
        return self._workers.values()

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken."""
        return len(self._workers) >= self.size

    def start(self, trial: str, attempt: int, judge_only: bool = False) -> None:
        """Start a process in a free slot."""
        slot = next(n for n in range(self.size) if n not in self._workers)
        folder = str(self._run.folder.resolve())
        job = TrialJob(run=folder, trial=trial, attempt=attempt, slot=slot, judge_only=judge_only)
        self._workers[slot] = Worker(self._run, job)

    def wait(self, seconds: float) -> list[Worker]:
        """Wait until a process ends or the time is up; those that ended are no longer in the pool."""
        slots = {worker.handle: slot for slot, worker in self._workers.items()}
        poll = select.poll()
        for handle in slots:
            poll.register(handle, select.POLLIN)
        return [self._workers.pop(slots[handle]) for handle, _ in poll.poll(seconds * 1000)]

    def stop(self) -> None:
        """End every worker now; what they did is kept, their attempts are marked as ended by the runner."""
        for worker in self.workers:
            worker.interrupt()
        deadline = time.monotonic() + CLEAR_UP_SECONDS
        while self._workers:
            _, worker = self._workers.popitem()
            worker.end(deadline)


def run_job(run: RunFolder, job: TrialJob) -> TrialDone:
    """Run one attempt as told, alone, to its end."""
    return Worker(run, job).wait().done


def _whole(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _broken(status: int, problems: bytes, run: RunFolder, job: TrialJob) -> Ended:
    """What became of an attempt whose process failed; writes it down unless the process had."""
    with contextlib.suppress(OSError):  # the log is a help, the index below must be written
        run.attempt_folder(job.trial, job.attempt).mkdir(parents=True, exist_ok=True)
        (run.attempt_folder(job.trial, job.attempt) / "harness.log").write_bytes(problems)
    said = problems.decode(errors="replace").strip().splitlines()
    note = said[-1] if said else f"the trial's process ended with status {status}"
    reason, no_room = "killed" if status < 0 else "harness_fault", status == NO_ROOM_STATUS
    ended = run.ended(job.trial, job.attempt)
    infrastructure = True
    if ended is not None:
        # It was written down before: what failed is judging it.
        reason, infrastructure = ended.stop_reason, ended.infrastructure
    else:
        _write_down(run, job, reason, note, runner_ended=no_room)
    done = TrialDone(
        trial=job.trial, attempt=job.attempt, stop_reason=reason, infrastructure=infrastructure, steps=0,
        note=note,
    )  # fmt: skip
    return Ended(job, done, no_room)


def _write_down(run: RunFolder, job: TrialJob, reason: str, note: str, runner_ended: bool = False) -> None:
    """Index an attempt whose own process could not."""
    path = run.journal_path(job.trial, job.attempt)
    digest = read_journal(path).digest if path.exists() else ""
    run.add_to_index(
        IndexLine(
            trial=job.trial,
            attempt=job.attempt,
            digest=digest,
            stop_reason=reason,
            infrastructure=True,
            runner_ended=runner_ended,
            note=note,
        )
    )
