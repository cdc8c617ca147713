"""Runs what the plan still lacks, one trial's process after another."""

import subprocess
import sys
from dataclasses import dataclass, field

import msgspec

from seatrial.journal.reader import read_journal
from seatrial.journal.run import IndexLine, Manifest, RunFolder, TrialPlanned
from seatrial.schedule.watching import StepCounter, Watcher
from seatrial.trial.job import TrialDone, TrialJob

LOOK_SECONDS = 0.25


@dataclass
class Tally:
    """What a call of ``run_plan`` did.

    Attributes:
        done: trials that ended now, by trial.
        skipped: how many had ended before.
        given_up: trials whose attempts all ended for infrastructure reasons, with the last reason.
    """

    done: dict[str, TrialDone] = field(default_factory=dict)
    skipped: int = 0
    given_up: dict[str, str] = field(default_factory=dict)


def run_plan(run: RunFolder, manifest: Manifest, watcher: Watcher) -> Tally:
    """Run every trial that has no counted attempt yet.

    A trial is tried again only after an infrastructure-class end, as often as the experiment's retry policy
    allows. Attempts are kept, whatever became of them.

    Args:
        watcher: told of every attempt.
    """
    tally = Tally()
    retries = int((manifest.experiment.get("retry") or {}).get("infrastructure", 2))
    for planned in manifest.plan:
        lines = [line for line in run.index() if line.trial == planned.trial]
        if any(not line.infrastructure for line in lines):
            tally.skipped += 1
            continue
        _run_trial(run, planned, retries, tally, watcher)
    return tally


def _run_trial(run: RunFolder, planned: TrialPlanned, retries: int, tally: Tally, watcher: Watcher) -> None:
    while True:
        tried = {line.attempt for line in run.index() if line.trial == planned.trial}
        if len(tried) > retries:
            lines = [line for line in run.index() if line.trial == planned.trial]
            tally.given_up[planned.trial] = lines[-1].note if lines else "no attempt could be started"
            return
        attempt = max(tried, default=0) + 1
        job = TrialJob(run=str(run.folder.resolve()), trial=planned.trial, attempt=attempt)
        watcher.began(planned.trial, attempt)
        done = start_worker(run, job, watcher)
        watcher.ended(planned.trial, done)
        if not done.infrastructure:
            tally.done[planned.trial] = done
            return


def start_worker(run: RunFolder, job: TrialJob, watcher: Watcher) -> TrialDone:
    """Run one attempt in a process of its own; a process that dies gives an infrastructure end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial.trial.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    counter = StepCounter(run.journal_path(job.trial, job.attempt))
    job_line: bytes | None = msgspec.json.encode(job)
    while True:
        try:
            answer, problems = process.communicate(job_line, timeout=LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            job_line = None
            watcher.moved(job.trial, counter.look())
    if process.returncode == 0:
        return msgspec.json.decode(answer, type=TrialDone)
    run.attempt_folder(job.trial, job.attempt).mkdir(parents=True, exist_ok=True)
    (run.attempt_folder(job.trial, job.attempt) / "harness.log").write_bytes(problems)
    said = problems.decode(errors="replace").strip().splitlines()
    note = said[-1] if said else f"the trial's process ended with status {process.returncode}"
    reason = "killed" if process.returncode < 0 else "harness_fault"
    if run.ended(job.trial, job.attempt) is None:
        _write_down(run, job, reason, note)
    return TrialDone(
        trial=job.trial, attempt=job.attempt, stop_reason=reason, infrastructure=True, steps=0, note=note
    )


def _write_down(run: RunFolder, job: TrialJob, reason: str, note: str) -> None:
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
            note=note,
        )
    )
