"""Makes a new task: small, complete and clean, to be changed into the author's own."""

import contextlib
import os
import shutil
import tempfile
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from seatrial.errors import UsageError
from seatrial.spec.faults import NAME, NAME_RULE
from seatrial.spec.loading import LoadedTask, load_task

ID_MARK = "family/name"
SKELETON = "skeleton"


def new_task(folder: Path, task_id: str) -> LoadedTask:
    """Write a new task folder, whole or not at all.

    Args:
        folder: must not exist, or be an empty folder; missing parents are made.
        task_id: ``family/name``.

    Returns:
        The task as loaded from its new folder.

    Raises:
        UsageError: the folder is in use, the id is no id, or the disk refused.
    """
    family, slash, name = task_id.partition("/")
    if not slash or not NAME.fullmatch(family) or not NAME.fullmatch(name):
        raise UsageError(f"task id {task_id!r}: is not family/name. {NAME_RULE} on each side of one '/'.")
    folder = Path(folder)
    _refuse_used(folder)
    try:
        _build(folder, task_id)
    except OSError as fault:
        raise UsageError(
            f"{folder}: cannot be written: {fault.strerror or fault}. Choose another place."
        ) from fault
    return load_task(folder)


def _refuse_used(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError(f"{folder}: exists and is no folder. Choose another place.")
    inside = sorted(os.listdir(folder))
    if inside:
        raise UsageError(f"{folder}: is not empty (it holds {inside[0]!r}). Choose another place.")


def _build(folder: Path, task_id: str) -> None:
    """Build beside the target and move it there in one step."""
    missing = [parent for parent in folder.parents if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=".new-task-", dir=folder.parent))
    try:
        _copy(resources.files("seatrial.spec").joinpath(SKELETON), building)
        declaration = building / "task.toml"
        declaration.write_text(
            declaration.read_text(encoding="utf-8").replace(ID_MARK, task_id), encoding="utf-8"
        )
        load_task(building)
        # mkdtemp makes folders private; a task is as readable as its author's other files.
        umask = os.umask(0)
        os.umask(umask)
        building.chmod(0o777 & ~umask)
        building.rename(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def _copy(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        path = target / entry.name
        if entry.is_dir():
            path.mkdir()
            _copy(entry, path)
            continue
        path.write_bytes(entry.read_bytes())
        # Not every way of installing a package keeps run bits.
        if path.suffix == ".sh":
            path.chmod(path.stat().st_mode | 0o111)
