"""Writes a report: ``index.html``, ``report.json``, ``tables/*.csv`` and ``figures/*.svg``."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seatrial.errors import JournalError, UsageError
from seatrial.evidence.read import AttemptEvidence, RunEvidence, read_run
from seatrial.journal.run import write_json, write_whole
from seatrial.records.table import refuse_duplicates
from seatrial.report.cases import shown_attempts
from seatrial.report.comparisons import compare_systems, flat_comparison
from seatrial.report.encounters import encounter_lines
from seatrial.report.figures import progress_svg
from seatrial.report.findings import conclusions, limits
from seatrial.report.forks import effect_rows, forks_report
from seatrial.report.headline import headline
from seatrial.report.intervals import Intervals, rate_table
from seatrial.report.page import PageContent, render
from seatrial.report.populations import cells_of
from seatrial.report.process import compare_process
from seatrial.report.protocol import protocol
from seatrial.report.reliability import attempt_lines, call_lines
from seatrial.report.repeats import idle_repeats
from seatrial.report.tables import Row, flat, main_table
from seatrial.report.unit_costs import unit_cost_rows
from seatrial.report.variants import variant_lines
from seatrial.report.verdict_notes import verdict_notes

# Parts of a trial that are no one cell of a table.
NESTED = ("progress", "wasted_steps", "goal_changes", "verdict_notes")
ATTEMPT_COLUMNS = ["trial", "attempt", "counted", "terminal_class", "stop_reason", "note"]


def build_report(runs: Path | Sequence[Path], out: Path) -> dict[str, Any]:
    """Read runs of one experiment and write their report.

    Args:
        runs: run folders; several only of the same experiment, since versions are never pooled.
        out: folder to write to; files of an earlier report in it are replaced.

    Returns:
        What ``report.json`` holds.

    Raises:
        UsageError: no run, runs of different experiments, or a planned trial without an ended attempt.
        JournalError: a run is damaged or not judged, trials are there twice, or ``out`` is not writable.
    """
    # It needs numpy, which takes longer to load than most commands take to run.
    from seatrial.report.disturbance_section import disturbance_section

    evidence = [read_run(run) for run in ([runs] if isinstance(runs, Path) else runs)]
    every = merged(evidence)
    whole = every.without_forks()
    attempts = whole.attempts
    groups = cells_of(whole)
    experiment, seed = whole.manifest.experiment, whole.manifest.experiment.get("seed") or 0
    repeats = idle_repeats(groups, whole.manifest.systems, whole.manifest.plan)
    rows = [*noted(main_table(groups), repeats), *unit_cost_rows(groups, seed)]
    comparisons, process = compare_systems(groups, experiment), compare_process(groups, experiment)
    figures = {(a.planned.trial, a.record.attempt): progress_svg(a) for a in shown_attempts(attempts)}
    section = disturbance_section(groups, seed)
    content = PageContent(
        protocol=protocol(whole),
        groups=groups,
        rows=rows,
        headline=headline(groups, comparisons, repeats),
        comparisons=comparisons,
        process=process,
        attempts=attempt_lines(groups),
        calls=call_lines(groups),
        encounters=encounter_lines(groups),
        intervals=rate_table(groups, seed),
        variants=variant_lines(groups, seed),
        section=section,
        conclusions=conclusions(rows, comparisons, process) + section.sentences(),
        limits=limits(whole, rows, repeats.values(), groups),
        runs=[run.without_forks() for run in evidence],
        figures=figures,
        forks=forks_report(every),
    )
    data = report_data(content, every.attempts)
    try:
        write_files(out, content, data, attempts)
    except OSError as fault:
        raise JournalError(f"{out}: the report cannot be written: {fault.strerror}.") from fault
    return data


def merged(evidence: Sequence[RunEvidence]) -> RunEvidence:
    """Several runs of one experiment as one.

    Raises:
        UsageError: there is none, they differ in experiment, or a planned trial is missing.
        JournalError: two runs hold the same trial.
    """
    if not evidence:
        raise UsageError("report: no run given. Name at least one run folder.")
    first = evidence[0]
    for run in evidence[1:]:
        if run.manifest.experiment_id != first.manifest.experiment_id:
            raise UsageError(
                f"{first.folder} and {run.folder} are of different experiments "
                f"({first.manifest.experiment_id[:12]} and {run.manifest.experiment_id[:12]}). "
                "Report them one by one: versions are never pooled."
            )
    missing = [f"{run.folder}: {cell.trial}" for run in evidence for cell in run.without_forks().unfinished]
    if missing:
        raise UsageError(
            f"{len(missing)} planned trials have no ended attempt, first {missing[0]}. "
            "Finish the run with `seatrial run … -o RUN`: a report over part of a plan would be biased."
        )
    attempts = [attempt for run in evidence for attempt in run.attempts]
    refuse_duplicates("report", [attempt.record for attempt in attempts])
    plans = [cell.trial for run in evidence for cell in run.manifest.plan]
    if len(set(plans)) < len(plans):
        raise JournalError("report: the runs name the same trials. Give each run once.")
    manifest = msgspec.structs.replace(
        first.manifest, plan=[cell for run in evidence for cell in run.manifest.plan]
    )
    return msgspec.structs.replace(first, manifest=manifest, attempts=attempts)


def report_data(content: PageContent, attempts: Iterable[AttemptEvidence]) -> dict[str, Any]:
    """``report.json``. ``trials`` holds every ended attempt; ``counted`` marks those in the denominators."""
    data: dict[str, Any] = msgspec.to_builtins(
        {
            "experiment": content.protocol,
            "headline": content.headline,
            "main_table": content.rows,
            "comparisons": [*content.comparisons, *content.process],
            "attempts": content.attempts,
            "calls": content.calls,
            "intervals": content.intervals,
            "variants": content.variants,
            **content.section.data(),
            "conclusions": content.conclusions,
            "limits": content.limits,
            "forks": content.forks,
            "trials": [
                {
                    **msgspec.structs.asdict(a.record),
                    "counted": a.counted,
                    "note": a.note,
                    "progress": a.progress,
                    "wasted_steps": a.waste,
                    "goal_changes": a.goal_changes,
                    "verdict_notes": verdict_notes(a),
                }
                for a in attempts
            ],
        }
    )
    return data


def write_files(
    out: Path, content: PageContent, data: dict[str, Any], attempts: list[AttemptEvidence]
) -> None:
    """Write all files; each is there whole or not at all, the page last."""
    (out / "tables").mkdir(parents=True, exist_ok=True)
    (out / "figures").mkdir(exist_ok=True)
    for (trial, attempt), svg in content.figures.items():
        if svg:
            write_whole(out / "figures" / f"progress-{trial}.{attempt}.svg", svg.encode())
    for name, svg in content.section.figures.items():
        write_whole(out / "figures" / f"disturbances-{name}.svg", svg.encode())
    for name, lines in content.section.tables().items():
        write_csv(out / "tables" / f"{name}.csv", lines)
    trials = [{k: listed(v) for k, v in trial.items() if k not in NESTED} for trial in data["trials"]]
    write_csv(out / "tables" / "main.csv", [flat(row) for row in content.rows])
    write_csv(out / "tables" / "trials.csv", trials)
    compared = [flat_comparison(row) for row in [*content.comparisons, *content.process]]
    write_csv(out / "tables" / "comparisons.csv", compared)
    write_csv(out / "tables" / "calls.csv", [msgspec.to_builtins(line) for line in content.calls])
    write_csv(out / "tables" / "attempts.csv", attempt_rows(attempts), ATTEMPT_COLUMNS)
    write_csv(out / "tables" / "intervals.csv", interval_rows(content.intervals))
    if content.forks.groups:
        write_csv(out / "tables" / "forks.csv", effect_rows(content.forks))
    write_csv(
        out / "tables" / "progress.csv", progress_rows(attempts), ["trial", "attempt", "step", "progress"]
    )
    write_csv(
        out / "tables" / "verdicts.csv",
        verdict_rows(attempts),
        ["trial", "attempt", "subgoal", "run", "verdict"],
    )
    write_json(out / "report.json", data)
    write_whole(out / "index.html", render(content).encode())


def noted(rows: Iterable[Row], repeats: Mapping[tuple[str, str], str]) -> list[Row]:
    """The main table with a note at every success rate whose repeats add no information."""
    found = []
    for row in rows:
        note = repeats.get((row.system, row.arm))
        if note is not None and row.measure in ("strict_success", "safe_success"):
            notes = [*row.estimate.notes, note]
            row = msgspec.structs.replace(row, estimate=msgspec.structs.replace(row.estimate, notes=notes))
        found.append(row)
    return found


def attempt_rows(attempts: Iterable[AttemptEvidence]) -> list[dict[str, Any]]:
    """Every ended attempt with its reason."""
    return [
        {
            "trial": a.planned.trial,
            "attempt": a.record.attempt,
            "counted": a.counted,
            "terminal_class": a.record.terminal_class,
            "stop_reason": a.record.stop_reason,
            "note": a.note,
        }
        for a in attempts
    ]


def progress_rows(attempts: Iterable[AttemptEvidence]) -> list[dict[str, Any]]:
    """Every point of every progress curve."""
    return [
        {"trial": a.planned.trial, "attempt": a.record.attempt, "step": step, "progress": value}
        for a in attempts
        for step, value in a.progress
    ]


def verdict_rows(attempts: Iterable[AttemptEvidence]) -> list[dict[str, Any]]:
    """Every fresh verdict on a final state; ``run`` counts from 1."""
    return [
        {
            "trial": a.planned.trial,
            "attempt": a.record.attempt,
            "subgoal": name,
            "run": run,
            "verdict": verdict,
        }
        for a in attempts
        for name, runs in a.verdicts.final.items()
        for run, verdict in enumerate(runs, start=1)
    ]


def interval_rows(intervals: Iterable[Intervals]) -> list[dict[str, Any]]:
    """Every interval of every rate."""
    rows = []
    for line in intervals:
        plain = msgspec.to_builtins(line)
        named = {name: value for name, value in plain.items() if name != "estimates"}
        rows += [{**named, **e, "notes": " ".join(e["notes"])} for e in plain["estimates"]]
    return rows


def listed(value: object) -> object:
    """A list as one cell."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write rows as CSV with a header; null is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=columns or list(rows[0] if rows else ()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())
