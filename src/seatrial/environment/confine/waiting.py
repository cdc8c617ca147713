"""PID 1 of a sandbox until its first request comes: says that it is there, then becomes ``confine.init``.

Forks of one state are started by the dozen, and more than half of a start would go into importing what only
actions need. Nothing else runs in the sandbox yet, so nobody can meet a PID 1 that is not on its guard.
"""

import os
import select
import sys

READY = b'{"ready": true}'


def main() -> None:
    """Report, wait, take over."""
    control = int(sys.argv[1])
    # A frame of ``confine.init``: two lengths, the header, no payload.
    os.write(control, len(READY).to_bytes(4, "big") + bytes(4) + READY)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.poll()
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    # By its bare name, since importlib itself takes longer to load than all of this.
    __import__("init").main()


if __name__ == "__main__":
    main()
