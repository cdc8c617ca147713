"""From a package and knobs to a task folder."""

from pathlib import Path

from seatrial.errors import UsageError
from seatrial.families.repair.build import build_instance
from seatrial.families.repair.check import check_instance
from seatrial.families.repair.folder import task_files
from seatrial.families.repair.options import Knobs, check_knobs
from seatrial.families.repair.packages import PACKAGES
from seatrial.families.sdist import archive_of
from seatrial.families.task_folder import place, require_free

BUILDING = ".seatrial-repair-"


def generate(package: str, knobs: Knobs, out: Path, cache: Path, check: bool = True) -> Path:
    """Writes a complete task folder; the same knobs give the same bytes.

    Args:
        package: a name in ``PACKAGES``.
        knobs: the seed and what makes the task difficult.
        out: the task's folder; it must not exist, or be empty.
        cache: folder in which source archives are kept.
        check: play every script against every verifier before the folder is put in place.

    Returns:
        The task's folder.

    Raises:
        UsageError: unknown package, impossible knobs, or the folder is taken.
        SpecError: the archive is not the pinned one, or no task can be made of it.
        EnvironmentFault: the archive could not be fetched, or the folder could not be written.
    """
    entry = PACKAGES.get(package)
    if entry is None:
        raise UsageError(
            f"there is no package {package!r} in the repair family. Choose one of {', '.join(PACKAGES)}"
        )
    check_knobs(knobs, entry)
    require_free(out)
    files = task_files(build_instance(entry, knobs, archive_of(entry, cache)))
    place(files, out, BUILDING, check_instance if check else lambda folder: None)
    return out
