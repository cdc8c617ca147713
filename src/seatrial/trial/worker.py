"""The process of one trial: ``python -m seatrial.trial.worker``, a job on stdin, the answer on stdout.

A process of its own, so that a crash or a kill takes its mounts and its sandboxes along and nothing else.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from seatrial.environment.host import prepare_host, release_host
from seatrial.environment.syscalls import die_with_parent
from seatrial.errors import SeatrialError
from seatrial.journal.run import RunFolder
from seatrial.trial.job import TrialJob
from seatrial.trial.judge import judge_attempt
from seatrial.trial.lifecycle import run_trial

USAGE_STATUS = 2


def main() -> int:
    """Run and judge one attempt; exit status 0 when it was written down, whatever became of it."""
    die_with_parent(signal.SIGKILL)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=TrialJob)
    try:
        host = prepare_host(job.slot)
        try:
            run = RunFolder.open(Path(job.run))
            done = run_trial(job, run, host)
            judge_attempt(run, host, job.trial, job.attempt)
        finally:
            release_host(host)
    except SeatrialError as fault:
        print(fault, file=sys.stderr)
        return USAGE_STATUS
    except OSError as fault:
        print(f"{fault.filename or job.run}: {os.strerror(fault.errno or 0)}", file=sys.stderr)
        return USAGE_STATUS
    sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
