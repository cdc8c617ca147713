"""Clears away what killed processes of a run left, and marks the attempts they had under way."""

from pathlib import Path

from seatrial.environment.confine.host import sweep_unsafe
from seatrial.environment.state.overlay import remove_tree
from seatrial.journal.events import TrialEnded
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import IndexLine, Manifest, RunFolder
from seatrial.trial.lifecycle import is_infrastructure

# Worlds, views of judges, half-built bases: each name holds the pid of the process it belonged to.
_OF_ANY = ("worlds/*", "judge-*", "bases/.*")
_OF_ONE = ("worlds/w{0}-*", "worlds/u{0}-*", "worlds/layer-*-{0}", "judge-{0}-*", "bases/.*.{0}")


def close_dead_attempts(run: RunFolder, manifest: Manifest) -> list[str]:
    """Mark attempts of a dead runner as killed and clear away what it left; call with the lock held.

    Returns:
        The trials concerned.
    """
    ended = {(line.trial, line.attempt) for line in run.index()}
    dead = []
    for planned in manifest.plan:
        for attempt in run.attempts(planned.trial):
            if (planned.trial, attempt) not in ended:
                journal = read_journal(run.journal_path(planned.trial, attempt))
                line = _line_of(planned.trial, attempt, journal)
                run.add_to_index(line)
                if line.stop_reason == "killed":
                    dead.append(planned.trial)
    if manifest.unsafe:
        sweep_unsafe()
    for left in stale_scratch(run.folder / "scratch"):
        remove_tree(str(left))
    return dead


def _line_of(trial: str, attempt: int, journal: Journal) -> IndexLine:
    """What the index should say of an attempt: its journal may have ended before the runner died."""
    end = journal.events[-1] if journal.events else None
    if not isinstance(end, TrialEnded):
        return IndexLine(
            trial=trial, attempt=attempt, digest=journal.digest, stop_reason="killed", infrastructure=True,
            runner_ended=True, note="the runner died",
        )  # fmt: skip
    return IndexLine(
        trial=trial, attempt=attempt, digest=journal.digest, stop_reason=end.stop_reason,
        infrastructure=is_infrastructure(end.stop_reason, end.details),
        note=str(end.details.get("problem", "")),
    )  # fmt: skip


def clear_after_worker(run: RunFolder, pid: int) -> None:
    """Remove what one dead process of a run left; others may be at work. A sandbox ends with its process."""
    if run.manifest().unsafe:
        sweep_unsafe()
    for left in _found(run.folder / "scratch", [pattern.format(pid) for pattern in _OF_ONE]):
        remove_tree(str(left))


def stale_scratch(scratch: Path) -> list[Path]:
    """What is left of processes when none of the run is alive: with the run's lock held, all of it."""
    return _found(scratch, _OF_ANY)


def _found(scratch: Path, patterns: list[str] | tuple[str, ...]) -> list[Path]:
    return [left for pattern in patterns for left in scratch.glob(pattern)]
