"""Stands in states that are to be forked: ``python -m seatrial.trial.forks.check PARENT RUN``, places on
stdin.

A process of its own, since it mounts. Before anything is planned it is known that each world comes to be, bit
for bit, on the base of today.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.confine.syscalls import die_with_parent
from seatrial.errors import SeatrialError
from seatrial.journal.run import RunFolder
from seatrial.trial.forks.forking import prove_state
from seatrial.trial.forks.point import read_fork_point
from seatrial.trial.forks.restore import world_at

USAGE_STATUS = 2

Place = tuple[str, int, int]


def stand_in(run: RunFolder, host: Host, place: Place) -> None:
    """Open a world in a recorded state and prove that it is that state.

    Args:
        place: trial, attempt and step.

    Raises:
        SeatrialError: it cannot be stood in.
    """
    world = world_at(run, host, *place)
    try:
        prove_state(world, read_fork_point(run, *place).fingerprint)
    finally:
        world.close()


def main() -> int:
    """Try every place."""
    die_with_parent(signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        return USAGE_STATUS  # the parent died before we could ask to die with it
    run = RunFolder(Path(sys.argv[2]))
    places = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Place])
    try:
        host = prepare_host()
        try:
            for place in places:
                stand_in(run, host, place)
        finally:
            release_host(host)
    except (SeatrialError, OSError) as fault:
        print(fault, file=sys.stderr)
        return USAGE_STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
