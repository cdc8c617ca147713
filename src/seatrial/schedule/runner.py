"""Runs what the plan still lacks, one trial's process after another."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.reader import read_journal
from seatrial.journal.run import IndexLine, Manifest, RunFolder, TrialPlanned
from seatrial.schedule.open_run import clear_after_death
from seatrial.schedule.watching import StepCounter, Watcher
from seatrial.trial.job import TrialDone, TrialJob

LOOK_SECONDS = 0.25
# Less room than this holds no journal worth the name.
ROOM_BYTES = 256 << 10
CLEAR_UP_SECONDS = 20.0


@dataclass
class Tally:
    """What a call of ``run_plan`` did.

    Attributes:
        done: trials that ended now, by trial.
        skipped: how many had ended before.
        given_up: trials whose attempts all ended for infrastructure reasons, with the last reason.
        unjudged: trials that ended but could not be judged, with the reason. They are never run again.
    """

    done: dict[str, TrialDone] = field(default_factory=dict)
    skipped: int = 0
    given_up: dict[str, str] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)


def run_plan(run: RunFolder, manifest: Manifest, watcher: Watcher) -> Tally:
    """Run every trial that has no counted attempt yet.

    A trial is tried again only after an infrastructure-class end, as often as the experiment's retry policy
    allows. Attempts are kept, whatever became of them. One that ended without having been judged is judged.

    Args:
        watcher: told of every attempt.

    Raises:
        JournalError: there is no room left for a run; no attempt is spent on that.
    """
    tally = Tally()
    retries = int((manifest.experiment.get("retry") or {}).get("infrastructure", 2))
    for planned in manifest.plan:
        lines = [line for line in run.index() if line.trial == planned.trial]
        counted = [line for line in lines if not line.infrastructure]
        if counted:
            tally.skipped += 1
            _judge_late(run, counted[0], tally, watcher)
        else:
            _run_trial(run, planned, retries, tally, watcher)
    return tally


def _judge_late(run: RunFolder, line: IndexLine, tally: Tally, watcher: Watcher) -> None:
    if run.verdicts_path(line.trial, line.attempt).exists():
        return
    job = TrialJob(run=str(run.folder.resolve()), trial=line.trial, attempt=line.attempt, judge_only=True)
    watcher.began(line.trial, line.attempt)
    _take(run, start_worker(run, job, watcher), tally)


def _run_trial(run: RunFolder, planned: TrialPlanned, retries: int, tally: Tally, watcher: Watcher) -> None:
    while True:
        lines = [line for line in run.index() if line.trial == planned.trial]
        tried = {line.attempt for line in lines}
        if sum(not line.runner_ended for line in lines) > retries:
            tally.given_up[planned.trial] = lines[-1].note if lines else "no attempt could be started"
            return
        _check_room(run.folder)
        attempt = max(tried, default=0) + 1
        job = TrialJob(run=str(run.folder.resolve()), trial=planned.trial, attempt=attempt)
        watcher.began(planned.trial, attempt)
        done = start_worker(run, job, watcher)
        watcher.ended(planned.trial, done)
        if not done.infrastructure:
            _take(run, done, tally)
            return


def _take(run: RunFolder, done: TrialDone, tally: Tally) -> None:
    tally.done[done.trial] = done
    if not run.verdicts_path(done.trial, done.attempt).exists():
        tally.unjudged[done.trial] = done.note or "no reason was given"


def _check_room(folder: Path) -> None:
    """Refuse to spend an attempt on a full disk."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < ROOM_BYTES or (disk.f_files and not disk.f_favail):
        raise JournalError(f"{folder}: the disk is full. Free space, then give the same command again.")


def start_worker(run: RunFolder, job: TrialJob, watcher: Watcher) -> TrialDone:
    """Run one attempt in a process of its own; a process that dies gives an infrastructure end.

    An interrupt reaches the process once, through us, so that it can clear up; the attempt counts as killed.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial.trial.worker", str(os.getpid())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
    )  # fmt: skip
    try:
        answer, problems = _followed(process, run, job, watcher)
    except KeyboardInterrupt:
        _interrupt(process)
        clear_after_death(run)
        if run.journal_path(job.trial, job.attempt).exists() and not run.ended(job.trial, job.attempt):
            _write_down(run, job, "killed", "interrupted", runner_ended=True)
        raise
    if process.returncode == 0:
        return msgspec.json.decode(answer, type=TrialDone)
    clear_after_death(run)
    return _broken(process.returncode, problems, run, job)


def _followed(
    process: subprocess.Popen[bytes], run: RunFolder, job: TrialJob, watcher: Watcher
) -> tuple[bytes, bytes]:
    """Give it its job and wait for its end; returns what it wrote to stdout and stderr."""
    counter = StepCounter(run.journal_path(job.trial, job.attempt))
    job_line: bytes | None = msgspec.json.encode(job)
    while True:
        try:
            return process.communicate(job_line, timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            job_line = None
            watcher.moved(job.trial, counter.look())


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ask it to clear up and end; make it end when it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=CLEAR_UP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt, ValueError):
        process.kill()
        process.wait()


def _broken(status: int, problems: bytes, run: RunFolder, job: TrialJob) -> TrialDone:
    """What became of an attempt whose process failed; writes it down unless the process had."""
    with contextlib.suppress(OSError):  # the log is a help, the index below must be written
        run.attempt_folder(job.trial, job.attempt).mkdir(parents=True, exist_ok=True)
        (run.attempt_folder(job.trial, job.attempt) / "harness.log").write_bytes(problems)
    said = problems.decode(errors="replace").strip().splitlines()
    note = said[-1] if said else f"the trial's process ended with status {status}"
    reason = "killed" if status < 0 else "harness_fault"
    ended = run.ended(job.trial, job.attempt)
    if ended is not None:
        # It was written down before: what failed is judging it.
        return TrialDone(
            trial=job.trial, attempt=job.attempt, stop_reason=ended.stop_reason,
            infrastructure=ended.infrastructure, steps=0, note=note,
        )  # fmt: skip
    _write_down(run, job, reason, note)
    return TrialDone(
        trial=job.trial, attempt=job.attempt, stop_reason=reason, infrastructure=True, steps=0, note=note
    )


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
