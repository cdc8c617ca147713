"""Each subgoal's verdicts along the steps of a trial, as spells of passing."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from seatrial.measure.verified import row_passes
from seatrial.records.verdicts import TrialVerdicts


class VerdictCourse:
    """What each subgoal's verdict was after each step: true, false, or null for unknown.

    Attributes:
        stepwise: every step was judged; otherwise nothing is known before the end.
    """

    def __init__(self, verdicts: TrialVerdicts) -> None:
        self.stepwise = verdicts.every_step and bool(verdicts.rows)
        self._steps: dict[str, list[int]] = {}
        self._values: dict[str, list[bool | None]] = {}
        for row in sorted(verdicts.rows, key=lambda row: row.step) if self.stepwise else ():
            self._steps.setdefault(row.subgoal, []).append(row.step)
            self._values.setdefault(row.subgoal, []).append(row_passes(row))

    def at(self, subgoal: str, step: int) -> bool | None:
        """The verdict that holds after a step."""
        place = bisect_right(self._steps.get(subgoal, []), step) - 1
        return self._values[subgoal][place] if place >= 0 else None

    def passing(self, step: int) -> set[str]:
        """Subgoals whose verdict after a step is pass."""
        return {name for name in self._steps if self.at(name, step) is True}

    def turns(self, subgoal: str) -> list[tuple[int, bool | None, bool | None]]:
        """Steps at which the verdict moves: step, before, after; the first verdict has null before."""
        found: list[tuple[int, bool | None, bool | None]] = []
        before: bool | None = None
        rows = zip(self._steps.get(subgoal, []), self._values.get(subgoal, []), strict=True)
        for number, (step, value) in enumerate(rows):
            if number == 0 or value is not before:
                found.append((step, before, value))
            before = value
        return found

    def holds_from(self, subgoals: Sequence[str], since: int) -> int | None:
        """First step at or after ``since`` from which all pass up to the end.

        Null when one of them does not pass at the end, and where an unknown verdict hides since when it has.
        """
        if not self.stepwise or not subgoals:
            return None
        latest = since
        for name in subgoals:
            turns = self.turns(name)
            if not turns or turns[-1][2] is not True:
                return None
            step, before, _ = turns[-1]
            if before is None and step > since:
                return None
            latest = max(latest, step)
        return latest

    def first_rise(self, subgoals: Iterable[str], after: int) -> int | None:
        """First step beyond ``after`` at which one of them turns to pass; null when none does."""
        rises = [
            step for name in subgoals for step, _, value in self.turns(name) if value is True and step > after
        ]
        return min(rises, default=None)

    def judged_between(self, subgoals: Iterable[str], since: int) -> bool:
        """Whether every verdict from a step on is a clear one."""
        return all(
            value is not None
            for name in subgoals
            for step, value in zip(self._steps.get(name, []), self._values.get(name, []), strict=True)
            if step > since
        ) and all(self.at(name, since) is not None for name in subgoals)
