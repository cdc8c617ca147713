"""Puts the folder of a generated task in its place, whole or not at all."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import EnvironmentFault, UsageError
from seatrial.spec.loading import load_task

Files = dict[str, tuple[str, int]]


def json_text(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def require_free(out: Path) -> None:
    """Refuses a folder that holds something.

    Raises:
        UsageError: it does.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is already there. Name a new folder or remove it first")


def place(
    files: Mapping[str, tuple[str, int]], out: Path, building: str, prove: Callable[[Path], None]
) -> None:
    """Write a task's folder, prove it and move it to its place.

    Args:
        files: text and mode by relative path.
        out: the task's folder; see ``require_free``.
        building: beginning of the name of the folder it is built in. That stands beside ``out``, since only
            there can it be moved to its place in one step.
        prove: raises if the folder that it is given is no good task.

    Raises:
        SpecError: the files are no task.
        EnvironmentFault: the folder could not be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(building, out.parent) as staging:
            staging.chmod(0o755)
            write_files(files, staging)
            load_task(staging)
            prove(staging)
            # Replaces an empty folder too; nothing half-written is ever seen at the name.
            os.replace(staging, out)
    except OSError as fault:
        raise EnvironmentFault(f"cannot write {out}: {fault}. Free space or name another folder") from fault


def write_files(files: Mapping[str, tuple[str, int]], folder: Path) -> None:
    """Writes a folder."""
    for path, (text, mode) in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        os.chmod(target, mode)
