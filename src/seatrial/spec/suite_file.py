"""A suite (``seatrial/suite@1``): frozen tasks by folder and digest; `seatrial suite freeze` writes it."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.spec.faults import Source, shown
from seatrial.spec.reading import check_schema, convert, read_toml
from seatrial.spec.task import Strict, Task

SCHEMA = "seatrial/suite@1"
ENDING = ".suite.toml"


class FrozenTask(Strict, frozen=True, kw_only=True):
    """One task of a suite.

    Attributes:
        folder: relative to the suite file.
        digest: of the task's whole folder when it was frozen.
        calibrated: when its calibration was made (RFC 3339).
        anchor: kept from release to release to link them (A11); the others are fresh.
    """

    id: str
    version: str
    folder: str
    digest: str
    calibrated: str
    group: str | None = None
    anchor: bool = False


class Suite(Strict, frozen=True, kw_only=True):
    """The whole file. ``state`` is the suite's place in its life (A12)."""

    schema: str
    name: str
    frozen: str
    task: list[FrozenTask]
    state: Literal["frozen", "released", "superseded", "retired"] = "frozen"
    reason: str = ""


def load_suite(path: Path) -> Suite:
    """Read and check a suite file.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    source = Source(str(path))
    raw = read_toml(path)
    check_schema(source, raw, SCHEMA)
    suite = convert(source, raw, Suite)
    name = path.name.removesuffix(ENDING)
    if suite.name != name:
        raise source.fault(
            "name", f"{shown(suite.name)} is not the name of the file", f"Write name = {shown(name)}, or "
            f"call the file {suite.name}{ENDING}",
        )  # fmt: skip
    if not suite.task:
        raise source.fault("task", "the suite holds no task", "Freeze it anew with `seatrial suite freeze`")
    seen: set[str] = set()
    for index, task in enumerate(suite.task):
        place = f"task[{index}]"
        if task.id in seen:
            raise source.fault(f"{place}.id", f"{shown(task.id)} is there twice", "Remove one of them")
        if not os.path.isdir(path.parent / task.folder):
            raise source.fault(
                f"{place}.folder", f"there is no folder {shown(task.folder)} in {path.parent}",
                "Put the task back or freeze the suite anew",
            )  # fmt: skip
        seen.add(task.id)
    return suite


def check_frozen(source: Source, place: str, frozen: FrozenTask, task: Task, digest: str) -> None:
    """Refuse what a suite says of a task that is not so.

    Args:
        source: the suite file.
        place: the task's key path there.
        frozen: what the file says.
        task: as it is in the folder now.
        digest: of the folder.

    Raises:
        SpecError: the folder is no longer what was frozen, or the file says otherwise than the folder.
    """
    if digest != frozen.digest:
        raise source.fault(
            place,
            f"{frozen.id}: {frozen.folder} is now {digest[:12]} and was frozen as {frozen.digest[:12]}",
            "Restore the folder, or give the task a new version and freeze the suite again",
        )  # fmt: skip
    # The digest covers the folder; these are the suite's own words about it.
    said = {"id": frozen.id, "version": frozen.version, "group": frozen.group}
    holds = {"id": task.id, "version": task.version, "group": task.horizon.group}
    for key, value in said.items():
        if value != holds[key]:
            raise source.fault(
                f"{place}.{key}", f"{shown(value)}; the task in {frozen.folder} says {shown(holds[key])}",
                "Freeze the suite anew with `seatrial suite freeze`",
            )  # fmt: skip


def plain(suite: Suite) -> dict[str, object]:
    """The suite as plain data without nulls, which TOML has not."""
    built = msgspec.to_builtins(suite)
    built["task"] = [
        {key: value for key, value in task.items() if value is not None} for task in built["task"]
    ]
    return dict(built)
