"""What stood verified after each step: verdict rows folded along the journal's steps and goal versions.

The state at step k is everything up to the next ``action.requested``; step 0 is the proven reset.
"""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.events import ActionRequested, Event
from seatrial.records.verdicts import TrialVerdicts, VerdictRow
from seatrial.spec.credit import progress
from seatrial.spec.task import Task

# 0.1 + 0.2 + 0.3 over 1.0 is to read 0.6; no weight is meant finer than this.
DIGITS = 12


class Verified(msgspec.Struct, frozen=True):
    """Which of the task's subgoals hold from ``step`` on, and what that is worth under the current goal.

    Subgoals of other goal versions are in it too, since a current one may need them.

    Attributes:
        passed: latest verdict is pass.
        failed: latest verdict is fail, or an error that the product triggers.
        unknown: not judged, unknown, or an error of the verifier's own.
        low: verified progress, in [0, 1]: nothing unknown is credited.
        high: what it would be if everything unknown passed, in [0, 1].
    """

    step: int
    goal_version: int
    passed: frozenset[str]
    failed: frozenset[str]
    unknown: frozenset[str]
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether progress is the same whatever the unknown verdicts are."""
        return self.low == self.high


def verified_at(task: Task, step: int, goal_version: int, verdicts: dict[str, bool | None]) -> Verified:
    """Sort the task's subgoals by verdict (true, false, null for unknown) and credit the current goal's."""
    names = {subgoal.id for subgoal in task.subgoal}
    passed = {name for name in names if verdicts.get(name) is True}
    failed = {name for name in names if verdicts.get(name) is False}
    unknown = names - passed - failed
    return Verified(
        step=step,
        goal_version=goal_version,
        passed=frozenset(passed),
        failed=frozenset(failed),
        unknown=frozenset(unknown),
        low=round(progress(task, passed, goal_version), DIGITS),
        high=round(progress(task, passed | unknown, goal_version), DIGITS),
    )


def row_passes(row: VerdictRow) -> bool | None:
    """What one row says of its subgoal: passed, not passed, or unknown."""
    if row.verdict == "pass":
        return True
    if row.verdict == "fail" or (row.verdict == "error" and row.product_triggered):
        return False
    return None


def last_step(events: Iterable[Event]) -> int:
    """Number of the last action requested; 0 when there was none."""
    return max((event.step for event in events if isinstance(event, ActionRequested)), default=0)


def goal_changes(events: Iterable[Event]) -> dict[int, int]:
    """Steps at which the goal version rises, step 0 included, each with the version from then on."""
    changes, step, version = {0: 1}, 0, 1
    for event in events:
        if isinstance(event, ActionRequested):
            step = event.step
        if event.goal_version > version or step == 0:
            version = max(version, event.goal_version)
            changes[step] = version
    return changes


def verified_course(task: Task, events: Sequence[Event], verdicts: TrialVerdicts) -> list[Verified]:
    """What is verified from each step on at which a verdict or the goal version changes, step 0 included.

    Raises:
        JournalError: the verdict table does not belong to this journal and task.
    """
    end = last_step(events)
    check_fits(task, events, verdicts)
    changes = goal_changes(events)
    rows: dict[int, list[VerdictRow]] = {}
    for row in verdicts.rows:
        rows.setdefault(row.step, []).append(row)
    current: dict[str, bool | None] = {}
    version, found = 1, []
    for step in sorted({0} | set(rows) | {s for s in changes if s <= end}):
        version = changes.get(step, version)
        current |= {row.subgoal: row_passes(row) for row in rows.get(step, [])}
        found.append(verified_at(task, step, version, current))
    return found


def check_fits(task: Task, events: Sequence[Event], verdicts: TrialVerdicts) -> None:
    """Refuse a verdict table made from another journal or another task.

    Raises:
        JournalError: a row names a step or a subgoal that is not there, or the goal version differs.
    """
    where = f"verdicts of {verdicts.trial}, attempt {verdicts.attempt}"
    remedy = "The table is stale: judge the run again with `seatrial verify RUN`."
    end, known = last_step(events), {subgoal.id for subgoal in task.subgoal}
    for row in verdicts.rows:
        if not 0 <= row.step <= end:
            raise JournalError(f"{where}: speak of step {row.step}, the journal ends at {end}. {remedy}")
    strange = ({row.subgoal for row in verdicts.rows} | set(verdicts.final)) - known
    if strange:
        raise JournalError(f"{where}: name subgoals the task has not: {sorted(strange)}. {remedy}")
    version = max(goal_changes(events).values())
    if verdicts.goal_version != version and (verdicts.rows or verdicts.final):
        raise JournalError(
            f"{where}: are for goal version {verdicts.goal_version}, the journal ends under {version}. "
            f"{remedy}"
        )
