"""Runs the tasks' setup scripts before the first trial: one that fails must not cost attempts."""

import os
import subprocess
import sys

from seatrial.errors import EnvironmentFault, SpecError
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import LoadedExperiment
from seatrial.trial import setup

_REMEDY = "Correct the script. It runs in the task's own sandbox, within its limits and without a network"


def build_setups(loaded: LoadedExperiment, run: RunFolder) -> None:
    """Build the bases of tasks that have a setup script.

    Raises:
        SpecError: a script failed.
        EnvironmentFault: this host could not run one.
    """
    scripts = [task for task in loaded.tasks if task.spec.environment.setup is not None]
    if not scripts:
        return
    command = [sys.executable, "-m", setup.__name__, str(os.getpid()), str(run.folder.resolve())]
    done = subprocess.run(command, capture_output=True, check=False, process_group=0)
    said = " ".join(done.stderr.decode(errors="replace").split())
    if done.returncode == setup.FAILED_STATUS:
        at_fault = next((task for task in scripts if said.startswith(f"task {task.spec.id}: ")), scripts[0])
        raise SpecError(at_fault.file, "environment.setup", said, _REMEDY)
    if done.returncode != 0:
        raise EnvironmentFault(said or f"a setup script's process ended with status {done.returncode}.")
