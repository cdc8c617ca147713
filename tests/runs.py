"""Run folders for tests that look at them or go on with them in their own way."""

from pathlib import Path

from seatrial.journal.run import RunFolder
from seatrial.schedule.open_run import hold_run
from seatrial.spec.loading import LoadedExperiment


def open_run(loaded: LoadedExperiment, folder: Path, unsafe: bool = False) -> RunFolder:
    """Make a run, or go on with one, and let go of it."""
    with hold_run(loaded, folder, unsafe=unsafe) as held:
        return held.run
