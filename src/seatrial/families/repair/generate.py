"""From a package and knobs to a task folder."""

import os
from pathlib import Path

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import EnvironmentFault, UsageError
from seatrial.families.repair.build import build_instance
from seatrial.families.repair.check import check_instance
from seatrial.families.repair.folder import task_files, write_files
from seatrial.families.repair.options import Knobs, check_knobs
from seatrial.families.repair.packages import PACKAGES
from seatrial.families.repair.sdist import archive_of
from seatrial.spec.loading import load_task

# Built beside the target, since only there can it be moved to its place in one step.
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
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is already there. Name a new folder or remove it first")
    files = task_files(build_instance(entry, knobs, archive_of(entry, cache)))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(BUILDING, out.parent) as staging:
            staging.chmod(0o755)
            write_files(files, staging)
            load_task(staging)
            if check:
                check_instance(staging)
            # Replaces an empty folder too; nothing half-written is ever seen at the name.
            os.replace(staging, out)
    except OSError as fault:
        raise EnvironmentFault(f"cannot write {out}: {fault}. Free space or name another folder") from fault
    return out
