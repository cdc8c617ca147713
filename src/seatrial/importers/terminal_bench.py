"""Terminal-Bench: ``results.json`` of trials and of whole runs, with the run's lock file."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from seatrial.errors import SpecError
from seatrial.importers.json_text import read_object
from seatrial.importers.request import NO_CONSTRAINTS, Imported, Piece, Request, class_of
from seatrial.importers.rows import Row
from seatrial.importers.terminal_bench_runs import Run, Trial, runs_of
from seatrial.records.arms import BASELINE
from seatrial.records.trial import TerminalClass, TrialRecord
from seatrial.spec.faults import choose, shown

EXPECTS = "results of Terminal-Bench: a run's folder, an archive of it, or its results.json"
TIMEOUT = "agent_timeout"
# Ends at which the system never got to act.
_INFRASTRUCTURE = frozenset({"agent_installation_failed"})
# Only these say that no time limit cut the agent off: the source keeps one failure mode a trial, so that
# "parse_error" or "test_timeout" may have replaced an agent's timeout.
_UNCUT = frozenset({"unset", "none"})
_REPEAT = re.compile(r"\.([1-9][0-9]{0,5})-of-[0-9]+(\.|$)")
_TESTS = ("passed", "failed")


def read_terminal_bench(request: Request) -> Imported:
    """One record a trial, from its own file or, where it has none, from its run's list of results.

    Raises:
        SpecError: a file is no such result, or a trial's own file and its run's list contradict each other.
    """
    runs = [run for source in range(len(request.labels)) for run in _runs(request, source)]
    records = [_record(request, run, trial) for run in runs for trial in run.trials]
    return Imported(records, _limits(runs, records), _mixed(runs))


def _runs(request: Request, source: int) -> list[Run]:
    pieces: list[tuple[Piece, dict[str, Any]]] = [
        (piece, read_object(piece, EXPECTS)) for piece in request.pieces if piece.source == source
    ]
    runs = runs_of(pieces, EXPECTS)
    if not any(run.trials for run in runs):
        raise SpecError(request.labels[source], "", "holds no trial", f"Give {EXPECTS}")
    return runs


def _record(request: Request, run: Run, trial: Trial) -> TrialRecord:
    row = trial.row
    system = request.system(run.source)
    batch = run.name or request.labels[run.source]
    mode = row.text("failure_mode")
    strict = row.flag("is_resolved")
    repeat = _REPEAT.search(trial.name)
    score = _share(row)
    counted = not (row.whole("total_input_tokens") == 0 == row.whole("total_output_tokens"))
    return TrialRecord(
        experiment=request.experiment,
        trial=f"{system}/{batch}/{trial.name}",
        attempt=1,
        task=row.text("task_id"),
        task_version=run.dataset,
        family=None,
        system=system,
        arm=BASELINE,
        seed=None,
        batch=batch,
        repeat=None if repeat is None else int(repeat[1]),
        terminal_class=_class(mode, strict),
        stop_reason=mode,
        censored=True if mode == TIMEOUT else (False if mode in _UNCUT else None),
        strict_success=strict,
        score=score,
        input_tokens=row.whole("total_input_tokens") if counted else None,
        output_tokens=row.whole("total_output_tokens") if counted else None,
        elapsed_us=row.microseconds("agent_started_at", "agent_ended_at"),
        contradictions=_contradictions(strict, score),
    )


def _class(mode: str, strict: bool | None) -> TerminalClass:
    return "infrastructure" if strict is None and mode in _INFRASTRUCTURE else class_of(strict)


def _share(row: Row) -> float | None:
    """Share of a trial's tests that passed; null where none was read."""
    tests = row.get("parser_results")
    if tests is None:
        return None
    if not isinstance(tests, dict):
        raise row.fault("parser_results", f"{shown(tests)} is no table of tests", f"Give {EXPECTS}")
    for name, word in tests.items():
        if word not in _TESTS:
            raise row.fault(
                f"parser_results.{name}", f"unknown value {shown(word)}", choose(word, _TESTS, "one of these")
            )
    return sum(word == "passed" for word in tests.values()) / len(tests) if tests else None


def _contradictions(strict: bool | None, score: float | None) -> list[str]:
    if strict is None or score is None or strict == (score == 1):
        return []
    said = "resolved" if strict else "not resolved"
    return [f"is_resolved says {said}, but {score:.3g} of the tests passed"]


def _limits(runs: Sequence[Run], records: Sequence[TrialRecord]) -> list[str]:
    timed_out = [record for record in records if record.stop_reason == TIMEOUT]
    unknown = Counter(r.stop_reason for r in records if r.terminal_class == "unknown")
    listed = sum(trial.listed_only for run in runs for trial in run.trials)
    uncounted = sum(record.output_tokens is None for record in records)
    untimed = sum(record.elapsed_us is None for record in records)
    limits = [
        "Terminal-Bench gives no length: human_minutes is unknown, and a task's time limit does not stand in "
        "for it.",
        "score is the share of a trial's tests that passed; strict_success is is_resolved.",
        f"{len(timed_out)} of {len(records)} trials were cut off by the agent's time limit and are censored; "
        f"{sum(record.strict_success is True for record in timed_out)} of these were resolved all the same.",
        NO_CONSTRAINTS,
    ]
    if unknown:
        words = ", ".join(f"{count} {word}" for word, count in sorted(unknown.items(), key=str))
        limits.append(
            f"{unknown.total()} trials have no verdict ({words}): unknown, bounded both ways, where "
            "Terminal-Bench counts failures. Whether such a trial was cut off as well is unknown."
        )
    if listed:
        limits.append(f"{listed} trials have no file of their own and were read from their run's list.")
    if uncounted:
        limits.append(f"{uncounted} trials have no token counts; 0 for both kinds stands for not counted.")
    if untimed:
        limits.append(f"{untimed} trials have no times of the agent: elapsed_us is unknown.")
    return limits + [line for run in runs for line in run.missing()]


def _mixed(runs: Sequence[Run]) -> list[str]:
    found = []
    for what, values in (
        ("data sets", {run.dataset for run in runs}),
        ("versions of the harness", {run.harness for run in runs}),
        ("time limits' multipliers", {run.timeout_multiplier for run in runs}),
    ):
        if len(values) > 1:
            words = sorted("not said" if value is None else str(value) for value in values)
            found.append(f"Runs of different {what}: {', '.join(words)}.")
    return found
