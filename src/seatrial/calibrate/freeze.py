"""Freezes calibrated tasks into a suite file: what is named there with its digest may no longer change."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from seatrial.calibrate.oracles import stale_oracles
from seatrial.calibrate.record import require_calibrated
from seatrial.errors import SpecError, UsageError
from seatrial.journal.run import write_whole
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import CALIBRATION_FILE, LoadedTask
from seatrial.spec.suite_file import ENDING, SCHEMA, FrozenTask, Suite, load_suite, plain
from seatrial.spec.toml_text import table_text


def freeze_suite(tasks: Sequence[LoadedTask], out: Path, anchors: Sequence[str] = ()) -> Suite:
    """Write a suite of tasks, whole or not at all.

    A suite file that is there may be frozen anew; a task in it whose digest is another by now must then
    have another version, so that one number never names two tasks.

    Args:
        tasks: in the order they are to have.
        out: ``NAME.suite.toml``; NAME is the suite's name.
        anchors: ids of tasks that link this release to others.

    Raises:
        SpecError: a task is not calibrated, has errors that lint finds, or changed under its version.
        UsageError: the name of the file, an id that stands twice, or an anchor that is none of the tasks.
    """
    if not out.name.endswith(ENDING) or out.name == ENDING:
        raise UsageError(f"{out}: a suite's file is called NAME{ENDING}. Give such a name with -o.")
    ids = [task.spec.id for task in tasks]
    for name, count in Counter(ids).items():
        if count > 1:
            raise UsageError(f"{out}: the id {name!r} stands for {count} tasks. Give each its own id.")
    for anchor in anchors:
        if anchor not in ids:
            raise UsageError(f"--anchor {anchor!r}: is none of the tasks {', '.join(ids)}.")
    before = {task.id: task for task in load_suite(out).task} if out.exists() else {}
    frozen = [_frozen(task, out, task.spec.id in anchors) for task in tasks]
    for task in frozen:
        _refuse_same_version(task, before.get(task.id), out)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    suite = Suite(schema=SCHEMA, name=out.name.removesuffix(ENDING), frozen=now, task=frozen)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, _text(suite).encode())
    return suite


def _frozen(task: LoadedTask, out: Path, anchor: bool) -> FrozenTask:
    calibration = require_calibrated(task)
    stale = stale_oracles(task, calibration.oracles or [])
    if stale is not None:
        raise SpecError(str(task.folder / CALIBRATION_FILE), "oracles", stale, "Calibrate the task again")
    errors = [finding for finding in lint_task(task) if finding.level == "error"]
    if errors:
        first = errors[0]
        raise SpecError(task.file, first.place, first.problem, f"{first.remedy}, then calibrate it again")
    return FrozenTask(
        id=task.spec.id, version=task.spec.version, digest=task.digest, calibrated=calibration.created,
        folder=os.path.relpath(task.folder.resolve(), out.parent.resolve()), group=task.spec.horizon.group,
        anchor=anchor,
    )  # fmt: skip


def _refuse_same_version(task: FrozenTask, before: FrozenTask | None, out: Path) -> None:
    if before is not None and before.version == task.version and before.digest != task.digest:
        raise SpecError(
            str(out), f"task {task.id!r}",
            f"was frozen as version {before.version} with digest {before.digest[:12]}; it is now "
            f"{task.digest[:12]}",
            "Give it a new version: last place for an equivalent repair, first for a change of meaning",
        )  # fmt: skip


def _text(suite: Suite) -> str:
    built = plain(suite)
    tasks = built.pop("task")
    assert isinstance(tasks, list)
    return "\n".join([table_text("", built), *(table_text("[task]", task) for task in tasks)])
