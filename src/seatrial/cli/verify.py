"""``seatrial verify``: judge a run's journals again, from the run folder alone."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.scratch import scratch_folder
from seatrial.errors import UsageError
from seatrial.evidence.read import refuse_imported
from seatrial.journal.events import TrialStarted
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import RunFolder, TaskFrozen
from seatrial.records.verdicts import TrialVerdicts
from seatrial.verify.engine import FINAL_VERDICTS, Judge
from seatrial.verify.frozen import VerifierFiles
from seatrial.verify.table import Mismatch, fresh_check, read_verdicts, write_verdicts

SCRATCH = "seatrial-judging-"
# Trials without a verdict that the text names; --json names them all.
LISTED = 4


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    every_step: bool
    verifiers: Path | None
    check: bool


def verify(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    every_step: Annotated[
        bool, typer.Option("--every-step/--final-only", help="Judge every state, or only the last.")
    ] = True,
    verifiers: Annotated[
        Path | None,
        typer.Option(help="Judge with the files of this folder in place of the task's verifiers/."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Write nothing: judge again on whole states and compare with what is recorded; exit code 1 "
            "if a verdict differs.",
        ),
    ] = False,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox",
            help="Judge without a sandbox, only for a run made so. Protects nothing from agent-made code.",
        ),
    ] = False,
) -> None:
    """Judge every ended attempt of a run from its journal and objects; writes RUN/verdicts.

    A verifier runs once per distinct state that it reads, and several times on the final one. With
    --verifiers several tasks need a folder each, named as the task's id. The tables then carry the new
    verifiers' digests and replace the old ones: one run's tables are never mixed.
    """
    folder = RunFolder.open(run)
    refuse_imported(run, folder.manifest())
    wish = Wish(every_step, verifiers, check)
    if unsafe and not folder.manifest().unsafe:
        raise UsageError(f"{run}: its trials ran in a sandbox. Judge it without --unsafe-no-sandbox.")
    host = prepare_host(unsafe=unsafe)
    try:
        with scratch_folder(SCRATCH) as scratch:
            reports = list(_judge_run(host, str(scratch), folder, wish))
    finally:
        release_host(host)
    judged = {(report["trial"], report["attempt"]) for report in reports}
    open_ended = [p.trial for p in folder.manifest().plan if not any(t == p.trial for t, _ in judged)]
    if json:
        typer.echo(msgspec.json.encode({"trials": reports, "unfinished": open_ended}).decode())
    else:
        _print(reports, open_ended)
    if any(report["differ"] for report in reports):
        raise typer.Exit(1)


def _judge_run(host: Host, scratch: str, folder: RunFolder, wish: Wish) -> Iterator[dict[str, Any]]:
    manifest = folder.manifest()
    tasks = {planned.trial: planned.task for planned in manifest.plan}
    places = {planned.trial: place for place, planned in enumerate(manifest.plan)}
    known = [line for line in folder.index() if line.trial in places]
    ended = sorted(known, key=lambda line: (places[line.trial], line.attempt))
    k = int(manifest.experiment.get("final_verdicts", FINAL_VERDICTS))
    for task in manifest.tasks:
        lines = [line for line in ended if tasks[line.trial] == task.id]
        if not lines:
            continue
        files = _other_files(folder, task, wish.verifiers, alone=len(manifest.tasks) == 1)
        with Judge(host, scratch, folder, task, k, files) as judge:
            for line in lines:
                journal = read_journal(folder.journal_path(line.trial, line.attempt), line.digest)
                # An attempt whose world never came to be has no state.
                if journal.events and isinstance(journal.events[0], TrialStarted) and journal.started.base:
                    yield _judge_attempt(judge, folder, journal, wish)


def _other_files(
    folder: RunFolder, task: TaskFrozen, verifiers: Path | None, alone: bool
) -> VerifierFiles | None:
    if verifiers is None:
        return None
    place = verifiers if alone else verifiers / task.id
    if not place.is_dir():
        raise UsageError(f"{place}: is no folder. Put the verifiers of task {task.id!r} there.")
    return VerifierFiles.of_folder(place, folder.objects)


def _judge_attempt(judge: Judge, folder: RunFolder, journal: Journal, wish: Wish) -> dict[str, Any]:
    started = journal.started
    name = f"{started.trial}, attempt {started.attempt}"
    if wish.check:
        recorded = read_verdicts(folder, started.trial, started.attempt)
        return _report(recorded, {}, fresh_check(judge, journal, recorded, _Progress(f"{name}, check")))
    verdicts = judge.judge_trial(journal, wish.every_step, _Progress(name))
    write_verdicts(folder, verdicts)
    subgoals = {
        subgoal: {"runs": tally.runs, "states": len(tally.states), "cached": tally.cached}
        for subgoal, tally in judge.tallies.items()
    }
    return _report(verdicts, subgoals, None)


def _report(
    verdicts: TrialVerdicts, subgoals: dict[str, dict[str, int]], differ: list[Mismatch] | None
) -> dict[str, Any]:
    """What is said of one attempt; ``differ`` is null where nothing was compared."""
    return {
        "trial": verdicts.trial,
        "attempt": verdicts.attempt,
        "final": verdicts.final,
        "subgoals": subgoals,
        "verifiers": verdicts.verifiers,
        "recorded": len(verdicts.rows),
        "differ": None if differ is None else [msgspec.to_builtins(mismatch) for mismatch in differ],
    }


class _Progress:
    """One line on a terminal, overwritten; nothing elsewhere."""

    def __init__(self, name: str) -> None:
        self._name, self._shown = name, sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if self._shown:
            end = "\n" if done >= total else ""
            sys.stderr.write(f"\r{self._name}: step {done} of {total}{end}")
            sys.stderr.flush()


def _print(reports: list[dict[str, Any]], open_ended: list[str]) -> None:
    for report in reports:
        typer.echo(f"{report['trial']}, attempt {report['attempt']}")
        for name, cost in report["subgoals"].items():
            typer.echo(
                f"  {name}: {' '.join(report['final'].get(name, []))} at the end; {cost['states']} distinct "
                f"states, {cost['runs']} runs, {cost['cached']} from the cache"
            )
        if report["differ"] is not None:
            typer.echo(
                f"  {report['recorded']} recorded verdicts judged again on whole states, "
                f"{len(report['differ'])} differ"
            )
        for differ in report["differ"] or []:
            typer.echo(
                f"  {differ['subgoal']}, step {differ['step']}: {differ['cached']} is recorded, "
                f"{differ['fresh']} on the full state"
            )
    if open_ended:
        listed = ", ".join(open_ended[:LISTED]) + (", …" if len(open_ended) > LISTED else "")
        typer.echo(f"{len(open_ended)} not ended yet or without a state, hence not judged: {listed}")
