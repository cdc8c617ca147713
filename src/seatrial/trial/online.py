"""Judging while the trial runs: for early stops, and for triggers that wait until a subgoal is verified."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from seatrial.gateway.attend import Asked, Idle
from seatrial.journal.entries import Entry, State
from seatrial.journal.events import ActionFinished, SubgoalJudged
from seatrial.journal.writer import JournalWriter
from seatrial.records.verdicts import VerdictRow
from seatrial.spec.credit import credited
from seatrial.trial.attempt import Attempt
from seatrial.verify.engine import Judge


class OnlineJudge(Idle):
    """Says at which commit a subgoal first passes, and whether the state is a success. List it first.

    A subgoal is judged again only when something it reads has changed. Nothing of it is on the trial clock.

    Args:
        judge: of the trial's task.
        journal: each new verdict is written there, labelled ``online``.
        base: the state of the proven reset.
        awaited: ids of subgoals whose first pass somebody waits for: from the first commit on, until each has
            passed once; only its own verdict counts, not those of its prerequisites.
        early: whether ``succeeded`` will be asked.

    Attributes:
        fresh: subgoals that passed for the first time at the commit under way.
        listeners: called with a subgoal and the step when it first passes.
    """

    def __init__(
        self, judge: Judge, journal: JournalWriter, base: State, awaited: Collection[str], early: bool
    ) -> None:
        self._judge, self._journal = judge, journal
        self._waiting = sorted(awaited)
        self._subgoals = [s for s in judge.task.subgoal if early or s.id in awaited]
        self._stale = {subgoal.id for subgoal in self._subgoals}
        self._known: dict[str, VerdictRow] = {}
        self._step = 0
        for subgoal in self._subgoals:
            judge.follower(subgoal).become(base)
        self.fresh: list[str] = []
        self.listeners: list[Callable[[str, int], None]] = []

    def moved(self, changes: list[Entry]) -> None:
        """Take in what changed in the state; for ``Gateway.on_change``."""
        followers = {tuple(s.reads): self._judge.follower(s) for s in self._subgoals}
        moved = {reads for reads, follower in followers.items() if follower.apply(changes)}
        self._stale |= {subgoal.id for subgoal in self._subgoals if tuple(subgoal.reads) in moved}

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Judge the awaited subgoals that could have come to pass."""
        self._step = asked.step
        self.fresh = [name for name in self._waiting if name in self._stale and self._passes(name)]
        self._waiting = [name for name in self._waiting if name not in self.fresh]
        for name in self.fresh:
            for listener in self.listeners:
                listener(name, asked.step)

    def succeeded(self, goal_version: int) -> bool:
        """Whether every required subgoal of a goal version is credited in the state as it is now."""
        task = self._judge.task
        # What is to be surfaced is said at the end, so that no state alone is a success.
        if any(goal.expect is not None for goal in task.goal if goal.version == goal_version):
            return False
        subgoals = task.subgoals_for(goal_version)
        credit = credited(task, {s.id for s in subgoals if self._passes(s.id)}, goal_version)
        return all(s.id in credit for s in subgoals if s.required)

    def _passes(self, name: str) -> bool:
        """The verdict on what a subgoal reads now; written down where it, or what it rests on, is new."""
        if name in self._stale:
            self._stale.discard(name)
            row, before = self._judge.judge_followed(name, self._step), self._known.get(name)
            self._known[name] = row
            if before is None or (before.verdict, before.reads) != (row.verdict, row.reads):
                self._journal.append(
                    SubgoalJudged(step=self._step, subgoal=name, verdict=row.verdict, reads=row.reads)
                )
        return self._known[name].verdict == "pass"


@contextmanager
def online_judge(
    attempt: Attempt, journal: JournalWriter, base: State, awaited: Collection[str], early: bool
) -> Iterator[OnlineJudge]:
    """An ``OnlineJudge`` of an attempt, with verifiers laid out while it is needed."""
    scratch = str(attempt.run.folder / "scratch")
    with Judge(attempt.host, scratch, attempt.run, attempt.task) as judge:
        yield OnlineJudge(judge, journal, base, awaited, early)
