"""Small tasks, journals and verdict tables, as values."""

from collections.abc import Mapping, Sequence

from seatrial.journal.events import ActionFinished, ActionRequested, Cost, Event, TrialEnded, TrialStarted
from seatrial.journal.run import TrialPlanned
from seatrial.measure.outcome import final_state
from seatrial.measure.progress import ProgressMeasures, progress_course, progress_curve, progress_measures
from seatrial.measure.verified import last_step
from seatrial.records.verdicts import TrialVerdicts, VerdictRow
from seatrial.spec.task import SCHEMA, Constraint, Forbid, Goal, Subgoal, Task

PLANNED = TrialPlanned(trial="t-1", task="ledger/five", system="careful", arm="baseline", seed=7, repeat=0)
FIVE = ["s1", "s2", "s3", "s4", "s5"]
# The worked example of the sources: step to (subgoal, verdict).
WITHOUT_REPAIR = {
    2: {"s1": "pass"}, 4: {"s2": "pass"}, 7: {"s3": "pass"}, 9: {"s1": "fail"}, 12: {"s4": "pass"},
    15: {"s5": "pass"},
}  # fmt: skip
WITH_REPAIR = {**WITHOUT_REPAIR, 15: {"s5": "pass", "s1": "pass"}}
WITH_REPAIR_CURVE = [(0, 0), (2, 0.2), (4, 0.4), (7, 0.6), (9, 0.4), (12, 0.6), (15, 1.0)]


def subgoals(weights: Mapping[str, float]) -> list[Subgoal]:
    return [Subgoal(id=name, verifier="v.sh", weight=weight) for name, weight in weights.items()]


def make_task(
    subgoal: Sequence[Subgoal] | None = None, constraint: Sequence[Constraint] = (), **more
) -> Task:
    """Five equal subgoals unless given."""
    return Task(
        schema=SCHEMA,
        id="ledger/five",
        version="1.0.0",
        goal=more.pop("goal", [Goal(instruction="instruction.md")]),
        subgoal=list(subgoal or subgoals(dict.fromkeys(FIVE, 1.0))),
        constraint=list(constraint),
        **more,
    )


def hard(name: str = "keep-licence") -> Constraint:
    return Constraint(id=name, forbid=Forbid(write=["files:LICENSE"]))


def soft(name: str = "tidy") -> Constraint:
    return Constraint(id=name, forbid=Forbid(write=["files:tmp/**"]), kind="soft", severity=0.3)


def requested(step: int, tool: str = "shell", **more) -> ActionRequested:
    return ActionRequested(step=step, tool=tool, arguments={}, key=f"k{step}", pre="p", actor="agent", **more)


def finished(step: int, outcome: str = "ok", **more) -> ActionFinished:
    cost = more.pop("cost", Cost(model_us=5, queue_us=0, tool_us=10, approval_us=0, recovery_us=0, cpu_us=8))
    return ActionFinished(step=step, outcome=outcome, pre="p", post="q", observation="o", cost=cost, **more)


def started(trial: str = "t-1", attempt: int = 1, arm: str = "baseline", **more) -> TrialStarted:
    return TrialStarted(
        trial=trial, attempt=attempt, task="ledger/five", system="careful", arm=arm, seed=7, base="b",
        fingerprint="f", reset_proved=True, **more,
    )  # fmt: skip


def events(
    steps: int, stop: str = "finished", extra: Mapping[int, Sequence[Event]] | None = None
) -> list[Event]:
    """A journal of shell actions, the last one ``finish`` when that is how it stops; ``extra`` by step."""
    found: list[Event] = [started()]
    for step in range(1, steps + 1):
        last = step == steps and stop == "finished"
        found += [
            requested(step, "finish" if last else "shell"),
            *(extra or {}).get(step, []),
            finished(step),
        ]
    turn = Cost(model_us=0, queue_us=0)
    return [
        *found,
        TrialEnded(stop_reason=stop, fingerprint="f", elapsed=1_000_000, audit="equal", last_turn=turn),
    ]


def row(subgoal: str, step: int, verdict: str, **more) -> VerdictRow:
    return VerdictRow(subgoal=subgoal, step=step, verdict=verdict, key=f"{subgoal}-{step}", reads="r", **more)


def verdicts(
    moves: Mapping[int, Mapping[str, str]], names: Sequence[str] = tuple(FIVE), final=None, **more
) -> TrialVerdicts:
    """Every subgoal fails at step 0 unless ``moves`` says otherwise; final verdicts follow unless given."""
    course = {0: dict.fromkeys(names, "fail") | dict(moves.get(0, {}))}
    course |= {step: dict(change) for step, change in moves.items() if step}
    rows = [
        row(name, step, verdict)
        for step, change in sorted(course.items())
        for name, verdict in change.items()
    ]
    latest: dict[str, str] = {}
    for found in rows:
        latest[found.subgoal] = found.verdict
    return TrialVerdicts(
        trial="t-1",
        attempt=1,
        every_step=more.pop("every_step", True),
        rows=more.pop("rows", rows),
        final=final if final is not None else {name: [latest[name]] * 3 for name in names},
        **more,
    )


def curve(task: Task, journal: Sequence[Event], table: TrialVerdicts) -> list[tuple[int, float]]:
    """The progress curve of a journal."""
    return progress_curve(progress_course(task, journal, table, final_state(task, journal, table).verified))


def course_measures(task: Task, journal: Sequence[Event], table: TrialVerdicts) -> ProgressMeasures:
    """What is read off it."""
    course = progress_course(task, journal, table, final_state(task, journal, table).verified)
    return progress_measures(course, table, last_step(journal))
