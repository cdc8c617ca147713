"""METR's run tables: one JSON object a line, one line a run, agents' and people's."""

from collections import Counter
from collections.abc import Collection

from seatrial.importers.json_text import read_lines
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

EXPECTS = "METR's runs as JSON lines, one run a line"
HUMAN = "human"
_REQUIRED = ("run_id", "task_id", "task_family", "alias", "score_binarized", "human_minutes")
# Older tables say score, newer ones score_cont.
_SCORES = ("score", "score_cont")
_USED = frozenset({
    *_REQUIRED, *_SCORES, "started_at", "completed_at", "fatal_error_from", "human_source",
    "invsqrt_task_weight", "generation_cost",
})  # fmt: skip
LIMITED = "usageLimits"
# Who caused a fatal error: only the agent's own says something about the agent.
_AGENT = "agent"
_INFRASTRUCTURE = frozenset({"server", "task", "serverOrTask", "user"})
_KNOWN_ENDS = frozenset({None, LIMITED, _AGENT, *_INFRASTRUCTURE})


def read_metr(request: Request) -> Imported:
    """One record a run; people's runs are those of the system ``human``.

    Raises:
        SpecError: a line is no run, or a value of it cannot be.
        UsageError: names of systems were given.
    """
    request.refuse_systems("metr")
    rows = [row for piece in request.pieces for row in read_lines(piece, EXPECTS)]
    records, seen = [], Seen()
    for row in rows:
        records.append(_record(row, request.experiment))
        seen.add(row, "run_id", records[-1].trial)
    columns = {column for row in rows for column in row.values}
    return Imported(records, _limits(records, columns))


def _record(row: Row, experiment: str) -> TrialRecord:
    row.require(_REQUIRED, EXPECTS)
    stopped = row.maybe_text("fatal_error_from")
    strict = row.flag("score_binarized")
    if stopped in _INFRASTRUCTURE:
        strict = None
    known = stopped in _KNOWN_ENDS
    return TrialRecord(
        experiment=experiment,
        trial=row.text("run_id"),
        attempt=1,
        task=row.text("task_id"),
        task_version=None,
        family=row.text("task_family"),
        system=row.text("alias"),
        arm=BASELINE,
        seed=None,
        terminal_class="infrastructure" if stopped in _INFRASTRUCTURE else class_of(strict),
        stop_reason=stopped,
        censored=stopped == LIMITED if known else None,
        strict_success=strict,
        score=_score(row),
        weight=row.number("invsqrt_task_weight", 0),
        elapsed_us=_elapsed(row),
        money=row.number("generation_cost", 0),
        currency=None if row.number("generation_cost", 0) is None else "USD",
        human_minutes=_minutes(row),
        human_source=row.maybe_text("human_source"),
    )


def _score(row: Row) -> float | None:
    names = [name for name in _SCORES if name in row.values]
    if len(names) > 1:
        raise row.fault(names[1], f"is there beside {names[0]}", "Leave one of the two out")
    return row.number(names[0]) if names else None


def _minutes(row: Row) -> float | None:
    minutes = row.number("human_minutes", 0)
    if minutes == 0:
        raise row.fault("human_minutes", "0 is no human time", "Write minutes above 0, or null where unknown")
    return minutes


def _elapsed(row: Row) -> int | None:
    """Microseconds of the run; the columns hold milliseconds, people's begin at 0."""
    begun, ended = row.whole("started_at"), row.whole("completed_at")
    if begun is None or ended is None:
        return None
    if ended < begun:
        raise row.fault(
            "completed_at", f"{ended} lies before started_at ({begun})", "Correct one, or make it null"
        )
    return (ended - begun) * 1000


def _limits(records: list[TrialRecord], columns: Collection[str]) -> list[str]:
    agents = [record for record in records if record.system != HUMAN]
    limited = [record for record in agents if record.censored]
    strange = Counter(r.stop_reason for r in records if r.stop_reason not in _KNOWN_ENDS)
    lost = sum(record.terminal_class == "infrastructure" for record in records)
    sources = Counter(record.human_source or "no source" for record in agents)
    limits = [
        "Length is human_minutes: METR's figure for how long a skilled person takes; by runs of agents: "
        + ", ".join(f"{count} {word}" for word, count in sorted(sources.items()))
        + ".",
        "score is METR's own; strict_success is score_binarized, METR's threshold of each task.",
        "weight is invsqrt_task_weight; equal_task_weight is not held, since it follows from the counts.",
        f"{len(limited)} of {len(agents)} runs of agents ended at a limit of their use and are censored; "
        f"{sum(record.strict_success is True for record in limited)} of these were successes all the same.",
        f"{len(records) - len(agents)} runs are people's: system {HUMAN!r}. They are no agent's.",
        NO_CONSTRAINTS,
    ]
    if lost:
        limits.append(f"{lost} runs ended by a fault of server, task or user: infrastructure, no verdict.")
    for word, count in sorted(strange.items(), key=str):
        limits.append(
            f"{count} runs ended by {word!r}, which is not known here: whether censored is unknown."
        )
    return limits + unused_columns([name for name in columns if name not in _USED])
