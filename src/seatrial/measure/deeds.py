"""A journal as what measures of waste look at: each action with the change it made, in order.

Large deltas lie in the object store and measures read no disk, so whoever reads the journal hands them in.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.journal.entries import Entry
from seatrial.journal.events import ActionFinished, ActionRequested, EffectRecorded, Event
from seatrial.measure.violations import TALK


class Deltas(msgspec.Struct, frozen=True):
    """What a journal only names.

    Attributes:
        base: the proven reset, by path.
        large: digest of a ``changes_object`` to the entries in it.
        texts: digest of an object to its bytes, of those that ``scene.needed_texts`` asks for.
    """

    base: Mapping[str, Entry]
    large: Mapping[str, Sequence[Entry]]
    texts: Mapping[str, bytes] = {}


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the agent.

    Attributes:
        asked: tool and arguments in one canonical form.
        finished: null when it never finished: what it did is unknown.
        talk: runs nothing in the environment.
        changes: entries it left behind, ``absent`` where a path is gone.
    """

    step: int
    asked: bytes
    pre: str
    talk: bool
    finished: ActionFinished | None
    changes: Sequence[Entry]

    @property
    def changed_nothing(self) -> bool:
        """Whether the state after it is certainly the state before."""
        done = self.finished
        return done is not None and done.pre == done.post and not done.changes and not done.changes_object


class Drift(msgspec.Struct, frozen=True):
    """Between actions, by background processes or by the harness; ``moved`` when the state is another."""

    changes: Sequence[Entry]
    moved: bool


def deeds(events: Sequence[Event], deltas: Deltas | None) -> Iterator[Deed | Drift]:
    """Actions and what happened between them, in order; large deltas are empty without ``deltas``."""
    finished = {event.step: event for event in events if isinstance(event, ActionFinished)}
    for event in events:
        if isinstance(event, ActionRequested):
            done = finished.get(event.step)
            yield Deed(
                step=event.step,
                asked=msgspec.json.encode([event.tool, event.arguments], order="deterministic"),
                pre=event.pre,
                talk=event.tool in TALK,
                finished=done,
                changes=[] if done is None else changes_in(done, deltas),
            )
        elif isinstance(event, EffectRecorded) and not event.is_told_again:
            moved = event.pre != event.post or bool(event.changes or event.changes_object)
            yield Drift(changes_in(event, deltas), moved)


def changes_in(event: ActionFinished | EffectRecorded, deltas: Deltas | None) -> Sequence[Entry]:
    """The delta of one event."""
    if event.changes_object is None:
        return event.changes
    return [] if deltas is None else deltas.large[event.changes_object]
