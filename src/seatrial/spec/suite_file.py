"""A suite (``seatrial/suite@1``): frozen tasks by folder and digest; `seatrial suite freeze` writes it."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.spec.faults import Source, shown
from seatrial.spec.reading import check_schema, convert, read_toml
from seatrial.spec.task import Strict

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


def plain(suite: Suite) -> dict[str, object]:
    """The suite as plain data without nulls, which TOML has not."""
    built = msgspec.to_builtins(suite)
    built["task"] = [
        {key: value for key, value in task.items() if value is not None} for task in built["task"]
    ]
    return dict(built)
