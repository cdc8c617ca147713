"""Clears away what killed processes of a run left, and marks the attempts they had under way."""

from dataclasses import dataclass
from pathlib import Path

from seatrial.environment.confine.host import sweep_unsafe
from seatrial.environment.state.overlay import remove_tree
from seatrial.journal.events import StopReason, TrialEnded
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import IndexLine, Manifest, RunFolder, index_line

# Worlds, views of judges, half-built bases: each name holds the pid of the process it belonged to.
_OF_ANY = ("worlds/*", "judge-*", "bases/.*")
_OF_ONE = ("worlds/w{0}-*", "worlds/u{0}-*", "worlds/layer-*-{0}", "judge-{0}-*", "bases/.*.{0}")


@dataclass(frozen=True)
class BrokenOff:
    """What the index shall say of an attempt whose journal has no end. It is an infrastructure end.

    Attributes:
        note: why.
        runner_ended: its runner died or was asked to stop; it uses up none of the attempts allowed.
    """

    note: str
    runner_ended: bool = False
    stop_reason: StopReason = "killed"


RUNNER_DIED = BrokenOff("the runner died", runner_ended=True)
INTERRUPTED = BrokenOff("interrupted", runner_ended=True)


def close_attempt(run: RunFolder, trial: str, attempt: int, otherwise: BrokenOff) -> IndexLine:
    """The index line of an attempt whose process is gone, written unless that process had.

    The journal decides: an attempt whose last line is its end has ended so, whatever its process died of
    afterwards. ``otherwise`` is for one without an end.

    Raises:
        JournalError: the journal is damaged, or the index cannot be written.
    """
    line = run.ended(trial, attempt)
    if line is None:
        path = run.journal_path(trial, attempt)
        journal = read_journal(path) if path.exists() else Journal(path=path, events=[])
        line = _line_of(trial, attempt, journal, otherwise)
        run.add_to_index(line)
    return line


def _line_of(trial: str, attempt: int, journal: Journal, otherwise: BrokenOff) -> IndexLine:
    end = journal.events[-1] if journal.events else None
    if isinstance(end, TrialEnded):
        return index_line(trial, attempt, journal.digest, end)
    return IndexLine(
        trial=trial, attempt=attempt, digest=journal.digest, stop_reason=otherwise.stop_reason,
        infrastructure=True, runner_ended=otherwise.runner_ended, note=otherwise.note,
    )  # fmt: skip


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
                line = close_attempt(run, planned.trial, attempt, RUNNER_DIED)
                if line.runner_ended:
                    dead.append(planned.trial)
    if manifest.unsafe:
        sweep_unsafe()
    for left in stale_scratch(run.folder / "scratch"):
        remove_tree(str(left))
    return dead


def clear_after_worker(run: RunFolder, pid: int, unsafe: bool) -> None:
    """Remove what one dead process of a run left; others may be at work. A sandbox ends with its process."""
    if unsafe:
        sweep_unsafe()
    for left in _found(run.folder / "scratch", [pattern.format(pid) for pattern in _OF_ONE]):
        remove_tree(str(left))


def stale_scratch(scratch: Path) -> list[Path]:
    """What is left of processes when none of the run is alive: with the run's lock held, all of it."""
    return _found(scratch, _OF_ANY)


def _found(scratch: Path, patterns: list[str] | tuple[str, ...]) -> list[Path]:
    return [left for pattern in patterns for left in scratch.glob(pattern)]
