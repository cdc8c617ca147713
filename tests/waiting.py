"""Waiting for what another process makes, while it also takes other things away."""

import glob
import subprocess
import time

PATIENCE = 120.0
"""Seconds after which a wait is a fault; a busy machine needs more than a quiet one."""


def appears(process: subprocess.Popen[str], pattern: str) -> None:
    """Wait until a path matches; fail if the process ends before that.

    ``pathlib`` raises when a folder goes away while it is searched; the ``glob`` module passes over it.
    """
    deadline = time.monotonic() + PATIENCE
    while not glob.glob(pattern):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"nothing matches {pattern}"
        time.sleep(0.01)
