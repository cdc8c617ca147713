"""Judging while the trial runs, for experiments that stop at the first success."""

from collections.abc import Callable

from seatrial.environment.host import Host
from seatrial.journal.entries import State
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.spec.credit import credited
from seatrial.verify.engine import Judge

Judgement = tuple[str, str, str]


def online_judge(
    run: RunFolder, task: TaskFrozen, host: Host
) -> Callable[[State], tuple[list[Judgement], bool]]:
    """A judge of the state as it is: its verdicts, and whether every required subgoal is credited."""
    judge = Judge(host, str(run.folder / "scratch"), run, task)
    spec = judge.task

    def verdicts(state: State) -> tuple[list[Judgement], bool]:
        rows = [judge.judge(state, subgoal) for subgoal in spec.subgoals_for(1)]
        passed = credited(spec, {row.subgoal for row in rows if row.verdict == "pass"}, 1)
        success = all(s.id in passed for s in spec.subgoals_for(1) if s.required)
        return [(row.subgoal, row.verdict, row.reads) for row in rows], success

    return verdicts
