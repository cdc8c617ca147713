"""Reads a journal back: checks the chain, tolerates a torn last line, counts what it does not know."""

from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.digest import digest_bytes
from seatrial.journal.entries import Entry, State, fold
from seatrial.journal.events import ActionFinished, ActionRequested, EffectRecorded, Event, TrialStarted
from seatrial.journal.objects import ObjectStore

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_entries: msgspec.json.Decoder[list[Entry]] = msgspec.json.Decoder(list[Entry])


class Journal(msgspec.Struct, kw_only=True):
    """A journal as read.

    Attributes:
        events: those of a known kind, in order.
        torn: bytes of an unfinished last line, never acknowledged, hence dropped.
        unknown: how many lines had a kind this release does not know.
        digest: of the last whole line.
    """

    path: Path
    events: list[Event]
    torn: int = 0
    unknown: int = 0
    digest: str = ""

    @property
    def started(self) -> TrialStarted:
        """The first line.

        Raises:
            JournalError: the journal does not begin with ``trial.started``.
        """
        if not self.events or not isinstance(self.events[0], TrialStarted):
            raise JournalError(f"{self.path}: does not begin with trial.started. The file is no journal.")
        return self.events[0]


def read_journal(path: Path, expected_digest: str | None = None) -> Journal:
    """Read and check one journal.

    Args:
        path: ``journal.jsonl``.
        expected_digest: last digest as the run's index has it; detects a changed or missing last line.

    Raises:
        JournalError: a line is damaged or the chain is broken; names line and byte offset.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise JournalError(f"{path}: cannot be read: {fault.strerror}") from fault
    journal = Journal(path=path, events=[])
    previous, offset = "", 0
    *lines, torn = data.split(b"\n")
    journal.torn = len(torn)
    for number, text in enumerate(lines, start=1):
        line = text + b"\n"
        _read_line(journal, line, number, offset, previous)
        previous = digest_bytes(line)
        offset += len(line)
    journal.digest = previous
    if expected_digest is not None and expected_digest != previous:
        raise JournalError(
            f"{path}: the last line (before byte {offset}) does not match the run's index. "
            "It was changed or lines are missing."
        )
    return journal


def _read_line(journal: Journal, line: bytes, number: int, offset: int, previous: str) -> None:
    where = f"{journal.path}: line {number} (byte {offset})"
    try:
        plain = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise JournalError(f"{where}: not JSON: {fault}. The file was damaged.") from fault
    if not isinstance(plain, dict) or plain.get("prev") != previous or plain.get("seq") != number - 1:
        raise JournalError(f"{where}: breaks the chain. This line or the one before was changed.")
    try:
        journal.events.append(_decoder.decode(line))
    except msgspec.ValidationError as fault:
        if "Invalid value" in str(fault) and "$.kind" in str(fault):
            journal.unknown += 1
        else:
            raise JournalError(f"{where}: {fault}. The line does not fit its kind.") from fault


def changes_of(event: ActionFinished | EffectRecorded, objects: ObjectStore) -> list[Entry]:
    """The state delta of an event, fetched from the store when it is large."""
    if event.changes_object is None:
        return event.changes
    return _entries.decode(objects.get(event.changes_object))


def base_state(journal: Journal, objects: ObjectStore) -> State:
    """The state at step 0: what the proven reset held."""
    return {entry.path: entry for entry in _entries.decode(objects.get(journal.started.base))}


def state_at(journal: Journal, objects: ObjectStore, step: int) -> State:
    """Fold the journal up to and including a step.

    Raises:
        JournalError: no such step.
    """
    state = base_state(journal, objects)
    seen = 0
    for event in journal.events:
        if isinstance(event, ActionRequested):
            if event.step > step:
                break
            seen = event.step
        elif isinstance(event, ActionFinished | EffectRecorded):
            fold(state, changes_of(event, objects))
    if seen < step:
        raise JournalError(f"{journal.path}: has no step {step}. The last one is {seen}.")
    return state
