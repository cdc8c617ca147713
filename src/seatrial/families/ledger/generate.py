"""From a data set and knobs to a task folder."""

from pathlib import Path

from seatrial.errors import UsageError
from seatrial.families.ledger.book import book_of
from seatrial.families.ledger.folder import task_files
from seatrial.families.ledger.options import Knobs, check_knobs
from seatrial.families.ledger.prove import prove
from seatrial.families.ledger.sources import SOURCES, Archive, entries_of
from seatrial.families.sdist import archive_of
from seatrial.families.task_folder import place, require_free

BUILDING = ".seatrial-ledger-"


def generate(data: str, knobs: Knobs, out: Path, cache: Path) -> Path:
    """Writes a complete task folder; the same knobs give the same bytes.

    Args:
        data: a name in ``SOURCES``.
        knobs: the seed and what makes the task difficult.
        out: the task's folder; it must not exist, or be empty.
        cache: folder in which the source archive is kept.

    Returns:
        The task's folder.

    Raises:
        UsageError: unknown data set, impossible knobs, or the folder is taken.
        SpecError: the archive is not the pinned one, or no task can be made of it.
        EnvironmentFault: the archive could not be fetched, or the folder could not be written.
    """
    source = SOURCES.get(data)
    if source is None:
        raise UsageError(
            f"there is no data set {data!r} in the ledger family. Choose one of {', '.join(SOURCES)}"
        )
    check_knobs(knobs, source)
    require_free(out)
    book = book_of(source, knobs, entries_of(source, archive_of(Archive(), cache)))
    place(task_files(book), out, BUILDING, lambda folder: prove(book, folder))
    return out
