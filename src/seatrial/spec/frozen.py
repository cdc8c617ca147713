"""Reads back what a manifest has frozen."""

import posixpath
from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.run import TaskFrozen
from seatrial.spec.task import Perturbation, Task


def frozen_task(frozen: TaskFrozen, folder: Path) -> Task:
    """A task as the manifest froze it.

    A ``recovered_when`` that names a file of the task (``equal``) has that file's digest in its place, so
    that whoever measures needs no file.

    Args:
        folder: of the run, for the error.

    Raises:
        JournalError: the manifest's copy does not read as a task.
    """
    try:
        task = msgspec.convert(frozen.spec, Task)
    except msgspec.ValidationError as fault:
        raise JournalError(
            f"{folder / 'manifest.json'}: task {frozen.id!r}: {fault}. Restore it from a copy of the run."
        ) from fault
    perturbations = [with_digest(perturbation, frozen) for perturbation in task.perturbation]
    return msgspec.structs.replace(task, perturbation=perturbations)


def with_digest(perturbation: Perturbation, frozen: TaskFrozen) -> Perturbation:
    """A perturbation whose ``recovered_when`` names no file of the task but its digest."""
    declared = dict(perturbation.recovered_when)
    name = declared.pop("equal", None)
    known = frozen.files.get(posixpath.normpath(name)) if isinstance(name, str) else None
    if known is None:
        return perturbation
    return msgspec.structs.replace(perturbation, recovered_when=declared | {"digest": known[0]})
