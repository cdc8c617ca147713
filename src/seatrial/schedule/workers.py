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

from seatrial.journal.run import RunFolder
from seatrial.schedule.leftovers import INTERRUPTED, BrokenOff, clear_after_worker, close_attempt
from seatrial.schedule.people import Answering, PersonLine
from seatrial.schedule.spending import CostFollower, Spent
from seatrial.schedule.watching import Running
from seatrial.trial.job import TrialDone, TrialJob, trial_done
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

    def __init__(self, run: RunFolder, job: TrialJob, unsafe: bool, asks: bool = False) -> None:
        self._run, self._unsafe = run, unsafe
        self.line = PersonLine() if asks else None
        self.job = job if self.line is None else msgspec.structs.replace(job, person=self.line.theirs)
        self.journal = CostFollower(run.journal_path(job.trial, job.attempt))
        self._began = time.monotonic()
        self._answer, self._problems = os.memfd_create("answer"), os.memfd_create("problems")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "seatrial.trial.worker", str(os.getpid())],
            stdin=subprocess.PIPE, stdout=self._answer, stderr=self._problems, process_group=0,
            pass_fds=[] if self.line is None else [self.line.theirs],
        )  # fmt: skip
        if self.line is not None:
            self.line.started()
        self.handle = os.pidfd_open(self._process.pid)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(msgspec.json.encode(self.job))

    @property
    def spent(self) -> Spent:
        """What its attempt spent since this process was started, as far as looked."""
        return Spent() if self.job.judge_only else self.journal.spent

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self._began

    def progress(self) -> Running:
        """How far it is."""
        self.journal.look()
        job = self.job
        return Running(job.trial, job.attempt, self.journal.steps, self.seconds, job.judge_only)

    def wait(self) -> Ended:
        """Wait for its end and say what became of its attempt; of a dead process, its journal decides."""
        status = self._process.wait()
        answer, problems = _whole(self._answer), _whole(self._problems)
        self._close()
        if status == 0:
            return Ended(self.job, msgspec.json.decode(answer, type=TrialDone))
        clear_after_worker(self._run, self._process.pid, self._unsafe)
        return _broken(status, problems, self._run, self.job, self.journal.steps)

    def interrupt(self) -> None:
        """Ask it to clear up and end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end(self, deadline: float) -> None:
        """Make it end, if need be after a deadline on the monotonic clock.

        Its attempt counts as killed, unless it had ended by itself.
        """
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()
        job, run = self.job, self._run
        clear_after_worker(run, self._process.pid, self._unsafe)
        if run.journal_path(job.trial, job.attempt).exists():
            close_attempt(run, job.trial, job.attempt, INTERRUPTED)

    def put_to(self, person: Answering) -> None:
        """Put what its attempt asks to a person, and hand back the answer."""
        if self.line is not None:
            self.line.serve(person, lambda: self._process.poll() is not None)

    def _close(self) -> None:
        if self.line is not None:
            self.line.close()
        for descriptor in (self.handle, self._answer, self._problems):
            os.close(descriptor)
        self.journal.close()


class Pool:
    """At most ``size`` workers at once, each with a slot of its own. Use it in a ``with`` block.

    However the block is left, no worker outlives it.

    Args:
        unsafe: they have no sandbox; what such a worker leaves is looked for all over the host.
        person: who answers what the attempts ask a person; null when nobody is there.
    """

    def __init__(self, run: RunFolder, size: int, unsafe: bool, person: Answering | None = None) -> None:
        self._run, self.size, self._unsafe, self._person = run, size, unsafe, person
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
        asks = self._person is not None and not judge_only
        self._workers[slot] = Worker(self._run, job, self._unsafe, asks)

    def wait(self, seconds: float) -> list[Worker]:
        """Wait until a process ends or the time is up; those that ended are no longer in the pool.

        What an attempt asks a person meanwhile is put to the person, for as long as that takes.
        """
        slots = {worker.handle: slot for slot, worker in self._workers.items()}
        lines = {
            worker.line.fileno(): worker
            for worker in self.workers
            if worker.line is not None and not worker.line.over
        }
        poll = select.poll()
        for handle in (*slots, *lines):
            poll.register(handle, select.POLLIN)
        ready = [handle for handle, _ in poll.poll(seconds * 1000)]
        for handle in ready:
            if handle in lines and self._person is not None:
                lines[handle].put_to(self._person)
        return [self._workers.pop(slots[handle]) for handle in ready if handle in slots]

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
    return Worker(run, job, run.manifest().unsafe).wait().done


def _whole(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _broken(status: int, problems: bytes, run: RunFolder, job: TrialJob, steps: int) -> Ended:
    """What became of an attempt whose process failed; writes it down unless the process had."""
    with contextlib.suppress(OSError):  # the log is a help, the index below must be written
        run.attempt_folder(job.trial, job.attempt).mkdir(parents=True, exist_ok=True)
        (run.attempt_folder(job.trial, job.attempt) / "harness.log").write_bytes(problems)
    said = problems.decode(errors="replace").strip().splitlines()
    note = said[-1] if said else f"the trial's process ended with status {status}"
    no_room = status == NO_ROOM_STATUS
    broken_off = BrokenOff(
        note, runner_ended=no_room, stop_reason="killed" if status < 0 else "harness_fault"
    )
    done = trial_done(close_attempt(run, job.trial, job.attempt, broken_off), steps)
    # Where the attempt had ended by itself, what failed is judging it.
    return Ended(job, msgspec.structs.replace(done, note=note), no_room)
