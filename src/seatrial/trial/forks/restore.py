"""The world of a recorded trial as it was after any of its steps."""

from seatrial.environment.confine.host import Host
from seatrial.environment.state.base import Base
from seatrial.environment.world import World, open_world
from seatrial.errors import JournalError
from seatrial.gateway.policy import masked_paths
from seatrial.journal.entries import Entry, State
from seatrial.journal.reader import Journal, read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.spec.frozen import frozen_task
from seatrial.trial.ground import prepare_ground


def difference(base: State, state: State) -> State:
    """How a state differs from a base: changed entries, and ``absent`` ones for what is gone."""
    changed = {
        path: entry
        for path, entry in state.items()
        if path not in base or base[path].identity() != entry.identity()
    }
    gone = {path: Entry(path=path, kind="absent") for path in base if path not in state}
    return {**changed, **gone}


def refuse_other_base(journal: Journal, base: Base) -> None:
    """Refuse to restore a trial's states on another base than the one it ran on.

    Raises:
        JournalError: the base of today is another one.
    """
    started = journal.started
    if started.fingerprint and started.conditions["base"]["digest"] != base.digest:
        raise JournalError(
            f"{journal.path}: the task's base is not the one this trial ran on. Build it anew."
        )


def world_at(run: RunFolder, host: Host, trial: str, attempt: int, step: int) -> World:
    """A new sandbox in the state after a step; processes of the original do not come along.

    Raises:
        JournalError: no such step, or the base of today is not the base of the trial.
    """
    ended = run.ended(trial, attempt)
    journal = read_journal(run.journal_path(trial, attempt), ended.digest if ended else None)
    frozen = run.manifest().task(journal.started.task)
    ground = prepare_ground(run, frozen, host)
    refuse_other_base(journal, ground.base)
    delta = difference(ground.base.state, state_at(journal, run.objects, step))
    masked = masked_paths(frozen_task(frozen, run.folder), ground.base.state)
    return open_world(ground, delta, masked)
