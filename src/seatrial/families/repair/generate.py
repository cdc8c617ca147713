"""From a package and a seed to a task folder."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from seatrial.errors import EnvironmentFault, UsageError
from seatrial.families.repair.build import build_instance
from seatrial.families.repair.check import check_instance
from seatrial.families.repair.folder import task_files, write_files
from seatrial.families.repair.packages import PACKAGES
from seatrial.families.repair.sdist import archive_of


@dataclass(frozen=True)
class RepairOptions:
    """How a task is generated.

    Attributes:
        check: play every script against every verifier before the folder is put in place.
    """

    check: bool = True


def generate(package: str, seed: int, out: Path, cache: Path, options: RepairOptions | None = None) -> Path:
    """Writes a complete task folder; the same seed gives the same bytes.

    Args:
        package: a name in ``PACKAGES``.
        seed: chooses functions, faults, words, data and hidden inputs.
        out: the task's folder; it must not exist, or be empty.
        cache: folder in which source archives are kept.
        options: see ``RepairOptions``.

    Returns:
        The task's folder.

    Raises:
        UsageError: unknown package, or the folder is taken.
        SpecError: the archive is not the pinned one, or no task can be made of it.
        EnvironmentFault: the archive could not be fetched, or the folder could not be written.
    """
    entry = PACKAGES.get(package)
    if entry is None:
        raise UsageError(
            f"there is no package {package!r} in the repair family. Choose one of {', '.join(PACKAGES)}"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is already there. Name a new folder or remove it first")
    files = task_files(build_instance(entry, seed, archive_of(entry, cache)))
    staging: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}-"))
        staging.chmod(0o755)
        write_files(files, staging)
        if (options or RepairOptions()).check:
            check_instance(staging)
        # Replaces an empty folder too; nothing half-written is ever seen at the name.
        os.replace(staging, out)
    except OSError as fault:
        raise EnvironmentFault(f"cannot write {out}: {fault}. Free space or name another folder") from fault
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
    return out
