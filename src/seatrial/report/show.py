"""What ``seatrial show`` shows, as plain data: a run's trials, or one trial in full."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from seatrial.errors import UsageError
from seatrial.evidence.read import AttemptEvidence, RunEvidence, read_ended_journal, read_run
from seatrial.evidence.standing import RunWatch, TrialStanding
from seatrial.journal.events import ActionRequested, TrialEnded
from seatrial.journal.reader import Journal
from seatrial.journal.run import RunFolder
from seatrial.report.disturbance_story import disturbance_story
from seatrial.report.headline import headline_of
from seatrial.report.steps import trial_steps
from seatrial.report.verdict_notes import note_lines, verdict_notes
from seatrial.report.wording import counted
from seatrial.spec.faults import nearest

LISTED = 8


def run_overview(run: Path) -> dict[str, Any]:
    """How a run stands: what ``overview`` says of it now, and its ``headline``.

    The headline is null while a trial of the plan has not ended or is not judged: part of a plan is biased.

    Raises:
        JournalError: the run is damaged, or verdicts belong to another journal.
    """
    watch = RunWatch(run)
    data = overview(*watch.look())
    whole = watch.evidence()
    data["headline"] = None if whole is None else msgspec.to_builtins(headline_of(whole))
    return data


def overview(standings: Sequence[TrialStanding], alive: bool | None) -> dict[str, Any]:
    """``{"trials": [...]}``: the TrialRecord of each trial's counted attempt, in the plan's order.

    ``standing`` says of every planned trial where it stands, ``unfinished`` lists those without an ended
    attempt, ``unjudged`` those that ended and have no verdicts yet, ``running`` whether a runner works on the
    run (null where the system does not say).
    """
    return {
        "trials": [msgspec.to_builtins(s.evidence.record) for s in standings if s.evidence],
        "unfinished": [s.planned.trial for s in standings if s.state != "unjudged" and not s.evidence],
        "unjudged": [s.planned.trial for s in standings if s.state == "unjudged"],
        "standing": [standing_row(s) for s in standings],
        "running": alive,
    }


def standing_row(standing: TrialStanding) -> dict[str, Any]:
    """Where one trial stands, flat; ``progress`` is the final one of what is judged."""
    cell, judged = standing.planned, standing.evidence
    return {
        "trial": cell.trial,
        "task": cell.task,
        "system": cell.system,
        "arm": cell.arm,
        "state": standing.state,
        "attempt": standing.attempt,
        "steps": judged.record.actions if standing.steps is None and judged else standing.steps,
        "passing": standing.passing,
        "terminal_class": judged.record.terminal_class if judged else None,
        "progress": judged.record.partial_progress if judged else None,
    }


def trial_detail(run: Path, trial: str, attempt: int | None = None, steps: bool = False) -> dict[str, Any]:
    """The TrialRecord of one attempt plus ``progress``, ``verdicts`` and so on; ``steps`` if asked for.

    ``ending`` says why it ended, in words: ``problem`` (a fault, with the traceback of an agent's own code;
    empty where nothing went wrong), ``summary`` and ``reason`` (what the agent said at ``finish`` and at
    ``give_up``, empty where it said nothing) and ``counts`` (whether it says anything about the system).

    ``disturbance`` tells in sentences what came of a disturbance; empty where none was planned.

    Args:
        run: the run folder.
        trial: as the plan names it.
        attempt: null for the one that counts.
        steps: whether to add every step with its diffs.

    Raises:
        UsageError: no such trial or attempt.
        JournalError: the run is damaged or not judged yet.
    """
    evidence = read_run(run, only=trial)
    found = find_attempt(evidence, trial, attempt)
    detail: dict[str, Any] = msgspec.to_builtins(found.record)
    folder = RunFolder(run)
    line = folder.ended(trial, found.record.attempt)
    assert line is not None, "an attempt in the evidence has ended"
    journal = read_ended_journal(folder, line)
    detail["ending"] = ending(journal, found)
    detail["progress"] = [list(pair) for pair in found.progress]
    detail["disturbance"] = disturbance_story(found.record, found.goal_changes)
    detail["goal_changes"] = msgspec.to_builtins(found.goal_changes)
    detail["wasted_steps"] = msgspec.to_builtins(found.waste)
    detail["verdicts"] = msgspec.to_builtins(found.verdicts)
    detail["verdict_notes"] = [
        {**msgspec.to_builtins(note), "lines": note_lines(note)} for note in verdict_notes(found)
    ]
    if steps:
        shown = trial_steps(journal, found, folder.objects)
        detail["steps"] = msgspec.to_builtins(shown)
    return detail


def ending(journal: Journal, attempt: AttemptEvidence) -> dict[str, Any]:
    """Why an attempt ended; see ``trial_detail``."""
    ended = next((event for event in reversed(journal.events) if isinstance(event, TrialEnded)), None)
    last = next((event for event in reversed(journal.events) if isinstance(event, ActionRequested)), None)
    gave_up = last is not None and last.tool == "give_up"
    return {
        "problem": attempt.note,
        "summary": "" if ended is None else ended.summary,
        "reason": str(last.arguments.get("reason", "")) if last is not None and gave_up else "",
        "counts": attempt.record.terminal_class != "infrastructure",
    }


def _which(evidence: RunEvidence, trial: str) -> str:
    """The trial that was probably meant; else the first few there are."""
    known = [planned.trial for planned in evidence.manifest.plan]
    near = nearest(trial, known)
    if near is not None:
        return f"Did you mean {near!r}? It has {counted(len(known), 'trial')}."
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f"It has {', '.join(known[:LISTED])}{more}."


def find_attempt(evidence: RunEvidence, trial: str, attempt: int | None) -> AttemptEvidence:
    """The attempt asked for, or the one that counts.

    Raises:
        UsageError: no such trial or attempt; names those there are.
    """
    of_trial = [found for found in evidence.attempts if found.planned.trial == trial]
    if not of_trial:
        if any(planned.trial == trial for planned in evidence.unfinished):
            raise UsageError(
                f"{evidence.folder}: trial {trial} has not ended. Resume it with `seatrial run`."
            )
        raise UsageError(f"{evidence.folder}: has no trial {trial!r}. {_which(evidence, trial)}")
    for found in of_trial:
        if found.counted if attempt is None else found.record.attempt == attempt:
            return found
    raise UsageError(
        f"{evidence.folder}: trial {trial} has no attempt {attempt}. "
        f"It has {[found.record.attempt for found in of_trial]}."
    )
