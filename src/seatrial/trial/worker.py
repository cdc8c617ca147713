"""One trial's process: ``python -m seatrial.trial.worker RUNNER_PID``, a job on stdin, the answer on stdout.

A process of its own, so that a crash or a kill takes its mounts and its sandboxes along and nothing else.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from seatrial.environment.confine.host import prepare_host, release_host
from seatrial.environment.confine.syscalls import die_with_parent
from seatrial.errors import JournalError, SeatrialError, out_of_room
from seatrial.journal.events import ActionRequested
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.trial.job import TrialDone, TrialJob, trial_done
from seatrial.trial.judge import judge_attempt
from seatrial.trial.lifecycle import run_trial

USAGE_STATUS = 2
# The disk is full: what failed says nothing about the trial, and nothing else should be started.
NO_ROOM_STATUS = 3


def ended_trial(job: TrialJob, run: RunFolder) -> TrialDone:
    """What the run's index says of an attempt that has ended.

    Raises:
        JournalError: it has not.
    """
    line = run.ended(job.trial, job.attempt)
    if line is None:
        raise JournalError(f"{run.folder}: attempt {job.attempt} of trial {job.trial!r} has not ended.")
    journal = read_journal(run.journal_path(job.trial, job.attempt), line.digest)
    steps = sum(isinstance(event, ActionRequested) for event in journal.events)
    return trial_done(line, steps)


def main() -> int:
    """Run and judge one attempt; exit status 0 when it was written down, whatever became of it."""
    die_with_parent(signal.SIGKILL)
    if len(sys.argv) > 1 and os.getppid() != int(sys.argv[1]):
        return USAGE_STATUS  # the runner died before we could ask to die with it
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=TrialJob)
    try:
        run = RunFolder(Path(job.run))
        manifest = run.manifest()
        host = prepare_host(job.slot, manifest.unsafe)
        try:
            done = ended_trial(job, run) if job.judge_only else run_trial(job, run, manifest, host)
            judge_attempt(run, manifest, host, job.trial, job.attempt)
        finally:
            release_host(host)
    except SeatrialError as fault:
        print(fault, file=sys.stderr)
        return NO_ROOM_STATUS if out_of_room(fault) else USAGE_STATUS
    except OSError as fault:
        print(f"{fault.filename or job.run}: {os.strerror(fault.errno or 0)}", file=sys.stderr)
        return NO_ROOM_STATUS if out_of_room(fault) else USAGE_STATUS
    sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
