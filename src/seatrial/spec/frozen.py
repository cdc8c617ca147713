"""Reads back what a manifest has frozen."""

from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.run import TaskFrozen
from seatrial.spec.task import Task


def frozen_task(frozen: TaskFrozen, folder: Path) -> Task:
    """A task as the manifest froze it.

    Args:
        folder: of the run, for the error.

    Raises:
        JournalError: the manifest's copy does not read as a task.
    """
    try:
        return msgspec.convert(frozen.spec, Task)
    except msgspec.ValidationError as fault:
        raise JournalError(
            f"{folder / 'manifest.json'}: task {frozen.id!r}: {fault}. Restore it from a copy of the run."
        ) from fault
