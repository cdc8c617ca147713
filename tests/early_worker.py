"""A worker of the tests without root, in its own user namespace: ``python early_worker.py -u -c CODE``.

A process must enter the namespace before it has threads, and a worker of xdist has them from its first line.
"""

import sys

from seatrial.environment.confine.host import Host, prepare_host
from seatrial.errors import EnvironmentFault

if __name__ == "__main__":
    HOST: Host | EnvironmentFault
    try:
        HOST = prepare_host(slot=100)
    except EnvironmentFault as fault:
        HOST = fault
    exec(sys.argv[-1])
