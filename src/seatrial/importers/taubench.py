"""τ-bench: a CSV with one line a trial: task_id, agent, trial, reward."""

from seatrial.importers.csv_text import read_csv
from seatrial.importers.request import (
    NO_CONSTRAINTS,
    Imported,
    Request,
    Seen,
    class_of,
    unused_columns,
)
from seatrial.importers.rows import Row
from seatrial.records.arms import BASELINE
from seatrial.records.trial import TrialRecord

EXPECTS = "a CSV of τ-bench trials with the columns task_id, agent, trial, reward"
_REQUIRED = ("task_id", "agent", "trial", "reward")
_USED = frozenset({*_REQUIRED, "n_tool_calls"})


def read_taubench(request: Request) -> Imported:
    """One record a trial; a reward of 1 is a success, as τ-bench counts them.

    Raises:
        SpecError: a column is missing, or a value cannot be.
        UsageError: names of systems were given.
    """
    request.refuse_systems("taubench")
    rows = [row for piece in request.pieces for row in read_csv(piece, EXPECTS, _REQUIRED)]
    columns = {column for row in rows for column in row.values}
    limits = [
        "τ-bench gives no length: human_minutes is unknown, and numbers of messages do not stand in for it.",
        "score is the reward; strict_success is a reward of 1. actions counts tool calls, not messages "
        "to the user.",
        "The cost in the source is that of the simulated user, not of the agent: money is unknown.",
        "repeat is the source's trial number plus 1; whether trials of one number share a seed is unknown.",
        NO_CONSTRAINTS,
    ]
    records, seen = [], Seen()
    for row in rows:
        records.append(_record(row, request.experiment))
        seen.add(row, "trial", records[-1].trial)
    return Imported(records, limits + unused_columns([name for name in columns if name not in _USED]))


def _record(row: Row, experiment: str) -> TrialRecord:
    task, system, number = row.text("task_id"), row.text("agent"), row.parsed("trial").whole("trial")
    if number is None:
        raise row.fault("trial", "there is no value", "Number the trials of a task from 0")
    reward = row.parsed("reward").number("reward", 0)
    if reward is not None and reward > 1:
        raise row.fault("reward", f"{reward:g} is above 1", "Write a reward from 0 to 1")
    strict = None if reward is None else reward == 1
    return TrialRecord(
        experiment=experiment,
        trial=f"{system}/{task}/{number}",
        attempt=1,
        task=task,
        task_version=None,
        family=task.rpartition("/")[0] or None,
        system=system,
        arm=BASELINE,
        seed=None,
        repeat=number + 1,
        terminal_class=class_of(strict),
        strict_success=strict,
        score=reward,
        actions=row.parsed("n_tool_calls").whole("n_tool_calls"),
    )
