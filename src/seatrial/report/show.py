"""What ``seatrial show`` shows, as plain data: a run's trials, or one trial in full."""

from pathlib import Path
from typing import Any

import msgspec

from seatrial.errors import UsageError
from seatrial.evidence.read import AttemptEvidence, RunEvidence, read_ended_journal, read_run
from seatrial.journal.run import RunFolder
from seatrial.report.steps import trial_steps


def run_overview(run: Path) -> dict[str, Any]:
    """``{"trials": [...]}``: the TrialRecord of each trial's counted attempt, in the plan's order.

    ``unfinished`` lists planned trials without an ended attempt.

    Raises:
        JournalError: the run is damaged or not judged yet.
    """
    evidence = read_run(run)
    return {
        "trials": [msgspec.to_builtins(attempt.record) for attempt in evidence.counted],
        "unfinished": [planned.trial for planned in evidence.unfinished],
    }


def trial_detail(run: Path, trial: str, attempt: int | None = None, steps: bool = False) -> dict[str, Any]:
    """The TrialRecord of one attempt plus ``progress``, ``verdicts`` and, if asked for, ``steps``.

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
    detail["progress"] = [list(pair) for pair in found.progress]
    detail["verdicts"] = msgspec.to_builtins(found.verdicts)
    if steps:
        folder = RunFolder(run)
        line = folder.ended(trial, found.record.attempt)
        assert line is not None, "an attempt in the evidence has ended"
        journal = read_ended_journal(folder, line)
        shown = trial_steps(journal, found.verdicts, found.progress, folder.objects)
        detail["steps"] = msgspec.to_builtins(shown)
    return detail


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
        known = [planned.trial for planned in evidence.manifest.plan]
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        raise UsageError(f"{evidence.folder}: has no trial {trial!r}. It has {', '.join(known[:8])}{more}.")
    for found in of_trial:
        if found.counted if attempt is None else found.record.attempt == attempt:
            return found
    raise UsageError(
        f"{evidence.folder}: trial {trial} has no attempt {attempt}. "
        f"It has {[found.record.attempt for found in of_trial]}."
    )
