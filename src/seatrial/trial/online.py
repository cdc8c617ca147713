"""Judging while the trial runs, for experiments that stop at the first success."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatrial.environment.confine.host import Host
from seatrial.gateway.gateway import Judgement
from seatrial.journal.entries import State
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.spec.credit import credited
from seatrial.verify.engine import Judge


@contextmanager
def online_judge(
    run: RunFolder, task: TaskFrozen, host: Host
) -> Iterator[Callable[[State], tuple[list[Judgement], bool]]]:
    """A judge of the state as it is: its verdicts, and whether every required subgoal is credited."""
    with Judge(host, str(run.folder / "scratch"), run, task) as judge:
        spec = judge.task
        subgoals = spec.subgoals_for(1)

        def verdicts(state: State) -> tuple[list[Judgement], bool]:
            rows = [judge.judge(state, subgoal.id) for subgoal in subgoals]
            passed = credited(spec, {row.subgoal for row in rows if row.verdict == "pass"}, 1)
            success = all(s.id in passed for s in subgoals if s.required)
            return [Judgement(row.subgoal, row.verdict, row.reads) for row in rows], success

        yield verdicts
