"""Builds the bases of a run's tasks: ``python -m seatrial.trial.setup PARENT RUN``, before any trial.

A process of its own, since it mounts. Exit status 4 when a task's own setup script failed.
"""

import os
import signal
import sys
from pathlib import Path

from seatrial.environment.confine.host import prepare_host, release_host
from seatrial.environment.confine.syscalls import die_with_parent
from seatrial.errors import SeatrialError, SpecError
from seatrial.journal.run import RunFolder
from seatrial.trial.ground import prepare_ground

USAGE_STATUS = 2
# The task is at fault; any other trouble is the host's.
FAILED_STATUS = 4


def main() -> int:
    """Build what is not there yet."""
    die_with_parent(signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        return USAGE_STATUS  # the parent died before we could ask to die with it
    run = RunFolder(Path(sys.argv[2]))
    try:
        manifest = run.manifest()
        host = prepare_host(unsafe=manifest.unsafe)
        try:
            for task in manifest.tasks:
                if task.spec.get("environment", {}).get("setup") is not None:
                    prepare_ground(run, task, host)
        finally:
            release_host(host)
    except SpecError as fault:
        print(fault.problem, file=sys.stderr)
        return FAILED_STATUS
    except (SeatrialError, OSError) as fault:
        print(fault, file=sys.stderr)
        return USAGE_STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
