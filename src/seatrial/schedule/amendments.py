"""Dated changes to a run's plan: trials it has gained, attempts granted beyond the retry policy."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from seatrial.journal.run import Manifest, RunFolder, TrialPlanned


def add_trials(
    run: RunFolder, manifest: Manifest, trials: list[TrialPlanned], why: dict[str, Any] | None = None
) -> None:
    """Append trials to the plan, with a note.

    Args:
        why: more to be said in the note.
    """
    manifest.plan.extend(trials)
    _amend(run, manifest, {"added": [planned.trial for planned in trials], **(why or {})})


def grant_attempts(run: RunFolder, manifest: Manifest, trials: list[str], attempts: int) -> None:
    """Allow trials that used up their attempts so many more, with a note."""
    _amend(run, manifest, {"rerun": trials, "attempts": attempts})


def granted(manifest: Manifest) -> dict[str, int]:
    """Attempts granted beyond the retry policy, by trial."""
    total = Counter[str]()
    for note in manifest.amendments:
        for trial in note.get("rerun", []):
            total[trial] += int(note["attempts"])
    return total


def _amend(run: RunFolder, manifest: Manifest, change: dict[str, Any]) -> None:
    manifest.amendments.append({"time": datetime.now(UTC).isoformat(timespec="seconds"), **change})
    run.replace_manifest(manifest)
