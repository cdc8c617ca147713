"""Judging while the trial runs: for early stops, and for triggers that wait until a subgoal is verified."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from seatrial.environment.confine.host import Host
from seatrial.gateway.attend import Asked, Idle
from seatrial.gateway.gateway import Judgement
from seatrial.journal.entries import Entry, State
from seatrial.journal.events import ActionFinished, SubgoalJudged
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.journal.writer import JournalWriter
from seatrial.spec.credit import credited
from seatrial.verify.engine import Judge


@contextmanager
def online_judge(
    run: RunFolder, task: TaskFrozen, host: Host
) -> Iterator[Callable[[State, int], tuple[list[Judgement], bool]]]:
    """A judge of the state as it is under a goal version: its verdicts, and whether every required subgoal
    is credited.
    """
    with Judge(host, str(run.folder / "scratch"), run, task) as judge:
        spec = judge.task

        def verdicts(state: State, goal_version: int) -> tuple[list[Judgement], bool]:
            subgoals = spec.subgoals_for(goal_version)
            rows = [judge.judge(state, subgoal.id) for subgoal in subgoals]
            passed = credited(spec, {row.subgoal for row in rows if row.verdict == "pass"}, goal_version)
            success = all(s.id in passed for s in subgoals if s.required)
            # What is to be surfaced is said at the end, so that no state alone is a success.
            success = success and all(g.expect is None for g in spec.goal if g.version == goal_version)
            return [Judgement(row.subgoal, row.verdict, row.reads) for row in rows], success

        yield verdicts


class FirstVerified(Idle):
    """Says at which commit a subgoal first passes. List it before the attendants that ask.

    A watched subgoal is judged at the first commit and then whenever something it reads has changed, until
    it has passed once; only its own verdict counts, not those of its prerequisites. Nothing of it is on the
    trial clock.

    Args:
        judge: of the trial's task.
        journal: each verdict taken is written there, labelled ``online``.
        base: the state of the proven reset.
        subgoals: ids to watch.

    Attributes:
        fresh: subgoals that passed for the first time at the commit under way.
        listeners: called with a subgoal and the step when it first passes.
    """

    def __init__(self, judge: Judge, journal: JournalWriter, base: State, subgoals: Collection[str]) -> None:
        self._judge, self._journal = judge, journal
        self._waiting = {name: judge.subgoal(name) for name in sorted(subgoals)}
        self._moved = {tuple(subgoal.reads) for subgoal in self._waiting.values()}
        for subgoal in self._waiting.values():
            judge.follower(subgoal).become(base)
        self.fresh: list[str] = []
        self.listeners: list[Callable[[str, int], None]] = []

    def moved(self, changes: list[Entry]) -> None:
        """Take in what changed in the state; for ``Gateway.on_change``."""
        followers = {tuple(s.reads): self._judge.follower(s) for s in self._waiting.values()}
        self._moved |= {reads for reads, follower in followers.items() if follower.apply(changes)}

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Judge the watched subgoals that could have come to pass."""
        self.fresh = []
        moved, self._moved = self._moved, set()
        for name, subgoal in list(self._waiting.items()):
            if tuple(subgoal.reads) not in moved:
                continue
            row = self._judge.judge_followed(name, asked.step)
            self._journal.append(
                SubgoalJudged(step=asked.step, subgoal=name, verdict=row.verdict, reads=row.reads)
            )
            if row.verdict == "pass":
                del self._waiting[name]
                self.fresh.append(name)
        for name in self.fresh:
            for listener in self.listeners:
                listener(name, asked.step)


@contextmanager
def first_verified(
    run: RunFolder, task: TaskFrozen, host: Host, journal: JournalWriter, base: State,
    subgoals: Collection[str],
) -> Iterator[FirstVerified]:  # fmt: skip
    """A ``FirstVerified`` with a judge of its own."""
    with Judge(host, str(run.folder / "scratch"), run, task) as judge:
        yield FirstVerified(judge, journal, base, subgoals)
